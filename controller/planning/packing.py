"""How many rings fit, and which of a job's surviving rings can stay as they are: exact.

A ring to be placed is an interval [s, s + shortest(s)] (see `reach`), a surviving ring is the interval of its span.
The task: choose disjoint intervals so that, first, the number of rings is largest (up to the number wanted), and
second, most surviving rings are among them.

On a line, from right to left:

- `A(p)`, the best (rings, surviving rings) from position p on, compared as pairs, is the larger of `A(p + 1)`, a new
  ring at p followed by `A(its end + 1)`, and the surviving ring that begins at p followed by `A(its end + 1)`. Some
  best choice begins with one of these, so `A` is exact by induction. When it holds no more rings than wanted, the
  pair order is exactly the objective.
- When more would fit than wanted, trading survivors for new rings is only worth it until the wanted number is
  reached. `F(p, n)`, the most survivors from p on together with exactly n new rings, obeys the same recursion. Leaving
  out a new ring never costs a survivor, so `F` does not grow with n, and the smallest n with `F(n) + n ≥ wanted` keeps
  most survivors.

On a closed order some interval may cross the place where we cut it open. Either none does, or exactly one of the few
that could; each case leaves a line. The cut is put where fewest could cross.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringlight.controller.planning.reach import Reach
from ringlight.controller.planning.terrain import Chain, Stretch, Terrain


@dataclass(frozen=True, slots=True)
class Packing:
    """A choice of disjoint intervals: surviving rings that stay, and where new ones begin (unrolled)."""

    kept: tuple[Chain, ...] = ()
    starts: tuple[int, ...] = ()

    @property
    def rings(self) -> int:
        """Rings in all."""
        return len(self.kept) + len(self.starts)

    @property
    def merit(self) -> tuple[int, int]:
        """What is compared: rings first, survivors second."""
        return self.rings, len(self.kept)

    def plus(self, other: "Packing") -> "Packing":
        """Both choices together; they must not overlap."""
        return Packing(self.kept + other.kept, self.starts + other.starts)


def pack(terrain: Terrain, reach: Reach, wanted: int, survivors: Sequence[Chain]) -> Packing:
    """The best packing of up to `wanted` rings on the whole order."""
    if wanted == 0:
        return Packing()
    if not terrain.closed:
        return _pack_line(terrain, reach, Stretch(0, terrain.size - 1), wanted, survivors)
    cut = _best_cut(terrain, reach, survivors)
    around = Stretch(cut, cut + terrain.size - 1)
    best = _pack_line(terrain, reach, around, wanted, survivors)
    for interval, crossing in _crossing(terrain, reach, cut, survivors):
        rest = Stretch(interval.last + 1 - terrain.size, interval.first - 1)
        candidate = crossing.plus(_pack_line(terrain, reach, rest, wanted - 1, survivors))
        best = max(best, candidate, key=lambda packing: packing.merit)
    return best


def room(terrain: Terrain, reach: Reach, stretch: Stretch) -> int:
    """How many new rings fit into a free stretch."""
    if stretch.last - stretch.first + 1 < reach.nodes:
        return 0  # most stretches between rings are a spare or two wide
    count, position = 0, stretch.first
    while (end := _earliest_end(terrain, reach, position, stretch.last)) is not None:
        count, position = count + 1, end + 1
    return count


def rooms_from(terrain: Terrain, reach: Reach, stretch: Stretch) -> list[int]:
    """How many new rings fit from each position of a free stretch on; one entry more for its end, which is 0."""
    rooms = [0]
    for position in range(stretch.last, stretch.first - 1, -1):
        best = rooms[-1]
        length = reach.length(terrain.wrap(position))
        if length is not None and position + length <= stretch.last:
            best = max(best, 1 + rooms[-1 - length])
        rooms.append(best)
    return rooms[::-1]


def _earliest_end(terrain: Terrain, reach: Reach, first: int, last: int) -> int | None:
    """Where the ring ends that ends first among those in [first, last]: the exchange argument of interval packing."""
    best: int | None = None
    for start in range(first, last + 1):
        if best is not None and start >= best:
            break
        length = reach.length(terrain.wrap(start))
        if length is not None and start + length <= last and (best is None or start + length < best):
            best = start + length
    return best


def _pack_line(terrain: Terrain, reach: Reach, line: Stretch, wanted: int, survivors: Sequence[Chain]) -> Packing:
    solver = _Line(terrain, reach, line, survivors)
    best = solver.most()
    if best.rings <= wanted:
        return best
    return solver.fewest_new(wanted)


class _Line:
    """The recursions over one line of positions. `A` and `F` of the module text are `most` and `fewest_new`."""

    def __init__(self, terrain: Terrain, reach: Reach, line: Stretch, survivors: Sequence[Chain]) -> None:
        self._line = line
        self._new_end: dict[int, int] = {}
        for start in range(line.first, line.last + 1):
            length = reach.length(terrain.wrap(start))
            if length is not None and start + length <= line.last:
                self._new_end[start] = start + length
        self._survivor: dict[int, tuple[int, Chain]] = {}
        for chain in survivors:
            span = terrain.span(chain)
            for turn in (-terrain.size, 0, terrain.size) if terrain.closed else (0,):
                if line.first <= span.first + turn and span.last + turn <= line.last:
                    self._survivor[span.first + turn] = (span.last + turn, chain)

    def most(self) -> Packing:
        """Most rings, then most survivors, however many are wanted."""
        last = self._line.last
        value: dict[int, tuple[int, int]] = {last + 1: (0, 0)}
        for p in range(last, self._line.first - 1, -1):
            best = value[p + 1]
            if p in self._new_end:
                rings, kept = value[self._new_end[p] + 1]
                best = max(best, (rings + 1, kept))
            if p in self._survivor:
                rings, kept = value[self._survivor[p][0] + 1]
                best = max(best, (rings + 1, kept + 1))
            value[p] = best
        return self._read_most(value)

    def _read_most(self, value: dict[int, tuple[int, int]]) -> Packing:
        kept: list[Chain] = []
        starts: list[int] = []
        p = self._line.first
        while p <= self._line.last:
            rings, survivors = value[p]
            if p in self._survivor and value[self._survivor[p][0] + 1] == (rings - 1, survivors - 1):
                end, chain = self._survivor[p]
                kept.append(chain)
                p = end + 1
            elif value[p + 1] == value[p]:
                p += 1
            else:
                starts.append(p)
                p = self._new_end[p] + 1
        return Packing(tuple(kept), tuple(starts))

    def fewest_new(self, wanted: int) -> Packing:
        """Most survivors among the choices of exactly `wanted` rings; at least so many must fit."""
        levels: list[dict[int, int | None]] = []
        while True:
            levels.append(self._level(levels[-1] if levels else None))
            new, survivors = len(levels) - 1, levels[-1][self._line.first]
            if survivors is not None and survivors + new >= wanted:
                packing = self._read_levels(levels)
                return Packing(packing.kept[: wanted - new], packing.starts)

    def _level(self, fewer: dict[int, int | None] | None) -> dict[int, int | None]:
        """F(p, n) for all p, from F(p, n - 1); None where n new rings do not fit."""
        last = self._line.last
        value: dict[int, int | None] = {last + 1: 0 if fewer is None else None}
        for p in range(last, self._line.first - 1, -1):
            options = [value[p + 1]]
            if p in self._survivor:
                beyond = value[self._survivor[p][0] + 1]
                options.append(None if beyond is None else beyond + 1)
            if fewer is not None and p in self._new_end:
                options.append(fewer[self._new_end[p] + 1])
            value[p] = max((option for option in options if option is not None), default=None)
        return value

    def _read_levels(self, levels: list[dict[int, int | None]]) -> Packing:
        kept: list[Chain] = []
        starts: list[int] = []
        p, new = self._line.first, len(levels) - 1
        while p <= self._line.last:
            here = levels[new][p]
            end, chain = self._survivor.get(p, (p, ()))
            beyond = levels[new][end + 1]
            if chain and here is not None and beyond == here - 1:
                kept.append(chain)
                p = end + 1
            elif new and p in self._new_end and levels[new - 1][self._new_end[p] + 1] == here:
                starts.append(p)
                p, new = self._new_end[p] + 1, new - 1
            else:
                p += 1
        return Packing(tuple(kept), tuple(starts))


def _crossing(
    terrain: Terrain, reach: Reach, cut: int, survivors: Sequence[Chain]
) -> Iterator[tuple[Stretch, Packing]]:
    """Every interval that covers both sides of the boundary before `cut`, placed to begin before cut + N."""
    boundary = cut + terrain.size
    for start in range(cut, boundary):
        length = reach.length(terrain.wrap(start))
        if length is not None and start + length >= boundary:
            yield Stretch(start, start + length), Packing(starts=(start,))
    for chain in survivors:
        span = terrain.span(chain)
        for turn in (0, terrain.size):
            if cut <= span.first + turn < boundary <= span.last + turn:
                yield Stretch(span.first + turn, span.last + turn), Packing(kept=(chain,))


def _best_cut(terrain: Terrain, reach: Reach, survivors: Sequence[Chain]) -> int:
    """The position before which fewest intervals cross."""
    crossings = [0] * terrain.size
    spans = [terrain.span(chain) for chain in survivors]
    for start in range(terrain.size):
        length = reach.length(start)
        if length is not None:
            spans.append(Stretch(start, start + length))
    for span in spans:
        for position in range(span.first + 1, span.last + 1):
            crossings[terrain.wrap(position)] += 1
    return crossings.index(min(crossings))
