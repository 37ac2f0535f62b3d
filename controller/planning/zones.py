"""Zones: what a job gains when neighbouring rings of it are laid anew together.

Take any choice of rings that keeps some survivors. Between two neighbouring kept survivors (or a ring of another job,
or an end of the order) lies a *zone*: it held j survivors that move, and now holds j + g rings. A zone with g ≤ 0 can
be put back as it was without loss. So the best choice is a set of disjoint zones with g ≥ 1, and each holds as many
rings as fit, which `Strip` finds exactly. With j = 0 the zone is a gap with room: nothing moves at all.

Choosing zones is choosing disjoint intervals: `choose` is exact over the zones it is given. `Outlook` says which zones
there are.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringlight.controller.planning.order import Order


@dataclass(frozen=True, slots=True)
class Zone:
    """A stretch between two kept rings.

    Attributes:
        first, last: the stretch, unrolled.
        moved: survivors in it, all to be laid anew.
        gain: rings that fit, less `moved`.
    """

    first: int
    last: int
    moved: int
    gain: int


def zones_from(order: Order, start: int, job: str, nodes: int, *, most_moved: int, most_gain: int) -> list[Zone]:
    """The zones that begin at a gap's start: for each gain up to `most_gain` the one that moves fewest rings.

    Args:
        order: with the rings that stand.
        start: where a gap begins.
        job: whose rings may move.
        nodes: nodes of a ring of that job.
        most_moved: zones that would move more are not looked for.
        most_gain: rings the job is short of.
    """
    walls = _walls(order, start, job, most_moved)
    strip = order.strip(start, walls[-1])
    zones: list[Zone] = []
    rings, gained = 0, 0
    end = strip.earliest_end(start, nodes)
    for moved, wall in enumerate(walls):
        while end is not None and end <= wall and rings < moved + most_gain:
            rings += 1
            end = strip.earliest_end(end + 1, nodes)
        if rings - moved > gained:
            gained = rings - moved
            zones.append(Zone(start, wall, moved, gained))
        if gained == most_gain:
            break
    return zones


def _walls(order: Order, start: int, job: str, most_moved: int) -> list[int]:
    """Where the zones from a gap's start end that hold 0, 1, 2, ... rings of a job: before the next ring."""
    turn = start + order.size - 1
    walls: list[int] = []
    position = start
    while len(walls) <= most_moved:
        sight = order.ring_from(position)
        if sight is None:
            walls.append(turn if order.closed else order.size - 1)
            break
        walls.append(sight.first - 1)
        if sight.ring.job != job or sight.last >= turn:
            break
        position = sight.last + 1
    return walls


@dataclass(frozen=True, slots=True)
class Choice:
    """Disjoint zones, what they gain and cost together.

    Attributes:
        everywhere: the whole order was looked at for it.
    """

    zones: tuple[Zone, ...]
    gain: int
    moved: int
    everywhere: bool = False


_Value = tuple[int, int, "_Chosen | None"]  # (moved, distance, what was chosen)


@dataclass(frozen=True, slots=True)
class _Chosen:
    zone: Zone
    rest: "_Chosen | None"


def choose(zones: Sequence[Zone], wanted: int, size: int | None, distance: Callable[[Zone], int]) -> Choice:
    """The disjoint zones that gain most, up to `wanted`; among those, that move fewest rings; then, that are nearest.

    Args:
        zones: with starts in 0..N-1.
        wanted: rings to gain at most.
        size: N on a closed order, where zones may wrap; None on a line.
        distance: of a zone from where the rings were lost; the tie-breaker.
    """
    if size is None:
        return _choose_on_line(zones, wanted, distance)
    # A closed order is cut open where fewest zones cross: either none of those is chosen, or exactly one.
    cut = _cut(zones, size)
    unrolled = [_from(cut, zone, size) for zone in zones]
    turn = cut + size - 1
    line = [zone for zone in unrolled if zone.last <= turn]
    best = _choose_on_line(line, wanted, distance)
    for zone in unrolled:
        if zone.last > turn:
            rest = [other for other in line if other.last < zone.first and other.first > zone.last - size]
            chosen = _choose_on_line(rest, wanted - min(wanted, zone.gain), distance)
            gain = min(wanted, zone.gain + chosen.gain)
            option = Choice((zone, *chosen.zones), gain, zone.moved + chosen.moved)
            best = max(best, option, key=lambda choice: (choice.gain, -choice.moved))
    return best


def _from(cut: int, zone: Zone, size: int) -> Zone:
    """A zone with its first position in cut..cut+N-1."""
    first = cut + (zone.first - cut) % size
    return Zone(first, first + zone.last - zone.first, zone.moved, zone.gain)


def _cut(zones: Sequence[Zone], size: int) -> int:
    """The position of a closed order before which fewest zones cross."""
    changes: Counter[int] = Counter({0: 0})
    for zone in zones:
        changes[(zone.first + 1) % size] += 1
        changes[(zone.last + 1) % size] -= 1
    crossing = sum((zone.first % size) + zone.last - zone.first >= size for zone in zones)  # the boundary before 0
    fewest, best = crossing, 0
    for position in sorted(changes):
        if position:
            crossing += changes[position]
            if crossing < fewest:
                fewest, best = crossing, position
    return best


def _choose_on_line(zones: Sequence[Zone], wanted: int, distance: Callable[[Zone], int]) -> Choice:
    """`choose` where nothing wraps: from right to left, for each gain the cheapest zones from here on."""
    ordered = sorted(zones, key=lambda zone: (zone.first, zone.last))
    starts = [zone.first for zone in ordered]
    best: list[list[_Value | None]] = [[(0, 0, None)] + [None] * wanted for _ in range(len(ordered) + 1)]
    for index in range(len(ordered) - 1, -1, -1):
        zone = ordered[index]
        away = distance(zone)
        here = list(best[index + 1])
        for gained, value in enumerate(best[bisect_right(starts, zone.last)]):
            if value is not None:
                total = min(wanted, gained + zone.gain)
                option = (value[0] + zone.moved, value[1] + away, _Chosen(zone, value[2]))
                known = here[total]
                if known is None or option[:2] < known[:2]:
                    here[total] = option
        best[index] = here
    gain = max(gained for gained, value in enumerate(best[0]) if value is not None)
    moved, _, chosen = best[0][gain] or (0, 0, None)
    picked: list[Zone] = []
    while chosen is not None:
        picked.append(chosen.zone)
        chosen = chosen.rest
    return Choice(tuple(picked), gain, moved)
