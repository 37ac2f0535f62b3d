"""The whole decision for one job: which rings stay, which are laid anew, and why.

Objectives, one after the other (DESIGN section 6): most rings, up to the number wanted; other jobs' rings untouched
(they bar the terrain); fewest surviving rings of the job changed; fewest bundles switched. The first three are exact:

- If the free stretches have room for every missing ring, nothing surviving needs to move, and that is the best there
  can be. This is tried first, nearest stretch first, and is the usual case.
- Otherwise `packing` decides exactly, over the whole order, which survivors stay.

Within a stretch the chains are chosen by `shaping`: fewest switches, exact in a window around the broken ring.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.controller.planning.packing import Packing, pack, room
from ringlight.controller.planning.reach import Reach
from ringlight.controller.planning.shaping import cheapest, spread
from ringlight.controller.planning.terrain import Chain, Stretch, Terrain


@dataclass(frozen=True, slots=True)
class RingRequest:
    """What a job needs now.

    Attributes:
        nodes: nodes a ring, m.
        rings: rings the job wants in all.
        survivors: its rings that are whole, in chain order.
        broken: former chains of its rings that must be laid anew; only a preference for where.
        pinned: survivors never move, even if a ring is lost by that.
    """

    nodes: int
    rings: int
    survivors: tuple[Chain, ...] = ()
    broken: tuple[Chain, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class RingPlan:
    """The answer: survivors that stay, survivors that must move, chains laid anew, and the reasons in words."""

    kept: tuple[Chain, ...]
    moved: tuple[Chain, ...]
    placed: tuple[Chain, ...]
    reasons: tuple[str, ...]

    @property
    def rings(self) -> int:
        """Rings the job has after this plan."""
        return len(self.kept) + len(self.placed)


def plan_rings(terrain: Terrain, request: RingRequest) -> RingPlan:
    """Plan the rings of one job on the terrain that all other jobs leave it."""
    reach = Reach(terrain, request.nodes)
    survivors = request.survivors[: request.rings] if len(request.survivors) > request.rings else request.survivors
    missing = request.rings - len(survivors)
    if missing == 0:
        return RingPlan(survivors, (), (), ())
    counts = _rooms_nearby(terrain, reach, request, missing)
    if request.pinned or sum(counts.values()) == missing:
        return _plan(terrain, reach, request, Packing(kept=survivors), counts)
    packing = pack(terrain, reach, request.rings, survivors)
    # Nothing may be laid across the place where an order without any ring is cut open.
    cut = terrain.wrap(packing.starts[0]) if packing.starts else 0
    stretches = terrain.free_stretches(packing.kept, cut=cut)
    return _plan(terrain, reach, request, packing, _count_by_stretch(terrain, stretches, packing.starts))


def _rooms_nearby(terrain: Terrain, reach: Reach, request: RingRequest, missing: int) -> dict[Stretch, int]:
    """How many rings to lay into which free stretch so that no survivor moves; all that are missing, if they fit so.

    Stretches that held the broken rings come first, then the others by distance.
    """
    stretches = terrain.free_stretches(request.survivors)
    counts: dict[Stretch, int] = {}
    homes = [terrain.span(chain).first for chain in request.broken]
    for stretch in sorted(stretches, key=lambda stretch: (_distance(terrain, stretch, homes), stretch.first)):
        fits = min(missing, room(terrain, reach, stretch))
        if fits:
            counts[stretch] = fits
            missing -= fits
        if missing == 0:
            break
    return counts


def _distance(terrain: Terrain, stretch: Stretch, homes: Sequence[int]) -> int:
    """Positions between a stretch and the nearest broken ring; 0 when one was inside."""
    length = stretch.last - stretch.first
    distances = []
    for home in homes:
        ahead = (home - stretch.first) % terrain.size if terrain.closed else home - stretch.first
        if 0 <= ahead <= length:
            return 0
        behind = terrain.size - ahead if terrain.closed else -ahead
        distances.append(min(d for d in (ahead - length, behind) if d > 0))
    return min(distances, default=0)


def _count_by_stretch(terrain: Terrain, stretches: Sequence[Stretch], starts: Sequence[int]) -> dict[Stretch, int]:
    counts: dict[Stretch, int] = {}
    for start in starts:
        for stretch in stretches:
            if (terrain.wrap(start) - stretch.first) % terrain.size <= stretch.last - stretch.first:
                counts[stretch] = counts.get(stretch, 0) + 1
                break
    return counts


def _plan(
    terrain: Terrain, reach: Reach, request: RingRequest, packing: Packing, counts: dict[Stretch, int]
) -> RingPlan:
    kept = set(packing.kept)
    moved = tuple(chain for chain in request.survivors if chain not in kept)
    uprooted = request.broken + moved
    placed: list[Chain] = []
    if uprooted:
        for stretch, count in counts.items():
            window = _window(terrain, request.nodes, stretch, uprooted)
            chains = cheapest(terrain, request.nodes, window, count) if window else None
            placed.extend(chains or spread(terrain, reach, request.nodes, [stretch], count))
    else:
        total = sum(counts.values())
        placed.extend(spread(terrain, reach, request.nodes, sorted(counts, key=lambda s: s.first), total))
    missing = request.rings - len(packing.kept) - len(placed)
    return RingPlan(packing.kept, moved, tuple(placed), _reasons(terrain, moved, missing))


def _window(terrain: Terrain, nodes: int, stretch: Stretch, uprooted: Sequence[Chain]) -> Stretch | None:
    """The part of a stretch around the rings that were there, wide enough for each to move by its own length."""
    margin = nodes * terrain.wiring.spec.k
    spans = [span for chain in uprooted for span in _inside(terrain, terrain.span(chain), stretch)]
    if not spans:
        return None
    return Stretch(
        max(stretch.first, min(span.first for span in spans) - margin),
        min(stretch.last, max(span.last for span in spans) + margin),
    )


def _inside(terrain: Terrain, span: Stretch, stretch: Stretch) -> list[Stretch]:
    """A span in the unrolled positions of the stretch that holds it, if it does."""
    turns = (-terrain.size, 0, terrain.size) if terrain.closed else (0,)
    moved = (Stretch(span.first + turn, span.last + turn) for turn in turns)
    return [span for span in moved if span.first in stretch and span.last in stretch]


def _reasons(terrain: Terrain, moved: Sequence[Chain], missing: int) -> tuple[str, ...]:
    name = terrain.wiring.name
    reasons = [
        f"the ring at {name(chain[0])}..{name(chain[-1])} moves: otherwise a ring would be lost" for chain in moved
    ]
    if missing:
        reasons.append(f"no room for {missing} more: too few usable nodes within reach of each other")
    return tuple(reasons)
