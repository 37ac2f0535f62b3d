"""A plan's reasons in words, for a person at three in the morning: why this spare, and what was rejected."""

from collections.abc import Callable, Sequence

from ringlight.controller.planning.cross_tor import cross_tor_rate
from ringlight.controller.planning.layout import Filled
from ringlight.controller.planning.order import Chain, LaidRing, Order
from ringlight.controller.planning.racks import RackLayout

_MOST_NAMED = 4


class Teller:
    """Puts decisions into words."""

    def __init__(self, order: Order, names: Callable[[int], str]) -> None:
        self._order = order
        self._names = names

    def placed(
        self, filled: Filled, chain: Chain, broken: Sequence[LaidRing], rejected: Sequence[Filled]
    ) -> tuple[str, ...]:
        """Why a chain is laid where it is, and what was rejected; `broken` are the rings that were lost."""
        before = {position for ring in filled.formers for position in ring.chain}
        before = before or {position for ring in broken for position in ring.chain}
        return (
            f"{self._takes(chain, before)}: {_price(filled)}",
            *(self._rejected(filled, other, before) for other in rejected),
        )

    def _takes(self, chain: Chain, before: set[int]) -> str:
        new = [position for position in map(self._order.wrap, chain) if position not in before]
        if not new:
            return "needs no spare"
        if len(new) == len(chain):
            return f"moves to the idle stretch {self._span(chain[0], chain[-1])}"
        return f"takes {self._list(new)}"

    def _rejected(self, filled: Filled, other: Filled, before: set[int]) -> str:
        taken = {self._order.wrap(position) for chain in other.shape.chains for position in chain}
        new = sorted(taken - before - {position for ring in other.formers for position in ring.chain})
        more = other.shape.switched - filled.shape.switched
        ranks = other.shape.misfits - filled.shape.misfits
        if more:
            why = f"{more} more {'bundle' if more == 1 else 'bundles'} would switch"
        elif ranks:
            why = f"{ranks} more {'rank' if ranks == 1 else 'ranks'} would change rack"
        else:
            why = "as good"
        return f"rejected {self._list(new) or self._span(other.zone.first, other.zone.last)}: {why}"

    def aligned(self, chains: Sequence[Chain], layout: RackLayout | None) -> tuple[str, ...]:
        """Why the chains of a new job lie where they do, when racks decided it."""
        if layout is None:
            return ("a new ring",)
        rate = cross_tor_rate(chains, layout.rows, layout.nodes_a_rack)
        return (f"a new ring, in step with racks: {rate:.1%} of the job's neighbour ranks are under different ToRs",)

    def moved(self, rings: Sequence[LaidRing]) -> tuple[str, ...]:
        """Why survivors move."""
        return tuple(
            f"{ring.name} at {self._span(ring.chain[0], ring.chain[-1])} moves: otherwise a ring would be lost"
            for ring in rings
        )

    def missing(self, rings: int, nodes: int, *, laid: int, pinned: bool = False) -> tuple[str, ...]:
        """Why so many rings of `nodes` nodes are missing, when the plan lays `laid` more than it moves."""
        if rings <= 0:
            return ()
        idle = self._order.idle.count(0, self._order.size - 1) - laid * nodes
        reason = (
            f"no room for {rings} more {'ring' if rings == 1 else 'rings'} of {nodes} nodes: "
            f"{idle} idle in all, too few within reach of each other"
        )
        return (reason + (", and rings of a pinned job do not move" if pinned else ""),)

    def _span(self, first: int, last: int) -> str:
        wrap = self._order.wrap
        return f"{self._names(wrap(first))}..{self._names(wrap(last))}"

    def _list(self, positions: Sequence[int]) -> str:
        names = [self._names(position) for position in positions[:_MOST_NAMED]]
        more = len(positions) - len(names)
        return ", ".join(names) + (f" and {more} more" if more else "")


def _price(filled: Filled) -> str:
    moved = len(filled.moved)
    if not moved:
        return "no other ring moves"
    return f"{moved} more {'ring moves' if moved == 1 else 'rings move'}, and no choice moves fewer"
