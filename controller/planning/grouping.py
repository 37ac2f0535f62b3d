"""Rings put into data-parallel order: which ring stands next to which, so that few pairs leave the rack.

Every group of p rings in the order is one whole aligned set, as far as there are such. Incomplete sets follow and
share groups: two sets in a group cost a ring pair, a set that ends where a group ends costs nothing. Inside a set the
order is the cheapest path through its rings: exact up to `_EXACT` rings, nearest neighbour beyond.
"""

from collections.abc import Sequence
from itertools import accumulate

from ringlight.controller.planning.cross_tor import neighbour_rings
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.weaving import AlignedSet

_EXACT = 8  # rings whose every order is compared; 16 racks a node would take minutes


def mismatches(rows: Sequence[int], one: Chain, other: Chain) -> int:
    """Ranks at which two rings stand under different ToRs."""
    return sum(rows[a] != rows[b] for a, b in zip(one, other, strict=True))


def crossing_pairs(rows: Sequence[int], chains: Sequence[Chain], nodes_a_rack: int) -> int:
    """Node pairs under different ToRs, of rings in data-parallel order."""
    return sum(mismatches(rows, one, other) for one, other in neighbour_rings(chains, nodes_a_rack))


def in_order(rows: Sequence[int], chains: AlignedSet) -> AlignedSet:
    """The rings of a set in the order in which fewest neighbours mismatch."""
    between = [[mismatches(rows, one, other) for other in chains] for one in chains]
    if not any(map(any, between)):
        return chains
    path = _shortest_path(between) if len(chains) <= _EXACT else _near_path(between)
    return tuple(chains[index] for index in path)


def _shortest_path(between: list[list[int]]) -> tuple[int, ...]:
    """The cheapest path through all, by the recursion over (those visited, the last of them)."""
    count = len(between)
    paths: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {(1 << one, one): (0, (one,)) for one in range(count)}
    for _ in range(count - 1):
        longer: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
        for (visited, last), (cost, path) in paths.items():
            for following in range(count):
                if visited >> following & 1:
                    continue
                key = visited | 1 << following, following
                option = cost + between[last][following], (*path, following)
                if key not in longer or option < longer[key]:
                    longer[key] = option
        paths = longer
    return min(paths.values())[1]


def _near_path(between: list[list[int]]) -> tuple[int, ...]:
    """From each ring in turn to the nearest not yet visited; the best of these paths."""
    best: tuple[int, tuple[int, ...]] | None = None
    for first in range(len(between)):
        path, cost, left = [first], 0, set(range(len(between))) - {first}
        while left:
            distance, following = min((between[path[-1]][one], one) for one in left)
            path.append(following)
            left.remove(following)
            cost += distance
        best = min(best, (cost, tuple(path))) if best else (cost, tuple(path))
    return best[1] if best else ()


def arranged(sets: Sequence[AlignedSet], nodes_a_rack: int) -> tuple[Chain, ...]:
    """All rings in data-parallel order: whole sets by position, then incomplete ones so that they fill groups."""
    order = sorted((each for each in sets if len(each) == nodes_a_rack), key=min)
    rest = sorted((each for each in sets if len(each) != nodes_a_rack), key=lambda each: (-len(each), min(each)))
    order += [rest[index] for index in _packed([len(each) for each in rest], nodes_a_rack)]
    return tuple(chain for each in order for chain in each)


def _packed(sizes: Sequence[int], nodes_a_rack: int) -> list[int]:
    """An order of incomplete sets, by index, in which many end where a group ends. Sizes must not grow."""
    order: list[int] = []
    rest = list(range(len(sizes)))
    filled = 0  # rings in the group that is open
    while rest:
        wanted = nodes_a_rack - filled
        left = {sizes[index] for index in rest}
        exact = next((index for index in rest if sizes[index] == wanted), None)
        half = next((index for index in rest if wanted - sizes[index] in left), rest[0])
        following = half if exact is None else exact
        rest.remove(following)
        order.append(following)
        filled = (filled + sizes[following]) % nodes_a_rack
    return order


def _joints(sizes: Sequence[int], nodes_a_rack: int) -> int:
    """Places inside a group where one incomplete set ends and another begins, when they are packed."""
    rest = sorted((size for size in sizes if size != nodes_a_rack), reverse=True)
    ends = accumulate(rest[index] for index in _packed(rest, nodes_a_rack))
    return sum(end % nodes_a_rack != 0 for end in list(ends)[:-1])


def trimmed(rows: Sequence[int], sets: Sequence[AlignedSet], wanted: int, nodes_a_rack: int) -> list[AlignedSet]:
    """Sets, each in order, that hold just `wanted` rings: what costs most goes first, and whole sets evenly."""
    left = [in_order(rows, each) for each in sets]
    surplus = max(0, sum(map(len, left)) - wanted)
    while surplus > 0:
        costs = {
            index: (crossing_pairs(rows, each, nodes_a_rack) + len(each[0]) * (len(each) < nodes_a_rack)) / len(each)
            for index, each in enumerate(left)
            if len(each) <= surplus
        }
        worst = max(costs, key=lambda index: costs[index], default=None)
        if worst is None or costs[worst] == 0:
            break
        surplus -= len(left.pop(worst))
    whole = [index for index, each in enumerate(left) if len(each) == nodes_a_rack]
    count = min(surplus // nodes_a_rack, len(whole))
    gone = {whole[(2 * number + 1) * len(whole) // (2 * count)] for number in range(count)}
    left = [each for index, each in enumerate(left) if index not in gone]
    of_ring = {ring: each for each in left for ring in each}
    for _ in range(surplus - count * nodes_a_rack):
        left = _without_one(rows, left, nodes_a_rack)
    return [_evenly(rows, each, of_ring[each[0]], nodes_a_rack) for each in left]


def _evenly(rows: Sequence[int], left: AlignedSet, whole: AlignedSet, nodes_a_rack: int) -> AlignedSet:
    """What is left of a set, chosen so that the rings that went lay evenly among the others, if that costs nothing."""
    if len(left) == len(whole) or crossing_pairs(rows, whole, nodes_a_rack):
        return left
    count = len(whole) - len(left)
    gone = {(2 * number + 1) * len(whole) // (2 * count) for number in range(count)}
    return tuple(ring for index, ring in enumerate(whole) if index not in gone)


def _without_one(rows: Sequence[int], sets: list[AlignedSet], nodes_a_rack: int) -> list[AlignedSet]:
    """One ring fewer, the one whose loss leaves the least cost."""
    sizes = [len(each) for each in sets]
    joints = {  # when a set of that size gets smaller by a ring
        size: _joints([*sizes[: (index := sizes.index(size))], size - 1, *sizes[index + 1 :]], nodes_a_rack)
        for size in set(sizes)
    }
    best: tuple[int, int, int] | None = None
    for index, chains in enumerate(sets):
        before = crossing_pairs(rows, chains, nodes_a_rack)
        for member in range(len(chains)):
            after = crossing_pairs(rows, chains[:member] + chains[member + 1 :], nodes_a_rack)
            option = after - before + joints[len(chains)] * len(chains[0]), index, member
            best = min(best, option) if best else option
            if not before:
                break
    if best is None:
        return sets
    _, index, member = best
    less = sets[index][:member] + sets[index][member + 1 :]
    return [*sets[:index], *([less] if less else []), *sets[index + 1 :]]
