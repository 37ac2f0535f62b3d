"""Which chains a zone gets, once it is known how many: those that switch fewest bundles.

Objectives 4 and 5: of all ways to lay so many rings into a strip, the one that switches fewest bundles; among those,
the one that keeps most ranks where they are wanted (`misfit`); then the one that covers fewest positions. Exact within
the strip. Rings follow each other in a strip in a fixed order, and its usable nodes are hardly more than its rings
need, so the search is narrow: a state is dropped as soon as too few usable nodes are left.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ringlight.controller.planning.cabling import End
from ringlight.controller.planning.strip import Strip
from ringlight.fabric.circuits import Path

Table = Mapping[int, Path]  # the bundles of a node that select a fibre, and which
Misfit = Callable[[int, int, int], int]  # (ring of the strip, rank, position) -> how unwelcome the node is there

LARGEST_SEARCH = 4_000  # positions times nodes that may be left out; about 100 ms
DEEPEST_SEARCH = 400  # nodes of a ring; the search goes down as deep

Cost = tuple[int, int, int]  # bundles that switch, misfits, positions covered


@dataclass(frozen=True, slots=True)
class Shape:
    """Chains for a strip, unrolled, in the order of the strip, and what they cost.

    Attributes:
        switched: bundles that switch, beyond those of a strip that were all left in loopback.
    """

    chains: tuple[tuple[int, ...], ...]
    switched: int
    misfits: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cheapest way to finish from a state on: its cost, and the nodes, last first, as a linked list."""

    cost: Cost
    position: int = 0  # of the node laid here, if `rest` is given
    first: bool = False  # that node begins a ring
    rest: "_Plan | None" = None


_DONE = _Plan((0, 0, 0))


class _Search:
    """Remembered recursion over (position, rings left) and (position, nodes left, end entered)."""

    def __init__(self, strip: Strip, nodes: int, count: int, tables: Mapping[int, Table], misfit: Misfit) -> None:
        self._strip = strip
        self._nodes = nodes
        self._count = count
        self._tables = tables
        self._misfit = misfit
        self._usable_from = _usable_from(strip)
        self._between: dict[tuple[int, int], _Plan | None] = {}
        self._inside: dict[tuple[int, int, End | None], _Plan | None] = {}

    def run(self) -> _Plan | None:
        """The cheapest way to lay all rings.

        From right to left, so that each answer finds those it rests on already there and the recursion stays shallow;
        and only for as many rings as can be left there, given the nodes that lie before.
        """
        first, total = self._strip.first, self._count * self._nodes
        for position in range(self._strip.last, first, -1):
            before = self._usable_from[0] - self._usable_from[position - first]
            fewest = -(-max(total - before, 0) // self._nodes)
            for rings in range(max(fewest, 1), self._count + 1):
                if rings * self._nodes > self._usable_from[position - first]:
                    break
                self.between(position, rings)
        return self.between(first, self._count)

    def between(self, p: int, rings: int) -> _Plan | None:
        """The cheapest way to lay `rings` rings from position p on."""
        if rings == 0:
            return _DONE
        if rings * self._nodes > self._usable_from[p - self._strip.first]:
            return None
        key = (p, rings)
        if key not in self._between:
            best = self.between(p + 1, rings)
            if self._strip.is_usable(p):
                begun = self._enter(p, rings * self._nodes - 1, None)
                if begun is not None and (best is None or begun.cost <= best.cost):
                    best = _Plan(begun.cost, begun.position, first=True, rest=begun.rest)
            self._between[key] = best
        return self._between[key]

    def _enter(self, p: int, left: int, entered: End | None) -> _Plan | None:
        """The cheapest way on from the node at p, entered through `entered`, with `left` nodes still to be laid."""
        if left > self._usable_from[p + 1 - self._strip.first]:
            return None
        key = (p, left, entered)
        if key in self._inside:
            return self._inside[key]
        rings, more = divmod(left, self._nodes)
        misfit = self._misfit(self._count - 1 - rings, self._nodes - 1 - more, p)
        best: _Plan | None = None
        if more == 0:
            rest = self.between(p + 1, rings)
            if rest is not None:
                best = self._then(rest, (self._switches(p, entered, None), misfit, 0), p)
        else:
            for target, kind in self._strip.hops_from(p):
                if entered and entered[0] == kind.leave[0]:
                    continue
                rest = self._enter(target, left - 1, kind.enter)
                if rest is not None:
                    option = self._then(rest, (self._switches(p, entered, kind.leave), misfit, target - p), p)
                    if best is None or option.cost < best.cost:
                        best = option
        self._inside[key] = best
        return best

    @staticmethod
    def _then(rest: _Plan, cost: Cost, p: int) -> _Plan:
        total = (rest.cost[0] + cost[0], rest.cost[1] + cost[1], rest.cost[2] + cost[2])
        return _Plan(total, p, first=False, rest=rest)

    def _switches(self, p: int, entered: End | None, leave: End | None) -> int:
        """Bundles that switch because the node is used so, over those that would if it were left in loopback."""
        now = self._tables.get(p)
        wanted = [end for end in (entered, leave) if end is not None]
        if not now:
            return len(wanted)
        bundles = {bundle for bundle, _ in wanted}
        changed = sum(now.get(bundle) is not path for bundle, path in wanted)
        return changed + sum(bundle not in bundles for bundle in now) - len(now)


def _usable_from(strip: Strip) -> list[int]:
    """By place: usable nodes from there to the end; one entry more for the end, and one beyond."""
    counts = [0, 0]
    for position in range(strip.last, strip.first - 1, -1):
        counts.append(counts[-1] + strip.is_usable(position))
    return [*counts[:0:-1], 0]


def cheapest(
    strip: Strip, nodes: int, count: int, tables: Mapping[int, Table], misfit: Misfit | None = None
) -> Shape | None:
    """`count` chains of `nodes` nodes inside a strip that switch fewest bundles.

    Args:
        strip: where they go.
        nodes: nodes of a ring.
        count: how many.
        tables: by unrolled position, what the node's bundles select now, loopback left out.
        misfit: how unwelcome a node is as rank r of the strip's i-th ring.

    Returns:
        None when they do not fit, or when the search would be larger than a repair can wait for.
    """
    spare = strip.usable_in(strip.first, strip.last) - count * nodes
    if spare < 0 or nodes > DEEPEST_SEARCH or (spare + 1) * len(strip) > LARGEST_SEARCH:
        return None
    search = _Search(strip, nodes, count, tables, misfit or (lambda _ring, _rank, _position: 0))
    plan = search.run()
    if plan is None:
        return None
    chains: list[list[int]] = []
    cost = plan.cost
    while plan.rest is not None:
        if plan.first:
            chains.append([])
        chains[-1].append(plan.position)
        plan = plan.rest
    return Shape(tuple(tuple(chain) for chain in chains), cost[0], cost[1])


def shortest(strip: Strip, nodes: int, count: int) -> tuple[tuple[int, ...], ...]:
    """`count` chains from left to right, each the one that ends first; there must be room."""
    chains: list[tuple[int, ...]] = []
    position = strip.first
    while len(chains) < count and (end := strip.earliest_end(position, nodes)) is not None:
        chains.append(strip.chain_to(end, nodes))
        position = end + 1
    return tuple(chains)
