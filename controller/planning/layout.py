"""From chosen zones to chains: what each zone is filled with, and what could be had instead.

Where a zone is an idle stretch, rings are laid in the part of it around the ring that was there, or else at the end
that is nearer to home, so that the rest stays in one piece.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringlight.controller.planning.order import LaidRing, Order
from ringlight.controller.planning.shaping import Shape, Table, cheapest, shortest
from ringlight.controller.planning.zones import Zone


@dataclass(frozen=True, slots=True)
class Filled:
    """A zone with its chains.

    Attributes:
        formers: the rings that lay there, forward along the zone; broken ones have no name.
    """

    zone: Zone
    shape: Shape
    formers: tuple[LaidRing, ...]

    @property
    def moved(self) -> tuple[LaidRing, ...]:
        """The survivors among the former rings."""
        return tuple(ring for ring in self.formers if ring.name)


class Layout:
    """Fills zones for one request.

    Args:
        order: with every ring that stands.
        racks: by position, the rack of a node; empty when racks are not known.
        nodes: nodes of a ring.
        broken: the rings that were lost, without names.
        homes: where those began, or where the job is.
    """

    def __init__(
        self, order: Order, racks: Sequence[str], nodes: int, *, broken: Sequence[LaidRing], homes: Sequence[int]
    ) -> None:
        self._order = order
        self._racks = racks
        self._nodes = nodes
        self._broken = broken
        self._homes = homes

    def distance(self, zone: Zone) -> int:
        """Positions between a zone and the nearest home; 0 when one is inside."""
        return min(self._order.distance(zone.first, zone.last, home) for home in self._homes)

    def badness(self, filled: Filled) -> tuple[int, int, int, int]:
        """What is compared among zones that gain and move as many: less is better."""
        shape = filled.shape
        return shape.switched, shape.misfits, self.distance(filled.zone), filled.zone.first

    def fill(self, zone: Zone, gain: int) -> Filled:
        """The best chains for a zone: as many as were there, and `gain` more."""
        formers = self._formers(zone)
        broken = [ring for ring in formers if not ring.name]
        count = len(formers) - len(broken) + gain
        search = self._search(zone, formers, count)
        for first, last in self._windows(zone, broken):
            shape = search(first, last)
            if shape is not None:
                return Filled(zone, shape, formers)
        chains = shortest(self._order.strip(zone.first, zone.last), self._nodes, count)
        return Filled(zone, Shape(chains, 2 * (self._nodes - 1) * count, 0), formers)

    def sides(self, zone: Zone) -> Iterator[Filled]:
        """In a gap with one lost ring: what could be had with spares of one side alone."""
        formers = self._formers(zone)
        if len(formers) == 1 and not formers[0].name:
            start, end = self._span(zone, formers[0])
            margin = self._nodes * self._order.cabling.longest
            search = self._search(zone, formers, 1)
            for first, last in ((max(zone.first, start - margin), end), (start, min(zone.last, end + margin))):
                shape = search(first, last)
                if shape is not None:
                    yield Filled(zone, shape, formers)

    def _search(self, zone: Zone, formers: Sequence[LaidRing], count: int) -> Callable[[int, int], Shape | None]:
        """What finds the best `count` chains in a part of a zone, given by its first and last position."""
        tables, misfit = self._tables(zone, formers), self._misfit(formers, count)
        return lambda first, last: cheapest(self._order.strip(first, last), self._nodes, count, tables, misfit)

    def _formers(self, zone: Zone) -> tuple[LaidRing, ...]:
        """The rings that lay in a zone, in its order: survivors, and those that were lost."""
        order = self._order
        inside = list(order.rings_in(zone.first, zone.last)) if zone.moved else []
        for ring in self._broken:
            if not any(order.distance(zone.first, zone.last, end) for end in (ring.first, ring.last)):
                inside.append(ring)
        return tuple(sorted(inside, key=lambda ring: self._span(zone, ring)))

    def _span(self, zone: Zone, ring: LaidRing) -> tuple[int, int]:
        """Where a ring lay, in the unrolled positions of its zone."""
        first = zone.first + (ring.first - zone.first) % self._order.size
        return first, first + ring.last - ring.first

    def _windows(self, zone: Zone, broken: Sequence[LaidRing]) -> Iterator[tuple[int, int]]:
        """Parts of a zone to lay rings into, best first."""
        order = self._order
        margin = self._nodes * order.cabling.longest
        if zone.moved or zone.last - zone.first < 4 * margin:
            yield zone.first, zone.last
            return
        if broken:
            spans = [self._span(zone, ring) for ring in broken]
            first, last = min(first for first, _ in spans), max(last for _, last in spans)
            yield max(zone.first, first - margin), min(zone.last, last + margin)
        home = self._homes[0]
        if order.distance(zone.first, zone.first, home) <= order.distance(zone.last, zone.last, home):
            yield zone.first, zone.first + 2 * margin
        yield zone.last - 2 * margin, zone.last

    def _tables(self, zone: Zone, formers: Sequence[LaidRing]) -> Mapping[int, Table]:
        """What the bundles of nodes in a zone select now, by unrolled position."""
        order = self._order
        return {
            zone.first + (position - zone.first) % order.size: table
            for ring in formers
            for position, table in order.tables(ring.chain).items()
        }

    def _misfit(self, formers: Sequence[LaidRing], count: int) -> Callable[[int, int, int], int] | None:
        """Ranks that would change their rack: what keeps ranks aligned with those of other rings."""
        if not self._racks or len(formers) != count:
            return None
        racks, size = self._racks, self._order.size
        wanted = [[racks[position] for position in ring.chain] for ring in formers]
        return lambda ring, rank, position: racks[position % size] != wanted[ring][rank]
