"""Where the nodes of a fabric stand: the rack (top-of-rack switch, ToR) of every position, and what follows from it.

A fabric for which racks are named is deployed *interleaved*: node j of every rack, taken in rack order, forms
sub-line j, and the fabric order is one sub-line after another. Neighbours in the order then stand under different
ToRs, and the same offset in different sub-lines stands under the same one.

This module reads that structure back from the names. It asks nothing of them: whether an order is interleaved is a
finding (`RackLayout.interleaved`), and whoever needs it so must look.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Lane:
    """Neighbouring positions of one sub-line, `first` .. `last` inclusive, in which rows only grow."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RackLayout:
    """Rows, sub-lines and aggregation domains by position.

    Attributes:
        rows: index of the position's rack, in order of first appearance.
        sublines: how many nodes of that rack come before it in the order.
        domains: index of its aggregation domain, in order of first appearance; 0 everywhere when none are named.
        nodes_a_rack: p, the nodes of the largest rack.
    """

    rows: tuple[int, ...]
    sublines: tuple[int, ...]
    domains: tuple[int, ...]
    nodes_a_rack: int

    @classmethod
    def of(cls, racks: Sequence[str], domains: Sequence[str] = ()) -> "RackLayout | None":
        """Read the layout from the rack names (and domain names) in fabric order.

        A position without a rack name is taken for a rack of its own, so it is aligned with nothing. None when no
        position has one: such a fabric has no layout.
        """
        if not any(racks):
            return None
        if domains and len(domains) != len(racks):
            raise ValueError(f"{len(racks)} rack names, but {len(domains)} domain names")
        seen: Counter[str | int] = Counter()
        rows: dict[str | int, int] = {}
        sublines = []
        for position, rack in enumerate(racks):
            name = rack or position
            rows.setdefault(name, len(rows))
            sublines.append(seen[name])
            seen[name] += 1
        numbers: dict[str, int] = {}
        return cls(
            rows=tuple(rows[rack or position] for position, rack in enumerate(racks)),
            sublines=tuple(sublines),
            domains=tuple(numbers.setdefault(domain, len(numbers)) for domain in domains) or (0,) * len(racks),
            nodes_a_rack=max(seen.values()),
        )

    @property
    def size(self) -> int:
        """Positions in the order."""
        return len(self.rows)

    @property
    def interleaved(self) -> bool:
        """Whether every two neighbours of the order stand under different ToRs, and some rack has more nodes than one.

        The two ends of the order, which a closed order joins, are not looked at.
        """
        return self.nodes_a_rack > 1 and all(here != there for here, there in pairwise(self.rows))

    def bands(self) -> tuple[tuple[Lane, ...], ...]:
        """The lanes of the order, those that share racks together, in order of their first position.

        A lane ends where the sub-line or the aggregation domain changes.
        """
        bands: dict[int, list[Lane]] = {}
        band_of_row: dict[int, int] = {}
        for number, lane in enumerate(self._lanes()):
            rows = self.rows[lane.first : lane.last + 1]
            touched = sorted({band_of_row[row] for row in rows if row in band_of_row})
            home = touched[0] if touched else number
            for other in touched[1:]:
                bands[home] += bands.pop(other)
                band_of_row = {row: home if band == other else band for row, band in band_of_row.items()}
            bands.setdefault(home, []).append(lane)
            band_of_row.update(dict.fromkeys(rows, home))
        return tuple(tuple(sorted(lanes, key=lambda lane: lane.first)) for _, lanes in sorted(bands.items()))

    def _lanes(self) -> Iterator[Lane]:
        first = 0
        for position in range(1, len(self.rows) + 1):
            if (
                position == len(self.rows)
                or self.sublines[position] != self.sublines[first]
                or self.domains[position] != self.domains[first]
                or self.rows[position] <= self.rows[position - 1]
            ):
                yield Lane(first, position - 1)
                first = position
