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

**The last two are exact within a window**: once the zones are chosen, `layout` finds the chains that switch fewest
bundles in each zone, or, where a zone is an idle stretch, in the part around the ring that was there. Where several
choices move equally few rings for one missing ring, the nearest are compared (`_ALTERNATIVES`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from ringlight.controller.planning.alignment import place_aligned
from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.layout import Filled, Layout
from ringlight.controller.planning.order import Chain, LaidRing, Order
from ringlight.controller.planning.outlook import FAR, Outlook
from ringlight.controller.planning.packing import pack
from ringlight.controller.planning.proposal import is_sound
from ringlight.controller.planning.racks import RackLayout
from ringlight.controller.planning.reasons import Teller
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
        proposal: chains for a job that has no ring, from `Planner.align` on a copy; laid if they are sound still.
    """

    job: str
    nodes: int
    rings: int
    broken: tuple[Chain, ...] = ()
    pinned: bool = False
    proposal: tuple[Chain, ...] = ()


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
        looked: about how many positions had to be looked at: what the plan cost.
    """

    kept: int
    moved: tuple[LaidRing, ...] = ()
    placed: tuple[Placement, ...] = ()
    reasons: tuple[str, ...] = ()
    looked: int = 0

    @property
    def rings(self) -> int:
        """Rings the job has after this plan."""
        return self.kept + len(self.placed)

    @property
    def every_reason(self) -> tuple[str, ...]:
        """Those of each placement, then those of the plan."""
        return (*(reason for placement in self.placed for reason in placement.reasons), *self.reasons)


class Planner:
    """Plans on an order that its owner keeps current. A plan changes nothing.

    Args:
        cabling: of the fabric.
        names: name of the node at a position, for the reasons.
        racks: by position, the rack a node stands in; empty when the fabric file names none.
        domains: by position, the aggregation domain of its rack; empty likewise.
        order: to plan on; a new one, with every node usable and every hop live, when it is not given.
    """

    def __init__(
        self,
        cabling: Cabling,
        names: Callable[[int], str],
        racks: Sequence[str] = (),
        domains: Sequence[str] = (),
        order: Order | None = None,
    ) -> None:
        self.order = Order(cabling) if order is None else order
        self._names = names
        self._racks = racks if any(racks) else ()
        self._domains = domains if any(domains) else ()
        self._outlook = Outlook(self.order)
        self._teller = Teller(self.order, names)
        self._limits: dict[str, tuple[int, int]] = {}  # by job: growth of the order, and how many rings fit at most

    def copy(self) -> "Planner":
        """A planner of its own, for what-if questions and for work beside this one."""
        other = Planner(self.order.cabling, self._names, self._racks, self._domains, self.order.copy())
        other._layout = self._layout  # read from the names once
        return other

    @cached_property
    def _layout(self) -> RackLayout | None:
        return RackLayout.of(self._racks, self._domains)

    def plan(self, request: RingRequest) -> RingPlan:
        """The best rings for a job, given every ring of other jobs where it lies."""
        has = self.order.rings_of(request.job)
        missing = request.rings - has
        if missing <= 0:
            return RingPlan(kept=has)
        if not has:
            self._limits.pop(request.job, None)  # it is new, or has been away
            if not request.broken:
                return self._place(request)
        return self._repair(request, missing)

    # -- new jobs ------------------------------------------------------------------------------------------------------

    def align(self, nodes: int, rings: int) -> tuple[Chain, ...]:
        """Chains for a new job whose data-parallel traffic stays in the racks, in data-parallel order.

        Takes about half a millisecond a node. Empty where nothing can be aligned: see `place_aligned`.
        """
        if self._layout is None:
            return ()
        return place_aligned(self.order, self._layout, nodes=nodes, rings=rings) or ()

    def _place(self, request: RingRequest) -> RingPlan:
        """Lay the rings of a job that has none: as proposed, if that is sound and no more fit, or else spread."""
        order = self.order
        if order.rings:
            gaps = sorted(self._outlook.rooms(request.nodes, 0))
            zones = tuple(self._with_room(gaps, request.nodes, request.rings))
        else:
            zones = pack(order, request.job, request.nodes, request.rings).zones
        count = sum(zone.gain for zone in zones)
        reasons = self._teller.missing(request.rings - count, request.nodes, laid=count)
        if request.proposal and len(request.proposal) == count and is_sound(order, request.proposal, request.nodes):
            in_step = self._teller.aligned(request.proposal, self._layout)
            placed = tuple(Placement(chain, in_step) for chain in request.proposal)
            return RingPlan(0, (), placed, reasons, order.size)
        strips = [order.strip(zone.first, zone.last) for zone in sorted(zones, key=lambda zone: zone.first)]
        chains = spread(strips, request.nodes, count) if count else ()
        placed = tuple(Placement(self._wrapped(chain), ("a new ring",)) for chain in chains)
        return RingPlan(0, (), placed, reasons, order.size)

    def _wrapped(self, chain: Sequence[int]) -> Chain:
        return tuple(self.order.wrap(position) for position in chain)

    # -- which zones ---------------------------------------------------------------------------------------------------

    def _repair(self, request: RingRequest, missing: int) -> RingPlan:
        """Give a job back what it lost."""
        order = self.order
        broken = tuple(map(order.as_ring, request.broken))
        homes = tuple(ring.first for ring in broken) or (next(order.chains_of(request.job)).first,)
        layout = Layout(order, self._racks, request.nodes, broken=broken, homes=homes)
        choice = self._choose(request, missing, homes, layout)
        best, rejected = self._fill(request, missing, choice, layout)
        moved = tuple(ring for filled in best for ring in filled.moved)
        placed = tuple(
            Placement(self._wrapped(chain), self._teller.placed(filled, chain, broken, rejected))
            for filled in best
            for chain in filled.shape.chains
        )
        gained = len(placed) - len(moved)
        looked = order.size if choice.everywhere else (len(placed) + 1) * request.nodes
        short = self._teller.missing(missing - gained, request.nodes, laid=gained, pinned=request.pinned)
        reasons = (*self._teller.moved(moved), *short)
        return RingPlan(order.rings_of(request.job) - len(moved), moved, placed, reasons, looked)

    def _rooms(self, nodes: int, most: int, homes: Sequence[int]) -> Iterator[Zone]:
        """Gaps with room, nearest to each home in turn, until they hold `most` rings."""
        homes = homes if self.order.rings else homes[:1]  # without a ring all is one gap, seen from somewhere
        turns = zip_longest(*(self._outlook.rooms(nodes, home) for home in homes))
        gaps = (gap for turn in turns for gap in turn if gap is not None)
        return self._with_room(gaps, nodes, most)

    def _with_room(self, gaps: Iterable[tuple[int, int]], nodes: int, most: int) -> Iterator[Zone]:
        """The gaps, each once, as zones, until they hold `most` rings."""
        seen: set[int] = set()
        for first, last in gaps:
            if first not in seen:
                seen.add(first)
                gain = self.order.room(first, last, nodes, most)
                most -= gain
                yield Zone(first, last, 0, gain)
            if most == 0:
                return

    def _choose(self, request: RingRequest, missing: int, homes: Sequence[int], layout: Layout) -> Choice:
        """Which zones. Exact; the steps are those of the module text."""
        rooms = tuple(self._rooms(request.nodes, missing, homes))
        found = sum(zone.gain for zone in rooms)
        fits = min(missing, self._most_that_fit(request.job) - self.order.rings_of(request.job))
        if found >= fits or request.pinned:
            return Choice(rooms, found, 0)
        choice = self._move_few(request, fits, rooms, layout)
        if choice is None:
            choice = pack(self.order, request.job, request.nodes, self.order.rings_of(request.job) + missing)
            if choice.gain < missing:
                most = self.order.rings_of(request.job) + choice.gain
                self._limits[request.job] = self.order.growth_for(request.job), most
        return choice

    def _most_that_fit(self, job: str) -> int:
        """How many rings of a job fit at all, as far as that is known; N when it is not."""
        growth, limit = self._limits.get(job, (-1, 0))
        return limit if growth == self.order.growth_for(job) else self.order.size

    def _move_few(self, request: RingRequest, fits: int, rooms: Sequence[Zone], layout: Layout) -> Choice | None:
        """The zones that gain `fits` rings and move fewest survivors, if few enough move for the outlook to tell."""
        if fits == 1:
            zones = self._outlook.cheapest_zones(request.job, request.nodes)
            nearest = min(zones, key=lambda zone: (layout.distance(zone), zone.first), default=None)
            return Choice((nearest,), 1, nearest.moved) if nearest else None
        size = self.order.size if self.order.closed else None
        most = _FIRST_LOOK
        while True:
            zones = [*rooms, *self._outlook.zones(request.job, request.nodes, most, fits)]
            choice = choose(zones, fits, size, layout.distance)
            if choice.gain == fits and choice.moved <= most:
                return choice
            if most >= min(FAR, self.order.rings_of(request.job)):
                return None
            most = min(FAR, max(2 * most, choice.moved))

    # -- which chains --------------------------------------------------------------------------------------------------

    def _fill(
        self, request: RingRequest, missing: int, choice: Choice, layout: Layout
    ) -> tuple[list[Filled], Sequence[Filled]]:
        """The chosen zones with their chains, and, for a single ring, what was weighed against it."""
        if missing == 1 and choice.gain == 1:
            best, *others = sorted(self._options(request, choice.zones[0], layout), key=layout.badness)
            return [best], [other for other in others if other.shape.chains != best.shape.chains]
        filled: list[Filled] = []
        for zone in choice.zones:
            gain = min(zone.gain, missing)
            missing -= gain
            filled.append(layout.fill(zone, gain))
        return filled, ()

    def _options(self, request: RingRequest, zone: Zone, layout: Layout) -> Iterator[Filled]:
        """Ways to gain one ring that move as few survivors as the given zone, which is the first of them."""
        yield layout.fill(zone, 1)
        if zone.moved:
            equal = self._outlook.cheapest_zones(request.job, request.nodes)
            near = sorted(equal, key=lambda other: (layout.distance(other), other.first))
        elif layout.distance(zone) == 0:
            near = []  # at home fewest bundles switch: most of them select what they should already
            yield from layout.sides(zone)
        else:
            near = list(self._rooms(request.nodes, 2, (zone.first,)))
        for other in near[:_ALTERNATIVES]:
            if other.first != zone.first:
                yield layout.fill(other, 1)
