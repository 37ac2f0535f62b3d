"""Spares spread among aligned sets, where that costs no mismatch.

Weaving lays sets as close together as it can, so what is left of a lane is left at its end, and a node that fails
early in it would find its spare far away. Here sets in step move apart again: each to the place it would have if free
nodes were spread evenly, as near as its neighbours and faults let it. Sets out of step stay where they are.
"""

from collections.abc import Sequence

from ringlight.controller.planning.lanes import Ways
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.weaving import AlignedSet

_TRIES = 24  # places tried for a set before it stays where it is


def spaced(bands: Sequence[Ways], sets: Sequence[AlignedSet]) -> list[AlignedSet]:
    """The same sets in the same order, those in step moved apart."""
    placed = list(sets)
    for band in bands:
        spacing = _Spacing(band, [chain for each in placed for chain in each])
        numbers = [number for number in range(len(sets)) if spacing.is_in_step(placed[number])]
        numbers.sort(key=lambda number: placed[number])
        # From the far end, so that each finds the room those beyond it left, and back again for those in the way.
        for number in (*reversed(numbers), *numbers):
            placed[number] = spacing.moved(placed[number])
    return placed


class _Spacing:
    """Who lies where in one band, and where each would best lie."""

    def __init__(self, band: Ways, chains: Sequence[Chain]) -> None:
        self._band = band
        self._covered = bytearray(band.size)
        self._lane_of: dict[int, int] = {}  # by position
        for number, lane in enumerate(band.lanes):
            self._lane_of.update(dict.fromkeys(range(lane.first, lane.last + 1), number))
        self._before: dict[Chain, int] = {}  # by ring, rings before it in its lane
        self._counts = [0] * len(band.lanes)  # rings that begin in a lane
        for chain in sorted(chains):
            self._cover(chain, covered=True)
            home = self._lane_of.get(chain[0])
            if home is not None:
                self._before[chain] = self._counts[home]
                self._counts[home] += 1

    def is_in_step(self, chains: AlignedSet) -> bool:
        """Whether every ring lies in one lane of this band, and all pass the same rows."""
        rows = {tuple(self._band.row_at.get(position, -1) for position in chain) for chain in chains}
        lanes = [{self._lane_of.get(position, -1) for position in chain} for chain in chains]
        return len(rows) == 1 and all(len(each) == 1 and -1 not in each for each in lanes)

    def moved(self, chains: AlignedSet) -> AlignedSet:
        """The set nearer to its best place, if there is room."""
        for chain in chains:
            self._cover(chain, covered=False)
        best = self._nearer(chains)
        befores = [self._before.pop(chain) for chain in chains]
        for chain, before in zip(best, befores, strict=True):
            self._cover(chain, covered=True)
            self._before[chain] = before
        return best

    def _nearer(self, chains: AlignedSet) -> AlignedSet:
        lanes = [self._lane_of[chain[0]] for chain in chains]
        rooms = [self._room(lane, chain) for lane, chain in zip(lanes, chains, strict=True)]
        target, now = self._best_place(lanes[0], chains[0]), chains[0][0]
        first, last = rooms[0]
        for place in sorted(range(first, last + 1), key=lambda place: (abs(place - target), place))[:_TRIES]:
            if abs(place - target) >= abs(now - target):
                break
            found = self._band.in_step(lanes, self._band.row_at.get(place, -1))
            if found and all(a <= ring[0] and ring[-1] <= b for (a, b), ring in zip(rooms, found, strict=True)):
                return found
        return chains

    def _best_place(self, lane: int, chain: Chain) -> int:
        """Where a ring would begin if the free nodes of its lane lay evenly before, between and after its rings."""
        count, before, nodes = self._counts[lane], self._before[chain], self._band.nodes
        ends = self._band.lanes[lane]
        free = self._band.usable_between(ends.first - 1, ends.last + 1) - count * nodes
        return self._band.nth_usable(lane, before * nodes + free * (2 * before + 1) // (2 * count))

    def _room(self, lane: int, chain: Chain) -> tuple[int, int]:
        """The positions between a ring's neighbours in its lane."""
        first, last, ends = chain[0], chain[-1], self._band.lanes[lane]
        while first > ends.first and not self._covered[first - 1]:
            first -= 1
        while last < ends.last and not self._covered[last + 1]:
            last += 1
        return first, last

    def _cover(self, chain: Chain, *, covered: bool) -> None:
        last = chain[-1] if chain[-1] >= chain[0] else chain[-1] + self._band.size  # a ring may wrap
        for position in range(chain[0], last + 1):
            self._covered[position % self._band.size] = covered
