"""The whole decision for one job: which rings stay, which are laid anew, where, and why.

Objectives, one after the other (DESIGN section 6): most rings, up to the number wanted; other jobs' rings untouched;
fewest surviving rings of the job changed; fewest bundles switched; fewest ranks that change their rack.

**The first three are exact.** A choice of rings is a choice of disjoint zones (`zones`), each holding as many rings as
fit, which `Strip` counts exactly; what is left is which zones.

1. Gaps with room cost nothing. If they have room for every ring that is missing, no choice is better.
2. Otherwise every zone is looked for that moves at most `most` rings (`Outlook`), and the best choice among these is
   made (`choose`). If it gains every ring that is missing and moves no more than `most` rings in all, it is optimal: a
   better one would hold only zones that move fewer than `most`, and all of those were there to choose from. Otherwise
   `most` grows. So the work goes with the number of rings to the nearest spares, not with the size of the fabric.
3. When that does not gain every ring that is missing, the order is packed as a whole (`packing`), which is exact
   wherever the rings lie. How many rings fit at all is remembered until something makes more room, so a job that runs
   degraded is not packed anew at each of its faults.

Jobs are planned one after another in order of priority; each is exact given all the rest.

**The last two are exact within a window**: once the zones are chosen, `shaping` finds the chains that switch fewest
bundles in each zone, or, where a zone is an idle stretch, in the part around the ring that was there. Where several
choices move equally few rings for one missing ring, the nearest are compared (`_ALTERNATIVES`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain, LaidRing, Order
from ringlight.controller.planning.outlook import FAR, Outlook
from ringlight.controller.planning.packing import pack
from ringlight.controller.planning.reasons import Option, Teller
from ringlight.controller.planning.shaping import Shape, Table, cheapest, shortest
from ringlight.controller.planning.spreading import spread
from ringlight.controller.planning.zones import Choice, Zone, choose

_ALTERNATIVES = 2  # equally good choices that are compared by what they switch
_FIRST_LOOK = 2  # rings that may move, at first


@dataclass(frozen=True, slots=True)
class RingRequest:
    """What a job needs now. Its rings that stand are in the order; those that do not are lifted.

    Attributes:
        job: name.
        nodes: nodes a ring, m.
        rings: rings the job wants in all.
        broken: former chains of its rings that must be laid anew; only a preference for where.
        pinned: survivors never move, even if a ring is lost by that.
    """

    job: str
    nodes: int
    rings: int
    broken: tuple[Chain, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """A chain to be laid, and the reasons: why here, and what was rejected."""

    chain: Chain
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RingPlan:
    """The answer.

    Attributes:
        kept: how many survivors stay as they are.
        moved: survivors that must move.
        placed: chains laid anew, in rank order for a new job.
        reasons: why survivors move, and why rings are missing.
    """

    kept: int
    moved: tuple[LaidRing, ...] = ()
    placed: tuple[Placement, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def rings(self) -> int:
        """Rings the job has after this plan."""
        return self.kept + len(self.placed)

    @property
    def every_reason(self) -> tuple[str, ...]:
        """Those of each placement, then those of the plan."""
        return (*(reason for placement in self.placed for reason in placement.reasons), *self.reasons)


@dataclass(frozen=True, slots=True)
class _Laid:
    """A zone with its chains."""

    zone: Zone
    shape: Shape
    formers: tuple[LaidRing, ...]


class Planner:
    """Plans on an order that its owner keeps current. A plan changes nothing.

    Args:
        cabling: of the fabric.
        names: name of the node at a position, for the reasons.
        racks: by position, the rack a node stands in; empty when the fabric file names none.
    """

    def __init__(self, cabling: Cabling, names: Callable[[int], str], racks: Sequence[str] = ()) -> None:
        self.order = Order(cabling)
        self._names = names
        self._racks = racks
        self._outlook = Outlook(self.order)
        self._limits: dict[str, tuple[int, int]] = {}  # by job: growth of the order, and how many rings fit at most

    def copy(self) -> "Planner":
        """A planner of its own, for what-if questions."""
        other = Planner(self.order.cabling, self._names, self._racks)
        other.order = self.order.copy()
        other._outlook = Outlook(other.order)
        return other

    def plan(self, request: RingRequest) -> RingPlan:
        """The best rings for a job, given every ring of other jobs where it lies."""
        has = self.order.rings_of(request.job)
        missing = request.rings - has
        if missing <= 0:
            return RingPlan(kept=has)
        teller = Teller(self.order, self._names, request.nodes)
        if not has and not request.broken:
            return self._place(request, teller)
        return self._repair(request, missing, teller)

    # -- new jobs ------------------------------------------------------------------------------------------------------

    def _place(self, request: RingRequest, teller: Teller) -> RingPlan:
        """Lay the rings of a job that has none."""
        order = self.order
        if order.rings:
            zones = tuple(self._rooms(request.nodes, request.rings, (0,)))
        else:
            zones = pack(order, request.job, request.nodes, request.rings).zones
        count = sum(zone.gain for zone in zones)
        strips = [order.strip(zone.first, zone.last) for zone in sorted(zones, key=lambda zone: zone.first)]
        chains = spread(strips, request.nodes, count) if count else ()
        placed = tuple(Placement(self._wrapped(chain), ("a new ring",)) for chain in chains)
        return RingPlan(0, (), placed, teller.missing(request.rings - count))

    def _wrapped(self, chain: Sequence[int]) -> Chain:
        return tuple(self.order.wrap(position) for position in chain)

    # -- which zones ---------------------------------------------------------------------------------------------------

    def _repair(self, request: RingRequest, missing: int, teller: Teller) -> RingPlan:
        """Give a job back what it lost."""
        homes = tuple(chain[0] for chain in request.broken) or self._some_home(request.job)
        rooms = list(self._rooms(request.nodes, missing, homes))
        found = sum(zone.gain for zone in rooms)
        if found < missing and not request.pinned:
            choice = self._move(request, missing, rooms, homes)
        else:
            choice = Choice(tuple(rooms), found, 0)
        best, rejected = self._best_laid(request, missing, choice, homes)
        moved = tuple(ring for laid in best for ring in laid.formers if ring.name)
        placed = []
        for laid in best:
            options = rejected if len(best) == 1 else ()
            for chain in laid.shape.chains:
                former = [ring.chain for ring in laid.formers] or list(request.broken)
                reasons = teller.placed(_option(laid), chain, former, [_option(other) for other in options])
                placed.append(Placement(self._wrapped(chain), reasons))
        short = missing - choice.gain
        reasons = (*teller.moved(moved), *teller.missing(short, pinned=request.pinned))
        return RingPlan(self.order.rings_of(request.job) - len(moved), moved, tuple(placed), reasons)

    def _some_home(self, job: str) -> tuple[int, ...]:
        ring = next(self.order.chains_of(job), None)
        return (ring.first if ring is not None else 0,)

    def _rooms(self, nodes: int, most: int, homes: Sequence[int]) -> Iterator[Zone]:
        """Gaps with room, nearest to each home in turn, until they hold `most` rings."""
        seen: set[int] = set()
        lists = [self._outlook.rooms(nodes, home) for home in homes]
        while lists and most > 0:
            for rooms in list(lists):
                gap = next(rooms, None)
                if gap is None:
                    lists.remove(rooms)
                elif gap[0] not in seen and most > 0:
                    seen.add(gap[0])
                    gain = self.order.room(*gap, nodes, most)
                    most -= gain
                    yield Zone(gap[0], gap[1], 0, gain)

    def _move(self, request: RingRequest, missing: int, rooms: Sequence[Zone], homes: Sequence[int]) -> Choice:
        """Gaps do not suffice: the zones that gain what is missing and move fewest survivors. Exact, see above."""
        order, job = self.order, request.job
        has = order.rings_of(job)
        growth, limit = self._limits.get(job, (-1, 0))
        fits = missing if growth != order.growth_for(job) else min(missing, limit - has)
        if fits <= sum(zone.gain for zone in rooms):
            return Choice(tuple(rooms), max(fits, 0), 0)
        if fits == 1:
            zones = self._outlook.cheapest_zones(job, request.nodes)
            if zones:
                nearest = min(zones, key=lambda zone: (self._distance(zone, homes), zone.first))
                return Choice((nearest,), 1, nearest.moved)
        most = _FIRST_LOOK
        while fits > 1 and most <= FAR:
            zones = [*rooms, *self._outlook.zones(job, request.nodes, most, fits)]
            choice = choose(zones, fits, order.size if order.closed else None, partial(self._distance, homes=homes))
            if choice.gain == fits and choice.moved <= most:
                return choice
            if most >= has:
                break
            most = min(FAR, max(2 * most, choice.moved)) if most < FAR else FAR + 1
        choice = pack(order, job, request.nodes, has + missing)
        if choice.gain < missing:
            self._limits[job] = order.growth_for(job), has + choice.gain
        return choice

    def _distance(self, zone: Zone, homes: Sequence[int]) -> int:
        """Positions between a zone and the nearest home; 0 when one is inside."""
        return min(self.order.distance(zone.first, zone.last, home) for home in homes)

    # -- which chains --------------------------------------------------------------------------------------------------

    def _best_laid(
        self, request: RingRequest, missing: int, choice: Choice, homes: Sequence[int]
    ) -> tuple[list[_Laid], Sequence[_Laid]]:
        """The chosen zones with their chains, and, for a single ring, what was weighed against it."""
        if missing == 1 and choice.gain == 1 and len(choice.zones) == 1:
            options = [
                self._laid(request, zone, 1, homes) for zone in self._alternatives(request, choice.zones[0], homes)
            ]
            best, *others = sorted(options, key=lambda laid: self._badness(laid, homes))
            return [best], others
        laid: list[_Laid] = []
        left = missing
        for zone in choice.zones:
            gain = min(zone.gain, left)
            left -= gain
            laid.append(self._laid(request, zone, gain, homes))
        return laid, ()

    def _badness(self, laid: _Laid, homes: Sequence[int]) -> tuple[int, int, int, int]:
        return laid.shape.switched, laid.shape.misfits, self._distance(laid.zone, homes), laid.zone.first

    def _alternatives(self, request: RingRequest, zone: Zone, homes: Sequence[int]) -> list[Zone]:
        """Zones that gain one ring and move as few survivors as the given one, which is the first of them."""
        if zone.moved:
            equal = self._outlook.cheapest_zones(request.job, request.nodes)
            near = sorted(equal, key=lambda other: (self._distance(other, homes), other.first))
        elif self._distance(zone, homes) == 0:
            near = []  # at home fewest bundles switch: most of them select what they should already
        else:
            near = list(self._rooms(request.nodes, 2, homes))
        return list({other.first: other for other in [zone, *near[:_ALTERNATIVES]]}.values())

    def _laid(self, request: RingRequest, zone: Zone, gain: int, homes: Sequence[int]) -> _Laid:
        """A zone with its chains."""
        order = self.order
        survivors = tuple(self._rings_in(zone))
        broken = tuple(
            LaidRing("", request.job, chain, chain[0], chain[-1])
            for chain in map(order.forward, request.broken)
            if order.distance(zone.first, zone.last, chain[0]) == 0
            and order.distance(zone.first, zone.last, chain[-1]) == 0
        )
        offset = zone.first
        formers = sorted((*survivors, *broken), key=lambda ring: (ring.first - offset) % order.size)
        count = len(survivors) + gain
        tables = self._tables(zone, formers)
        misfit = self._misfit(formers, count)
        for first, last in self._windows(zone, [ring for ring in formers if not ring.name], request.nodes, homes):
            strip = order.strip(first, last)
            shape = cheapest(strip, request.nodes, count, tables, misfit)
            if shape is not None:
                return _Laid(zone, shape, tuple(formers))
        chains = shortest(order.strip(zone.first, zone.last), request.nodes, count)
        return _Laid(zone, Shape(chains, 2 * (request.nodes - 1) * count, 0), tuple(formers))

    def _rings_in(self, zone: Zone) -> Iterator[LaidRing]:
        sight = self.order.ring_from(zone.first)
        while sight is not None and sight.first <= zone.last:
            yield sight.ring
            sight = self.order.ring_from(sight.last + 1)

    def _windows(
        self, zone: Zone, broken: Sequence[LaidRing], nodes: int, homes: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Parts of a zone to lay rings into, best first: an idle stretch may be long, and home is somewhere in it."""
        order = self.order
        margin = nodes * order.cabling.longest
        if zone.moved or zone.last - zone.first < 4 * margin:
            yield zone.first, zone.last
            return
        spans = [(zone.first + (ring.first - zone.first) % order.size, ring) for ring in broken]
        if spans:
            first = min(start for start, _ in spans)
            last = max(start + (ring.chain[-1] - ring.chain[0]) % order.size for start, ring in spans)
            yield max(zone.first, first - margin), min(zone.last, last + margin)
        if order.distance(zone.first, zone.first, homes[0]) <= order.distance(zone.last, zone.last, homes[0]):
            yield zone.first, zone.first + 2 * margin
        yield zone.last - 2 * margin, zone.last

    def _tables(self, zone: Zone, formers: Sequence[LaidRing]) -> Mapping[int, Table]:
        """What the bundles of nodes in a zone select now, by unrolled position."""
        order = self.order
        return {
            zone.first + (position - zone.first) % order.size: table
            for ring in formers
            for position, table in order.tables(ring.chain).items()
        }

    def _misfit(self, formers: Sequence[LaidRing], count: int) -> Callable[[int, int, int], int] | None:
        """Ranks that would change their rack: what keeps ranks aligned with those of other rings."""
        if not self._racks or len(formers) != count:
            return None
        racks, size = self._racks, self.order.size
        wanted = [[racks[position] for position in ring.chain] for ring in formers]
        return lambda ring, rank, position: racks[position % size] != wanted[ring][rank]


def _option(laid: _Laid) -> Option:
    return Option(laid.zone, laid.shape)
