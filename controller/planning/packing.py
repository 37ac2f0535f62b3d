"""The best choice of zones over the whole order, however far it reaches: exact, in time that grows with N.

This is what a repair falls back on when it would move more rings than an `Outlook` keeps track of, and what places
rings where none are yet. The task: choose which survivors stay and where new rings go, so that, first, the number of
rings is largest, up to the number wanted, and second, most survivors stay.

On a line, from right to left, with `end(p)` the earliest end of a new ring that lies in [p, ...):

- `A(p)`, the best (rings, survivors) from position p on, compared as pairs, is the largest of `A(p + 1)`, a new ring
  followed by `A(end(p) + 1)`, and the survivor that begins at p followed by `A(its end + 1)`. Some best choice begins
  with one of these: if its first ring is new, the one that ends first does as well. So `A` is exact by induction. When
  it holds no more rings than wanted, the pair order is exactly the objective.
- When more would fit than wanted, trading survivors for new rings is only worth it until the wanted number is
  reached. `F(p, n)`, the most survivors from p on together with exactly n new rings, obeys the same recursion. Leaving
  out a new ring never costs a survivor, so `F` does not grow with n, and the smallest n with `F(n) + n ≥ wanted` keeps
  most survivors.

Rings of other jobs cut the order into lines. A closed order without any is cut open somewhere: either no ring crosses
the cut, or exactly one of the few that could; each case leaves a line. A new ring that crosses need only be tried with
the start and the earliest end behind the cut: one that could end before the cut is covered by the first case.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from ringlight.controller.planning.order import Order
from ringlight.controller.planning.zones import Choice, Zone

_NONE = -1  # no place
_NEVER = -2  # no such choice; one less than any number of survivors, less one


@dataclass(frozen=True, slots=True)
class _Line:
    """A stretch between walls, unrolled."""

    first: int
    last: int


def pack(order: Order, job: str, nodes: int, wanted: int) -> Choice:
    """The zones that give a job most rings, up to `wanted` in all, and among those move fewest of those it has.

    Args:
        order: with every ring that stands.
        job: whose rings may move.
        nodes: nodes of a ring.
        wanted: rings the job wants in all, at least as many as it has.
    """
    lines = list(_lines(order, job))
    if not order.closed or order.rings > order.rings_of(job):
        return _Lines(order, nodes, lines).best(wanted)
    return _pack_circle(order, nodes, wanted)


def _lines(order: Order, job: str) -> Iterator[_Line]:
    """The stretches between rings of other jobs."""
    walls = [ring for other in order.jobs if other != job for ring in order.chains_of(other)]
    walls.sort(key=lambda ring: ring.first)
    if not walls:
        yield _Line(0, order.size - 1)
        return
    start = walls[-1].last + 1 - order.size if order.closed else 0
    for wall in walls:
        if wall.first > start:
            yield _Line(start, wall.first - 1)
        start = wall.last + 1
    if not order.closed and start < order.size:
        yield _Line(start, order.size - 1)


def _pack_circle(order: Order, nodes: int, wanted: int) -> Choice:
    cut = _place_to_cut(order)
    boundary = cut + order.size
    best = _Lines(order, nodes, [_Line(cut, boundary - 1)]).best(wanted)
    crossing = order.ring_over(boundary)
    if crossing is not None and crossing.first < boundary:
        rest = _Line(crossing.last + 1 - order.size, crossing.first - 1)
        best = max(best, _Lines(order, nodes, [rest]).best(wanted - 1), key=_merit)
    for start, end in _new_rings_across(order, boundary, nodes):
        rest = _Line(end + 1 - order.size, start - 1)
        best = max(best, _Lines(order, nodes, [rest]).best(wanted - 1, is_laid=True), key=_merit)
    return best


def _merit(choice: Choice) -> tuple[int, int]:
    return choice.gain, -choice.moved


def _place_to_cut(order: Order) -> int:
    """Where a closed order is cut open: where no hop leads across, else before a ring, else anywhere."""
    broken = b"\x00" * order.cabling.longest
    place = order.usable.find(broken)
    while place >= 0:
        if not order.covered.count(place, place + len(broken) - 1):
            return order.wrap(place + len(broken))
        place = order.usable.find(broken, place + 1)
    ring = order.ring_from(0)
    return ring.first if ring is not None else 0


def _new_rings_across(order: Order, boundary: int, nodes: int) -> Iterator[tuple[int, int]]:
    """Every start before the boundary with the earliest end behind it, if a ring lies there that crosses."""
    for start in range(boundary - 1, boundary - 1 - (nodes - 1) * order.cabling.longest, -1):
        if start <= boundary - order.size:
            return
        strip = order.strip(start, start + order.size - 1)
        end = strip.earliest_end(start, nodes)
        if end is not None and end < boundary:
            return  # and from any start further back a ring ends before the boundary too
        if end is not None and strip.chain_to(end, nodes)[0] < boundary:
            yield start, end


class _Lines:
    """The recursions over lines laid end to end. `A` and `F` of the module text are `_most` and `_level`."""

    def __init__(self, order: Order, nodes: int, lines: list[_Line]) -> None:
        self._order = order
        self._lines = lines
        self._length = sum(line.last - line.first + 1 for line in lines)
        self._new_end = [_NONE] * self._length  # by place: the place where the earliest new ring from here ends
        self._survivor: dict[int, int] = {}  # by place of the first node: place of the last
        base = 0
        for line in lines:
            self._find_new_ends(line, base, nodes)
            self._find_survivors(line, base)
            base += line.last - line.first + 1

    def _find_new_ends(self, line: _Line, base: int, nodes: int) -> None:
        for place, end in enumerate(self._order.strip(line.first, line.last).ends(nodes), start=base):
            if end is not None:
                self._new_end[place] = base + end - line.first

    def _find_survivors(self, line: _Line, base: int) -> None:
        sight = self._order.ring_from(line.first)
        while sight is not None and sight.last <= line.last:
            self._survivor[base + sight.first - line.first] = base + sight.last - line.first
            sight = self._order.ring_from(sight.last + 1)

    def best(self, wanted: int, *, is_laid: bool = False) -> Choice:
        """The best choice of up to `wanted` rings on these lines.

        Args:
            wanted: rings on these lines.
            is_laid: a new ring fills what the only line leaves of a closed order, and is part of the zone there.
        """
        kept, new = self._most()
        if len(kept) + len(new) > wanted and self._survivor:
            kept, new = self._fewest_new(wanted)
        new = new[: wanted - len(kept)]
        zones = tuple(self._zones(kept, new, is_laid=is_laid))
        gain, moved = sum(zone.gain for zone in zones), sum(zone.moved for zone in zones)
        return Choice(zones, gain, moved, everywhere=True)

    def _most(self) -> tuple[list[int], list[int]]:
        """Most rings, then most survivors, however many are wanted: places of survivors kept, and of new rings."""
        value = [0] * (self._length + 1)  # rings times `scale` plus survivors
        scale = self._length + 1
        for p in range(self._length - 1, -1, -1):
            best = value[p + 1]
            if self._new_end[p] != _NONE:
                best = max(best, value[self._new_end[p] + 1] + scale)
            if p in self._survivor:
                best = max(best, value[self._survivor[p] + 1] + scale + 1)
            value[p] = best
        kept: list[int] = []
        new: list[int] = []
        p = 0
        while p < self._length:
            if p in self._survivor and value[p] == value[self._survivor[p] + 1] + scale + 1:
                kept.append(p)
                p = self._survivor[p] + 1
            elif value[p] == value[p + 1]:
                p += 1
            else:
                new.append(p)
                p = self._new_end[p] + 1
        return kept, new

    def _fewest_new(self, wanted: int) -> tuple[list[int], list[int]]:
        """Most survivors among the choices of exactly `wanted` rings; at least so many must fit."""
        levels: list[list[int]] = []
        while True:
            levels.append(self._level(levels[-1] if levels else None))
            new, survivors = len(levels) - 1, levels[-1][0]
            if survivors != _NEVER and survivors + new >= wanted:
                return self._read_levels(levels)

    def _level(self, fewer: list[int] | None) -> list[int]:
        """F(p, n) for all p, from F(p, n - 1); `_NEVER` where n new rings do not fit."""
        value = [_NEVER] * (self._length + 1)
        if fewer is None:
            value[self._length] = 0
        for p in range(self._length - 1, -1, -1):
            best = value[p + 1]
            if p in self._survivor and value[self._survivor[p] + 1] != _NEVER:
                best = max(best, value[self._survivor[p] + 1] + 1)
            if fewer is not None and self._new_end[p] != _NONE:
                best = max(best, fewer[self._new_end[p] + 1])
            value[p] = best
        return value

    def _read_levels(self, levels: list[list[int]]) -> tuple[list[int], list[int]]:
        kept: list[int] = []
        placed: list[int] = []
        p, new = 0, len(levels) - 1
        while p < self._length:
            here = levels[new][p]
            if p in self._survivor and levels[new][self._survivor[p] + 1] == here - 1:
                kept.append(p)
                p = self._survivor[p] + 1
            elif new and self._new_end[p] != _NONE and levels[new - 1][self._new_end[p] + 1] == here:
                placed.append(p)
                p, new = self._new_end[p] + 1, new - 1
            else:
                p += 1
        return kept, placed

    def _zones(self, kept: list[int], new: list[int], *, is_laid: bool) -> Iterator[Zone]:
        """The stretches between kept survivors in which something changes. Places of `kept` and `new` are sorted."""
        base = 0
        for line in self._lines:
            stretches = list(self._stretches(line, base, kept, new))
            for first, last, placed in self._joined_around(stretches) if is_laid else stretches:
                moved = self._order.heads.count(first, last)
                if placed or moved:
                    yield Zone(first, last, moved, placed - moved)
            base += line.last - line.first + 1

    def _stretches(self, line: _Line, base: int, kept: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
        """What lies between the kept survivors of a line: first and last position, and new rings."""
        end = base + line.last - line.first + 1
        shift = line.first - base
        first = base
        for wall in [*kept[bisect_left(kept, base) : bisect_left(kept, end)], end]:
            placed = bisect_left(new, wall) - bisect_left(new, first)
            yield first + shift, wall - 1 + shift, placed
            first = self._survivor[wall] + 1 if wall < end else end

    def _joined_around(self, stretches: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """On a closed order: the ring that was laid beside the line joins its last stretch to its first one."""
        if len(stretches) == 1:
            first, _, placed = stretches[0]
            return [(first, first + self._order.size - 1, placed + 1)]
        (_, last, placed), (first, _, more) = stretches[0], stretches[-1]
        return [*stretches[1:-1], (first, last + self._order.size, placed + more + 1)]
