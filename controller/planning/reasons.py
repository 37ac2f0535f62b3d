"""A plan's reasons in words, for a person at three in the morning: why this spare, and what was rejected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringlight.controller.planning.order import Chain, LaidRing, Order
from ringlight.controller.planning.shaping import Shape
from ringlight.controller.planning.zones import Zone

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Option:
    """A zone and what would be laid into it."""

    zone: Zone
    shape: Shape


class Teller:
    """Puts the decisions about one job into words."""

    def __init__(self, order: Order, names: Callable[[int], str], nodes: int) -> None:
        self._order = order
        self._names = names
        self._nodes = nodes

    def placed(
        self, option: Option, chain: Chain, formers: Sequence[Chain], rejected: Sequence[Option]
    ) -> tuple[str, ...]:
        """Why a ring is laid where it is, given the chains that were there, and what was rejected."""
        known = {self._order.wrap(position) for former in formers for position in former}
        taken = [position for position in map(self._order.wrap, chain) if position not in known]
        if not taken:
            reason = "needs no spare"
        elif len(taken) == len(chain):
            reason = f"moves to the idle stretch {self._names(taken[0])}..{self._names(taken[-1])}"
        else:
            reason = f"takes {self._list(taken)}"
        return (f"{reason}: {self._price(option)}", *(self._rejected(option, other) for other in rejected))

    def _price(self, option: Option) -> str:
        moved = option.zone.moved
        rings = "no other ring moves" if not moved else f"{moved} more {'ring moves' if moved == 1 else 'rings move'}"
        return f"{rings}, and no choice moves fewer" if moved else rings

    def _rejected(self, option: Option, other: Option) -> str:
        where = self._span(other.zone.first, other.zone.last)
        more = other.shape.switched - option.shape.switched
        ranks = other.shape.misfits - option.shape.misfits
        if more:
            why = f"{more} more {'bundle' if more == 1 else 'bundles'} would switch"
        elif ranks:
            why = f"{ranks} more {'rank' if ranks == 1 else 'ranks'} would change rack"
        else:
            why = "as good, but farther"
        return f"rejected {where}: {why}"

    def moved(self, rings: Sequence[LaidRing]) -> tuple[str, ...]:
        """Why survivors move."""
        return tuple(
            f"{ring.name} at {self._span(ring.chain[0], ring.chain[-1])} moves: otherwise a ring would be lost"
            for ring in rings
        )

    def missing(self, rings: int, *, pinned: bool = False) -> tuple[str, ...]:
        """Why rings are missing."""
        if rings <= 0:
            return ()
        idle = self._order.idle.count(0, self._order.size - 1)
        reason = (
            f"no room for {rings} more {'ring' if rings == 1 else 'rings'} of {self._nodes} nodes: "
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
