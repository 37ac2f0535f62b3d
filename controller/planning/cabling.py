"""Which hop starts where, in one byte for each position and distance.

Fabrics repeat themselves: however many fibres there are, they join only a few *kinds* of ports, such as b0.p1 to
b1.p1. So a hop is the number of its kind, and 0 is no fibre. A million nodes take two megabytes at K = 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ringlight.fabric.circuits import Path
from ringlight.fabric.wiring import Wiring

End = tuple[int, Path]  # the bundle and path by which a chain enters or leaves a node


@dataclass(frozen=True, slots=True)
class Kind:
    """Through which ends a hop leaves its lower node and enters its higher one."""

    leave: End
    enter: End


@dataclass(frozen=True)
class Cabling:
    """Every fibre of a fabric.

    Attributes:
        size: nodes, N.
        closed: the order wraps around.
        distances: of the hops, shortest first.
        kinds: by number; number 0 is no fibre.
        laid: for each distance, the kind of the hop that starts at each position.
    """

    size: int
    closed: bool
    distances: tuple[int, ...]
    kinds: tuple[Kind | None, ...]
    laid: tuple[bytes, ...]

    @classmethod
    def of_wiring(cls, wiring: Wiring) -> "Cabling":
        """The cabling that a fabric file describes."""
        distances = tuple(sorted({hop.key.distance for hop in wiring.hops}))
        numbers: dict[Kind, int] = {}
        laid = {distance: bytearray(wiring.size) for distance in distances}
        for hop in wiring.hops:
            kind = Kind((hop.low.bundle, hop.low.path), (hop.high.bundle, hop.high.path))
            laid[hop.key.distance][hop.key.position] = numbers.setdefault(kind, len(numbers) + 1)
        kinds = (None, *numbers)
        return cls(wiring.size, wiring.spec.closed, distances, kinds, tuple(bytes(row) for row in laid.values()))

    @classmethod
    def of_port_map(cls, offsets: Mapping[End, int], nodes: int, *, closed: bool) -> "Cabling":
        """The cabling of a port map (bundle and path to a signed offset), without a record for each fibre."""
        end_at = {offset: end for end, offset in offsets.items()}
        distances = tuple(sorted(offset for offset in end_at if 0 < offset < nodes))
        kinds = (None, *(Kind(end_at[distance], end_at[-distance]) for distance in distances))
        laid = []
        for number, distance in enumerate(distances, start=1):
            beyond = 0 if closed else distance  # ports that would lead past the end stay empty
            laid.append(bytes([number]) * (nodes - beyond) + bytes(beyond))
        return cls(nodes, closed, distances, kinds, tuple(laid))

    @property
    def longest(self) -> int:
        """The longest distance; 1 where there is no fibre at all."""
        return max(self.distances, default=1)

    @cached_property
    def ports_agree(self) -> bool:
        """Whether no chain ever needs one bundle of a node twice: bundles are entered or left through, never both."""
        return self._never_both(self.laid)

    @cached_property
    def next_to_next(self) -> bool:
        """Whether a run of nodes, each joined to the next by a fibre, is always a chain."""
        return self.distances[:1] == (1,) and self._never_both(self.laid[:1])

    def _never_both(self, rows: Sequence[bytes]) -> bool:
        used = {number for row in rows for number in set(row)}
        kinds = [kind for number, kind in enumerate(self.kinds) if kind is not None and number in used]
        return not {kind.enter[0] for kind in kinds} & {kind.leave[0] for kind in kinds}
