"""Placement of a new job so that its data-parallel traffic stays in the racks.

The size of the job comes first: whenever the number of rings asked for fits at all, just so many are returned
(`filling` is exact). Then the cross-ToR rate is made small: `weaving` lays aligned sets at a price for unused nodes,
`filling` brings the rings to the number wanted, `grouping` puts them in order, and a search over the price finds the
cheapest result. The rate found is not proven the least; docs/racks.md has measurements.

Aligned sets stay inside one sub-line of one aggregation domain. A ring crosses from one to the next only where the
number of rings asks for it.
"""

from dataclasses import dataclass
from math import sqrt

from ringlight.controller.planning.filling import fill
from ringlight.controller.planning.grouping import arranged, crossing_pairs, trimmed
from ringlight.controller.planning.lanes import Ways
from ringlight.controller.planning.order import Chain, Order
from ringlight.controller.planning.racks import RackLayout
from ringlight.controller.planning.spacing import spaced
from ringlight.controller.planning.weaving import AlignedSet, Weaver

# What a healthy node left unused may cost, in mismatches. At the lowest price nearly every set is in step.
_PRICES = (0.005, 0.05, 0.3, 0.8, 2.0, 5.0)
_REFINEMENTS = 3  # halvings of the step between prices, around the best; the last is about 10 %
_LARGEST = 10_000  # positions; placement takes about half a millisecond for each, and nobody waits longer than that


def place_aligned(order: Order, layout: RackLayout, *, nodes: int, rings: int) -> tuple[Chain, ...] | None:
    """Chains of `rings` rings of `nodes` nodes in data-parallel order, of small cross-ToR rate.

    Returns:
        Fewer rings only if no more fit. None where others had better place the job: the order is not interleaved,
        so there is nothing to align, or it is so long that the search would take minutes.
    """
    if layout.size != order.size:
        raise ValueError(f"the layout has {layout.size} positions, the order {order.size}")
    if not layout.interleaved or order.size > _LARGEST:
        return None
    return _Search(order, layout, nodes, rings).best() if rings else ()


@dataclass(frozen=True, slots=True)
class _Placement:
    """Aligned sets that hold just the rings wanted, or as many as fit, and what they cost in mismatches."""

    sets: tuple[AlignedSet, ...]
    cost: int
    undisturbed: bool  # the rings fit without taking a woven one away


class _Search:
    """The search for the price, on one terrain."""

    def __init__(self, order: Order, layout: RackLayout, nodes: int, rings: int) -> None:
        self._layout = layout
        self._rings = rings
        self._bands = [Weaver(Ways(order, layout.rows, lanes, nodes)) for lanes in layout.bands()]
        self._order = order
        self._nodes = nodes

    def best(self) -> tuple[Chain, ...]:
        """The cheapest placement found, in data-parallel order, its spares spread."""
        tried: dict[float, _Placement] = {}
        for price in _PRICES:
            tried[price] = self._at(price)
            least = min(found.cost for found in tried.values())
            if tried[price].undisturbed and (least == 0 or tried[price].cost > least):
                break  # a higher price would only lay more rings than wanted, and dearer
        step = _PRICES[-1] / _PRICES[-2]
        for _ in range(_REFINEMENTS if least else 0):
            step = sqrt(step)
            best = min(tried, key=lambda price: tried[price].cost)
            for price in (best / step, best * step):
                tried[price] = self._at(price)
        placement = min(tried.values(), key=lambda found: found.cost)
        return arranged(spaced([band.ways for band in self._bands], placement.sets), self._layout.nodes_a_rack)

    def _at(self, price: float) -> _Placement:
        woven = [each for band in self._bands for each in band.weave(price)]
        filled = fill(self._order, self._nodes, [chain for each in woven for chain in each], self._rings)
        stays = frozenset(filled.kept)
        sets = [kept for each in woven if (kept := tuple(chain for chain in each if chain in stays))]
        sets += [(chain,) for chain in filled.added]
        fitted = trimmed(self._layout.rows, sets, self._rings, self._layout.nodes_a_rack)
        chains = arranged(fitted, self._layout.nodes_a_rack)
        return _Placement(
            sets=tuple(fitted),
            cost=crossing_pairs(self._layout.rows, chains, self._layout.nodes_a_rack),
            undisturbed=len(filled.kept) == sum(map(len, woven)) > self._rings - self._layout.nodes_a_rack,
        )
