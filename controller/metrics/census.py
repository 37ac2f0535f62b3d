"""One look at the fabric for its gauges: taken at once on the event loop, worked out elsewhere. It changes nothing."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringlight.controller.engine.state import JobState, RingState, State
from ringlight.controller.engine.view import FabricView, view_fabric, view_job


@dataclass(frozen=True, slots=True)
class Census:
    """What the gauges are made from.

    Attributes:
        view: the fabric in numbers.
        size: of the fabric, in nodes.
        rings_waiting: that have no nodes, since no way to lay them was left.
        jobs: by state.
        job_generations: by name.
        hops: that the fabric has.
        in_flight: rings that are being changed.
        in_rings, spares: positions, ascending.
        gpus_wasted: see `wasted_gpus`.
    """

    view: FabricView
    size: int
    rings_waiting: int
    jobs: Mapping[str, int]
    job_generations: Mapping[str, int]
    hops: int
    in_flight: int
    in_rings: Sequence[int]
    spares: Sequence[int]
    gpus_wasted: int


def take_census(state: State, now: float) -> Census:
    """Look at everything once."""
    view = view_fabric(state, now)
    jobs = [view_job(job) for _, job in sorted(state.jobs.items())]
    states = Counter(job.state for job in jobs)
    return Census(
        view=view,
        size=state.wiring.size,
        rings_waiting=sum(not ring.chain and ring.state is RingState.BROKEN for ring in state.rings.values()),
        jobs={each.value: states[each.value] for each in JobState if each is not JobState.RELEASED},
        job_generations={job.name: job.generation for job in jobs},
        hops=len(state.wiring.hops),
        in_flight=len(state.in_flight),
        in_rings=sorted(position for ring in state.rings.values() for position in ring.chain),
        spares=view.spare_positions,
        gpus_wasted=wasted_gpus(state),
    )


def wasted_gpus(state: State) -> int:
    """GPUs that may be used and fit in no ring of the largest size in use, had every ring been laid anew.

    That is the waste of the paper: it says what faults cost, not how full the fabric is. 0 while there is no job.
    """
    gpus = state.wiring.spec.gpus
    nodes = max((job.tp for job in state.jobs.values()), default=0) // gpus
    if not nodes:
        return 0
    order = state.planner.order
    start = _best_cut(bytes(order.usable)) if order.closed else 0
    strip = order.strip(start, start + order.size - 1)
    usable = strip.usable_in(strip.first, strip.last)
    return (usable - strip.room(start, nodes, usable) * nodes) * gpus


def _best_cut(usable: bytes) -> int:
    """Where a closed order is cut open to count rings: behind its longest run of nodes that may not be used.

    If any run is too long for a hop, that one is, and no ring leads over it; if none is, any place will do.
    """
    runs = list(re.finditer(rb"\0+", usable + usable))
    return max(runs, key=lambda run: run.end() - run.start()).end() % len(usable) if runs else 0


def spare_distances(census: Census, *, closed: bool) -> tuple[int, int] | None:
    """Positions from each node of a ring to the nearest spare: of the median node, and of the farthest."""
    spares = census.spares
    if not spares or not census.in_rings:
        return None
    around = [spares[-1] - census.size, *spares, spares[0] + census.size] if closed else spares
    distances = sorted(_nearest(around, position) for position in census.in_rings)
    return distances[(len(distances) - 1) // 2], distances[-1]


def _nearest(spares: Sequence[int], position: int) -> int:
    index = bisect_left(spares, position)
    return min(abs(position - spare) for spare in spares[max(0, index - 1) : index + 1])
