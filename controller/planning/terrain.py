"""What the planner may use for one job: usable nodes, live hops, and the stretches that other rings close.

Rings are disjoint in span: no fibre of a ring passes over a node of another ring's span. So every position inside
the span of another job's ring is *barred*: neither used nor passed over. A position that is merely not usable (a
failed node, a node in probation) can be passed over by a longer hop.

On a closed order positions are *unrolled*: a stretch that wraps is written with positions beyond N-1, and
`Terrain.wrap` brings them back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.wiring import HopKey, Wiring

Chain = tuple[int, ...]
End = tuple[int, Path]  # the bundle and path by which a chain enters or leaves a node


@dataclass(frozen=True, slots=True)
class Step:
    """One hop forward: how far, and through which ends it leaves and enters."""

    distance: int
    leave: End
    enter: End


@dataclass(frozen=True, slots=True)
class Stretch:
    """Positions `first` .. `last` (inclusive, unrolled) that no ring's span covers."""

    first: int
    last: int

    def __contains__(self, position: int) -> bool:
        return self.first <= position <= self.last


def span_of(wiring: Wiring, chain: Chain) -> Stretch:
    """The positions a chain covers, those it bypasses included; unrolled when it wraps.

    Chains may be written in either direction along the order; the span runs forward.
    """
    size = wiring.size
    runs_forward = len(chain) == 1 or (chain[1] - chain[0]) % size <= wiring.spec.k
    forward = chain if runs_forward else chain[::-1]
    length = sum((after - before) % size for before, after in pairwise(forward))
    return Stretch(forward[0], forward[0] + length)


class Terrain:
    """The fabric as one job's planning sees it. Never changed once made.

    Args:
        wiring: the cabling.
        usable: by position, whether a node may be part of a new chain of this job.
        barred: by position, whether it lies in the span of a ring of another job.
        dead_hops: hops that carry no light.
        tables: by position, the circuit table each node has now, for counting switches.
    """

    def __init__(
        self,
        wiring: Wiring,
        *,
        usable: Sequence[bool],
        barred: Sequence[bool],
        dead_hops: Collection[HopKey] = (),
        tables: Sequence[CircuitTable],
    ) -> None:
        self.wiring = wiring
        self.size = wiring.size
        self.closed = wiring.spec.closed
        self.tables = tables
        self._usable = usable
        self._barred = barred
        self._dead = frozenset(dead_hops)
        self._steps: dict[int, tuple[Step, ...]] = {}

    def wrap(self, position: int) -> int:
        """A position of the fabric from an unrolled one."""
        return position % self.size

    def usable(self, position: int) -> bool:
        """Whether the node may be part of a new chain."""
        return self._usable[position] and not self._barred[position]

    def barred(self, position: int) -> bool:
        """Whether the position lies in the span of another job's ring."""
        return self._barred[position]

    def steps(self, position: int) -> tuple[Step, ...]:
        """Every live hop forward from a position to a usable node, shortest first, that passes over nothing barred."""
        steps = self._steps.get(position)
        if steps is None:
            steps = self._steps[position] = tuple(self._find_steps(position))
        return steps

    def _find_steps(self, position: int) -> list[Step]:
        steps = []
        for distance in range(1, self.wiring.spec.k + 1):
            target = self.wrap(position + distance)
            if self._barred[target]:
                break
            hop = self.wiring.hop(position, distance)
            if hop is not None and self._usable[target] and hop.key not in self._dead:
                steps.append(Step(distance, (hop.low.bundle, hop.low.path), (hop.high.bundle, hop.high.path)))
        return steps

    def span(self, chain: Chain) -> Stretch:
        """The positions a chain covers, those it bypasses included."""
        return span_of(self.wiring, chain)

    def free_stretches(self, kept: Collection[Chain], *, cut: int = 0) -> list[Stretch]:
        """The maximal stretches that neither a kept chain nor a barred position covers, in order.

        On a closed order with nothing in the way the whole order is one stretch that begins at `cut`.
        """
        covered = bytearray(self._barred)
        for chain in kept:
            span = self.span(chain)
            for position in range(span.first, span.last + 1):
                covered[self.wrap(position)] = 1
        # Begin at a covered position, so that no stretch of a closed order is cut in two.
        origin = (covered.index(1) if any(covered) else cut) if self.closed else 0
        stretches: list[Stretch] = []
        first: int | None = None
        for position in range(origin, origin + self.size):
            if covered[self.wrap(position)]:
                if first is not None:
                    stretches.append(Stretch(first, position - 1))
                first = None
            elif first is None:
                first = position
        if first is not None:
            stretches.append(Stretch(first, origin + self.size - 1))
        return stretches
