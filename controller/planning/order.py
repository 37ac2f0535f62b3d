"""The fabric's order as the planner keeps it: what may be used, which fibres carry light, and where the rings lie.

An `Order` is the planner's only state, and every question about it is answered from the neighbourhood of a position.
It is kept current by four calls (`set_usable`, `set_live`, `lay`, `lift`); made anew from the same facts it is equal
to one that was kept current for a year.

Rings are disjoint in span: no fibre of a ring passes over a node of another ring's span. What lies between two spans
is a *gap*. A node in a gap, or one that a ring passes over, is *idle* when it may be used.

Positions are unrolled, see `marks`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ringlight.controller.planning.cabling import Cabling, End, Kind
from ringlight.controller.planning.marks import Marks, cut
from ringlight.controller.planning.strip import Strip
from ringlight.fabric.circuits import Path
from ringlight.fabric.wiring import HopKey

Chain = tuple[int, ...]

_LOOK = 64  # rings' worth of a gap that are looked at first


@dataclass(frozen=True, slots=True)
class LaidRing:
    """A ring where it lies.

    Attributes:
        chain: its nodes forward along the order, each in 0..N-1.
        first: position of its first node, 0..N-1.
        last: position of its last node, unrolled.
    """

    name: str
    job: str
    chain: Chain
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Sight:
    """A ring as it was found from some position: where its span lies, unrolled from there."""

    ring: LaidRing
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Step:
    """One hop forward: how far, and through which ends it leaves and enters."""

    distance: int
    leave: End
    enter: End


class Order:
    """Availability, light and rings of one fabric, by position."""

    def __init__(self, cabling: Cabling) -> None:
        self.cabling = cabling
        self.size = cabling.size
        self.closed = cabling.closed
        self.usable = bytearray(b"\x01") * self.size
        self.live = [bytearray(row) for row in cabling.laid]
        self.idle = self._no_marks()
        self.idle.fill()
        self.covered = self._no_marks()
        self.heads = self._no_marks()
        self.changed: list[tuple[int, int]] = []  # stretches touched since somebody last asked
        self._growth = 0  # counts what may make room that was not there
        self._own_lifts: Counter[str] = Counter()  # by job; lifting its own ring makes no room for it
        self._ring_at: dict[int, LaidRing] = {}  # by position of its first node
        self._rings: dict[str, LaidRing] = {}
        self._of_job: dict[str, set[str]] = {}

    def _no_marks(self) -> Marks:
        return Marks(self.size, closed=self.closed)

    # -- keeping it current --------------------------------------------------------------------------------------------

    def set_usable(self, position: int, usable: bool) -> None:
        """Say whether a node may be part of a new chain."""
        if bool(self.usable[position]) == usable:
            return
        self.usable[position] = usable
        sight = self.ring_over(position)
        in_chain = sight is not None and position in sight.ring.chain
        self.idle[position] = usable and not in_chain
        self._touch(position, position)
        self._growth += usable

    def set_live(self, hop: HopKey, live: bool) -> None:
        """Say whether a fibre carries light. Raises `KeyError` for a distance that no fibre has."""
        index = self.cabling.distances.index(hop.distance)
        kind = self.cabling.laid[index][hop.position] if live else 0
        if self.live[index][hop.position] != kind:
            self.live[index][hop.position] = kind
            self._touch(hop.position, hop.position + hop.distance)
            self._growth += live

    def lay(self, name: str, job: str, chain: Chain) -> None:
        """Put a ring where its chain says, in either direction along the order.

        Raises:
            ValueError: the ring is laid already, or another lies there.
        """
        if name in self._rings:
            raise ValueError(f"ring {name} is laid already")
        ring = self.as_ring(chain, name, job)
        if self.covered.count(ring.first, ring.last):
            raise ValueError(f"ring {name} would lie over another one")
        self._rings[name] = self._ring_at[ring.first] = ring
        self._of_job.setdefault(job, set()).add(name)
        self.heads[ring.first] = True
        for position in range(ring.first, ring.last + 1):
            self.covered[position] = True
        for position in ring.chain:
            self.idle[position] = False
        self._touch(ring.first, ring.last)

    def lift(self, name: str) -> LaidRing:
        """Take a ring away; its nodes are idle from now on. Raises `KeyError` when there is no such ring."""
        ring = self._rings.pop(name)
        del self._ring_at[ring.first]
        names = self._of_job[ring.job]
        names.discard(name)
        if not names:
            del self._of_job[ring.job]
            self._own_lifts.pop(ring.job, None)
        self.heads[ring.first] = False
        for position in range(ring.first, ring.last + 1):
            self.covered[position] = False
        for position in ring.chain:
            self.idle[position] = bool(self.usable[position])
        self._touch(ring.first, ring.last)
        self._growth += 1
        if names:
            self._own_lifts[ring.job] += 1
        return ring

    def growth_for(self, job: str) -> int:
        """A number that changes whenever there may be more room for a job than before."""
        return self._growth - self._own_lifts[job]

    def _touch(self, first: int, last: int) -> None:
        self.changed.append((first, last))
        if len(self.changed) > self.size:  # nobody has asked for long
            self.changed = [(0, self.size - 1)]

    def copy(self) -> "Order":
        """An order of its own, for what-if questions."""
        other = Order(self.cabling)
        other.usable[:] = self.usable
        other.live = [bytearray(row) for row in self.live]
        other.idle, other.covered, other.heads = self.idle.copy(), self.covered.copy(), self.heads.copy()
        other._ring_at = dict(self._ring_at)
        other._rings = dict(self._rings)
        other._of_job = {job: set(names) for job, names in self._of_job.items()}
        return other

    # -- questions -----------------------------------------------------------------------------------------------------

    def wrap(self, position: int) -> int:
        """A position of the fabric from an unrolled one; on a line they are the same."""
        return position % self.size if self.closed else position

    def forward(self, chain: Chain) -> Chain:
        """A chain along the order, whichever way it was written."""
        if len(chain) == 1:
            return chain
        ahead = self._hop_kind(chain[0], (chain[1] - chain[0]) % self.size) if self.closed else chain[1] > chain[0]
        return chain if ahead else chain[::-1]

    def as_ring(self, chain: Chain, name: str = "", job: str = "") -> LaidRing:
        """A ring as it lies, or would lie; a chain that is nobody's has no name."""
        forward = self.forward(chain)
        length = sum((after - before) % self.size for before, after in pairwise(forward))
        return LaidRing(name, job, forward, forward[0], forward[0] + length)

    def kind(self, position: int, distance: int) -> Kind:
        """The kind of the hop that was laid from a position. Raises `KeyError` when there is none."""
        kind = self.cabling.kinds[self._hop_kind(position, distance)]
        if kind is None:
            raise KeyError((position, distance))
        return kind

    def _hop_kind(self, position: int, distance: int) -> int:
        if distance not in self.cabling.distances:
            return 0
        return self.cabling.laid[self.cabling.distances.index(distance)][position % self.size]

    def has_room_for(self, chain: Chain) -> bool:
        """Whether no ring lies where a chain does, or would lie."""
        ring = self.as_ring(chain)
        return not self.covered.count(ring.first, ring.last)

    def is_laid(self, name: str) -> bool:
        """Whether a ring lies somewhere."""
        return name in self._rings

    def rings_of(self, job: str) -> int:
        """How many rings of a job are laid."""
        return len(self._of_job.get(job, ()))

    def chains_of(self, job: str) -> Iterator[LaidRing]:
        """The rings of a job that are laid, by name."""
        return (self._rings[name] for name in sorted(self._of_job.get(job, ())))

    @property
    def jobs(self) -> tuple[str, ...]:
        """Every job that has a ring, by name."""
        return tuple(sorted(self._of_job))

    @property
    def rings(self) -> int:
        """Rings in all."""
        return len(self._rings)

    def ring_from(self, position: int) -> Sight | None:
        """The first ring that begins at or after a position."""
        return self._sight(self.heads.next(position))

    def ring_before(self, position: int) -> Sight | None:
        """The last ring that begins before a position."""
        return self._sight(self.heads.previous(position - 1))

    def ring_over(self, position: int) -> Sight | None:
        """The ring whose span covers a position."""
        return self._sight(self.heads.previous(position)) if self.covered[position] else None

    def rings_in(self, first: int, last: int) -> Iterator[LaidRing]:
        """The rings that begin in a stretch, in order."""
        sight = self.ring_from(first)
        while sight is not None and sight.first <= last:
            yield sight.ring
            sight = self.ring_from(sight.last + 1)

    def _sight(self, head: int | None) -> Sight | None:
        if head is None:
            return None
        ring = self._ring_at[head % self.size]
        return Sight(ring, head, head + ring.last - ring.first)

    def gap_before(self, position: int) -> int:
        """Where the gap begins that ends just before a position: behind the ring before it, or where the order begins.

        On a closed order without a ring there is no such place, and the position itself is returned.
        """
        before = self.ring_before(position)
        if before is not None:
            return before.last + 1
        return position if self.closed else 0

    def gap_end(self, start: int) -> int:
        """The last position of the gap that begins at `start`; less than `start` for an empty one."""
        after = self.ring_from(start)
        if after is not None:
            return after.first - 1
        return start + self.size - 1 if self.closed else self.size - 1

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Every gap that is not empty, as (first, last), in order; a closed order without rings is one gap."""
        start = self.gap_before(0) if self.closed and self._rings else 0
        turn = start + self.size
        while start < turn and (self.closed or start < self.size):
            after = self.ring_from(start)
            if after is None or after.first >= turn:
                yield start, (turn if self.closed else self.size) - 1
                return
            if after.first > start:
                yield start, after.first - 1
            start = after.last + 1

    def distance(self, first: int, last: int, position: int) -> int:
        """Positions between a stretch and a position, whichever way is shorter; 0 inside."""
        length = last - first
        ahead = (position - first) % self.size if self.closed else position - first
        if 0 <= ahead <= length:
            return 0
        behind = self.size - ahead if self.closed else -ahead
        return min(distance for distance in (ahead - length, behind) if distance > 0)

    def room(self, first: int, last: int, nodes: int, most: int) -> int:
        """How many rings fit into [first, last], counted up to `most`, looking no further than needed."""
        look = _LOOK * nodes
        while True:
            end = min(last, first + look - 1)
            if end == last or self.idle.count(first, end) >= most * nodes:
                rings = self.strip(first, end).room(first, nodes, most)
                if rings == most or end == last:
                    return rings
            look *= 2

    def tables(self, chain: Chain) -> dict[int, dict[int, Path]]:
        """What the nodes of a forward chain select, by position and bundle; bundles in loopback are left out."""
        tables: dict[int, dict[int, Path]] = {position: {} for position in chain}
        for low, high in pairwise(chain):
            kind = self.kind(low, (high - low) % self.size)
            tables[low][kind.leave[0]] = kind.leave[1]
            tables[high][kind.enter[0]] = kind.enter[1]
        return tables

    def strip(self, first: int, last: int) -> Strip:
        """A stretch copied out, to lay rings into as if nothing lay there."""
        return Strip(self.cabling, first, cut(self.usable, first, last), [cut(row, first, last) for row in self.live])

    def steps(self, position: int) -> tuple[Step, ...]:
        """Every live hop forward to a usable node that passes over no ring, shortest first."""
        steps = []
        for distance, row in zip(self.cabling.distances, self.live, strict=True):
            if self.covered.count(position + 1, position + distance):
                break
            kind = self.cabling.kinds[row[position % self.size]]
            if kind is not None and self.usable[(position + distance) % self.size]:
                steps.append(Step(distance, kind.leave, kind.enter))
        return tuple(steps)

    def is_free(self, position: int) -> bool:
        """Whether a node may be used and lies in no ring's span."""
        return bool(self.usable[position % self.size]) and not self.covered[position]
