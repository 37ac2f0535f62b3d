"""Which chains, once it is known how many rings go into a free stretch.

- `cheapest` is for repairs: of all ways to lay `count` rings into a window, the one that switches fewest bundles, then
  the one that covers fewest positions. Exact within the window. Its work grows with window times rings, so above a
  bound it declines, and the repair of a mass failure takes the shortest chains instead.
- `spread` is for new jobs: rings from left to right with up to one spare node a ring left between them instead of
  heaped at the end, so that a later fault finds one nearby. Never at the cost of a ring; and what is left beyond that
  stays in one piece, so that the next job finds room.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.controller.planning.packing import rooms_from
from ringlight.controller.planning.reach import Reach
from ringlight.controller.planning.terrain import Chain, End, Stretch, Terrain
from ringlight.fabric.circuits import Path

_LARGEST_SEARCH = 2_000  # window positions times rings; about 50 ms with eight nodes a ring

_Cost = tuple[int, int]  # (bundles that switch, positions covered)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cheapest way to finish from a state on: its cost, and the chains, last first, as a linked list."""

    cost: _Cost
    position: int | None = None  # unrolled position of the node laid here, if one is
    first: bool = False  # that node begins a ring
    rest: "_Plan | None" = None

    def then(self, cost: _Cost, position: int, *, first: bool = False) -> "_Plan":
        """This way, with one more node before it."""
        return _Plan((self.cost[0] + cost[0], self.cost[1] + cost[1]), position, first, self)


class _Cheapest:
    """Remembered recursion over (position, rings left, nodes left in this ring, end entered)."""

    def __init__(self, terrain: Terrain, nodes: int, window: Stretch) -> None:
        self._terrain = terrain
        self._nodes = nodes
        self._window = window
        self._between: dict[tuple[int, int], _Plan | None] = {}
        self._inside: dict[tuple[int, int, int, End | None], _Plan | None] = {}

    def between(self, p: int, rings: int) -> _Plan | None:
        """The cheapest way to lay `rings` rings from position p on."""
        if rings == 0:
            return _Plan((0, 0))
        if p > self._window.last:
            return None
        key = (p, rings)
        if key not in self._between:
            options = [self.between(p + 1, rings)]
            if self._terrain.usable(self._terrain.wrap(p)):
                begun = self._enter(p, rings - 1, self._nodes - 1, None)
                options.append(_Plan(begun.cost, begun.position, first=True, rest=begun.rest) if begun else None)
            self._between[key] = _cheaper(options)
        return self._between[key]

    def _enter(self, p: int, rings: int, left: int, entered: End | None) -> _Plan | None:
        """The cheapest way on from the node at p, entered through `entered`, with `left` nodes still to follow."""
        key = (p, rings, left, entered)
        if key in self._inside:
            return self._inside[key]
        node = self._terrain.wrap(p)
        options: list[_Plan | None] = []
        if left == 0:
            rest = self.between(p + 1, rings)
            options.append(rest.then((self._switches(node, entered, None), 0), p) if rest else None)
        else:
            for step in self._terrain.steps(node):
                if p + step.distance > self._window.last or (entered and entered[0] == step.leave[0]):
                    continue
                rest = self._enter(p + step.distance, rings, left - 1, step.enter)
                cost = (self._switches(node, entered, step.leave), step.distance)
                options.append(rest.then(cost, p) if rest else None)
        self._inside[key] = _cheaper(options)
        return self._inside[key]

    def _switches(self, node: int, entered: End | None, leave: End | None) -> int:
        """Bundles that switch because the node is used so, over those that would switch if it were left in loopback."""
        now = self._terrain.tables[node]
        table = [Path.LOOPBACK] * len(now)
        for end in (entered, leave):
            if end is not None:
                table[end[0]] = end[1]
        return _differences(now, table) - _differences(now, self._terrain.wiring.loopback)


def _differences(one: Sequence[Path], other: Sequence[Path]) -> int:
    return sum(a is not b for a, b in zip(one, other, strict=True))


def _cheaper(options: Sequence[_Plan | None]) -> _Plan | None:
    found = [option for option in options if option is not None]
    return min(found, key=lambda plan: plan.cost) if found else None


def cheapest(terrain: Terrain, nodes: int, window: Stretch, count: int) -> tuple[Chain, ...] | None:
    """`count` chains of `nodes` nodes inside a window that switch fewest bundles.

    None when they do not fit, or when the search would be larger than a repair can wait for.
    """
    if (window.last - window.first + 1) * count > _LARGEST_SEARCH:
        return None
    search = _Cheapest(terrain, nodes, window)
    # From right to left, so that each answer finds those it rests on already there and the recursion stays shallow.
    for position in range(window.last, window.first, -1):
        for rings in range(1, count + 1):
            search.between(position, rings)
    plan = search.between(window.first, count)
    if plan is None:
        return None
    chains: list[list[int]] = []
    while plan is not None and plan.position is not None:
        if plan.first:
            chains.append([])
        chains[-1].append(terrain.wrap(plan.position))
        plan = plan.rest
    return tuple(tuple(chain) for chain in chains)


def spread(terrain: Terrain, reach: Reach, nodes: int, stretches: Sequence[Stretch], count: int) -> tuple[Chain, ...]:
    """`count` shortest chains over free stretches that have room for them, with spares left evenly between."""
    usable = sum(terrain.usable(terrain.wrap(p)) for s in stretches for p in range(s.first, s.last + 1))
    spares = min(usable - count * nodes, count)
    chains: list[Chain] = []
    passed = 0  # usable nodes left out so far
    rooms = [rooms_from(terrain, reach, stretch) for stretch in stretches]
    for index, stretch in enumerate(stretches):
        here = rooms[index]
        room_later = sum(later[0] for later in rooms[index + 1 :])
        position = stretch.first
        while position <= stretch.last and len(chains) < count:
            node = terrain.wrap(position)
            length = reach.length(node)
            if length is not None and position + length <= stretch.last:
                due = spares * (2 * len(chains) + 1) // (2 * count)
                missing = count - len(chains) - room_later
                can_wait = passed < due and here[position + 1 - stretch.first] >= missing
                is_best = here[position + length + 1 - stretch.first] + 1 >= missing
                if is_best and not can_wait:
                    chains.append(reach.chain(node))
                    passed += (
                        sum(terrain.usable(terrain.wrap(p)) for p in range(position, position + length + 1)) - nodes
                    )
                    position += length + 1
                    continue
            passed += terrain.usable(node)
            position += 1
    return tuple(chains)
