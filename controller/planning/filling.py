"""Rings laid into what aligned sets leave free, and in their place where too few rings would fit otherwise.

The exactness of rack-aware placement rests here: of all ways to have the number of rings wanted, keep most woven ones.
An interval is a woven ring's span or the shortest chain from a node. Over a line of positions the best choice of
disjoint intervals obeys a one-dimensional recursion; woven rings are worth 1 each and any ring `worth` more. A small
worth only fills gaps; with a large one the number of rings is the largest there is, because covering [s, e] is never
worse than covering [s, e'] with e < e', whatever else is laid. On a closed order some position lies in no ring, or
between two, within the longest shortest chain from any place, so a few cuts are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.controller.planning.lanes import Ground
from ringlight.controller.planning.terrain import Chain

_OPEN = -1  # the first node of a ring is entered through no bundle
_Point = tuple[int, int]  # (position, bundle entered)

# What a ring is worth over a woven ring lost: first only gaps are filled, then k rings give way to k + 1.
_WORTHS = (0.01, 1.5, 2.5, 3.5, 4.5, 6.5, 8.5, 16.5)


@dataclass(frozen=True, slots=True)
class Filled:
    """Woven rings that stay, and rings laid anew."""

    kept: tuple[Chain, ...]
    added: tuple[Chain, ...]

    @property
    def rings(self) -> int:
        """Rings in all."""
        return len(self.kept) + len(self.added)


class Filling:
    """Shortest chains of `nodes` nodes over the whole order, and how to choose among them.

    Attributes:
        most: rings that fit.
    """

    def __init__(self, ground: Ground, nodes: int) -> None:
        self._ground = ground
        self._nodes = nodes
        self._lengths: list[dict[_Point, int]] = []  # by nodes still to follow: how far the shortest rest reaches
        entries = {(position, _OPEN) for position in range(ground.size) if ground.usable(position)}
        for position in range(ground.size):
            if ground.usable(position):
                entries |= {(ground.wrap(position + s.distance), s.enter[0]) for s in ground.steps(position)}
        self._lengths.append(dict.fromkeys(entries, 0))
        for _ in range(nodes - 1):
            shorter = self._lengths[-1]
            lengths: dict[_Point, int] = {}
            for point in entries:
                reaches = [distance + shorter[to] for distance, to in self._onward(point) if to in shorter]
                if reaches:
                    lengths[point] = min(reaches)
            self._lengths.append(lengths)
        self._cut, self.most = 0, -1
        for cut in range(self._longest() + 1 if ground.closed else 1):
            rings = self._fill((), 1.0, cut).rings
            if rings > self.most:
                self._cut, self.most = cut, rings

    def _onward(self, point: _Point) -> list[tuple[int, _Point]]:
        position, entered = point
        return [
            (step.distance, (self._ground.wrap(position + step.distance), step.enter[0]))
            for step in self._ground.steps(position)
            if step.leave[0] != entered
        ]

    def fill(self, woven: Sequence[Chain], wanted: int) -> Filled:
        """Rings to reach `wanted`, or as many as fit; few woven ones give way, and none if there is room without."""
        for worth in _WORTHS if wanted < self.most else ():
            filled = self._fill(woven, worth, self._cut)
            if filled.rings >= wanted:
                return filled
        return self._fill(woven, float(self._ground.size), self._cut)

    def _longest(self) -> int:
        return max((self._lengths[-1].get((p, _OPEN), 0) for p in range(self._ground.size)), default=0)

    def _fill(self, woven: Sequence[Chain], worth: float, cut: int) -> Filled:
        """The choice of most value on the order cut open before position `cut`."""
        size, wrap = self._ground.size, self._ground.wrap
        spans = {chain[0]: (chain[-1] - chain[0], chain) for chain in woven}
        value = [0.0] * (size + 1)
        choice: list[int] = [0] * size  # positions to go on by: 1 past a position, or past a ring
        keeps = bytearray(size)
        for offset in range(size - 1, -1, -1):
            position = wrap(cut + offset)
            value[offset], choice[offset] = value[offset + 1], 0
            length = self._lengths[-1].get((position, _OPEN))
            if length is not None and offset + length < size and worth + value[offset + length + 1] > value[offset]:
                value[offset], choice[offset] = worth + value[offset + length + 1], length + 1
            reach, _ = spans.get(position, (size, ()))
            if offset + reach < size and worth + 1 + value[offset + reach + 1] >= value[offset]:
                value[offset], choice[offset] = worth + 1 + value[offset + reach + 1], reach + 1
                keeps[offset] = True
        kept: list[Chain] = []
        added: list[Chain] = []
        offset = 0
        while offset < size:
            position = wrap(cut + offset)
            if keeps[offset]:
                kept.append(spans[position][1])
            elif choice[offset]:
                added.append(self._chain(position))
            offset += choice[offset] or 1
        return Filled(tuple(kept), tuple(added))

    def _chain(self, first: int) -> Chain:
        """The shortest chain from a position; among equally short ones, the one with the shortest first hops."""
        chain, point = [first], (first, _OPEN)
        for left in range(self._nodes - 1, 0, -1):
            rest, shorter = self._lengths[left][point], self._lengths[left - 1]
            point = next(to for d, to in self._onward(point) if to in shorter and d + shorter[to] == rest)
            chain.append(point[0])
        return tuple(chain)
