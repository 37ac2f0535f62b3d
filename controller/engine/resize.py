"""Resize: a job gets more rings, or gives some up.

Growing is a planned change, commit-confirmed, and refused when fewer rings than the job's minimum would fit; what fits
is laid, and what does not waits as in any job. Shrinking releases first the rings that carry no light, then those of
the highest ranks. Ring names stay: a job that lost rank 0 has none until it grows again.
"""

from dataclasses import replace

from ringlight.controller.engine.effects import Persist, PlannedChange
from ringlight.controller.engine.events import ResizeJob
from ringlight.controller.engine.foresight import described, foresee, ring_change
from ringlight.controller.engine.operator import dissolve, why_no_more
from ringlight.controller.engine.proposals import pause
from ringlight.controller.engine.repair import Change, apply_plan, want_tables
from ringlight.controller.engine.state import JobRecord, RingRecord, RingState, State, stored_job, stored_ring
from ringlight.fabric.errors import ErrorCode, InvalidError, RinglightError


def resize(state: State, request: ResizeJob, change: Change, now: float) -> PlannedChange:
    """Give a job another number of rings, or refuse and change nothing.

    Raises:
        RinglightError: no such job, impossible numbers, or (`REFUSED`) fewer rings than its minimum would fit.
    """
    job = state.job(request.name)
    minimum = request.min_rings or min(job.min_rings, request.rings)
    if request.rings <= 0 or not 0 < minimum <= request.rings:
        raise InvalidError(
            f"{request.rings} rings, of which at least {minimum}, is not a job",
            hint="ask for at least one ring, and for a minimum of at most that number",
        )
    if request.rings > job.rings_wanted:
        return _grow(state, job, replace(request, min_rings=minimum), change, now)
    return _shrink(state, job, replace(request, min_rings=minimum), change, now)


def _grow(state: State, job: JobRecord, request: ResizeJob, change: Change, now: float) -> PlannedChange:
    former = job.rings, job.rings_wanted
    grown = sorted([*job.rings, *_new_rings(job, request.rings)], key=_rank)
    job.rings, job.rings_wanted = grown, request.rings
    (forecast,) = forecasts = foresee(state, [job], now)
    job.rings, job.rings_wanted = former
    _refuse_below(state, job, forecast.plan.rings, request.min_rings)
    planned = described(state, forecasts)
    if request.dry_run:
        return planned
    job.rings = grown
    job.settled_once = False
    state.rings.update({ring.name: ring for ring in grown})
    _record(state, job, request)
    change.planned = True
    pause(state, job, forecast.plan, now)
    apply_plan(state, job, forecast.plan, change, now)
    return planned


def _new_rings(job: JobRecord, rings: int) -> list[RingRecord]:
    """Records for the rings to come, with the lowest ranks that are free."""
    taken = {_rank(ring) for ring in job.rings}
    free = [rank for rank in range(rings) if rank not in taken]
    return [RingRecord(f"{job.name}/{rank}", job.name, planned=True) for rank in free[: rings - len(job.rings)]]


def _rank(ring: RingRecord) -> int:
    return int(ring.name.rpartition("/")[2])


def _shrink(state: State, job: JobRecord, request: ResizeJob, change: Change, now: float) -> PlannedChange:
    surplus = sorted(job.rings, key=_dispensable)[: job.rings_wanted - request.rings]
    planned = PlannedChange(tuple(ring_change(state, ring, ()) for ring in sorted(surplus, key=_rank)))
    if request.min_rings > job.min_rings:
        left = sum(bool(ring.chain) for ring in job.rings if ring not in surplus)
        _refuse_below(state, job, left, request.min_rings)
    if request.dry_run or (request.rings, request.min_rings) == (job.rings_wanted, job.min_rings):
        return planned
    job.rings = [ring for ring in job.rings if ring not in surplus]
    _record(state, job, request)
    freed: set[int] = set()
    for ring in sorted(surplus, key=_rank):
        freed |= dissolve(state, ring, "its job was made smaller")
    want_tables(state, freed, change, now)
    state.emit(Persist(rings=tuple(stored_ring(state.wiring, ring) for ring in surplus)))
    return planned


def _dispensable(ring: RingRecord) -> tuple[bool, bool, int]:
    """Rings without nodes go first, then those without light, then the highest ranks."""
    return ring.state is RingState.ACTIVE, bool(ring.chain), -_rank(ring)


def _refuse_below(state: State, job: JobRecord, rings: int, minimum: int) -> None:
    if rings < minimum:
        raise RinglightError(
            f"job {job.name!r} would have {rings} rings, and {minimum} are its minimum; nothing was changed",
            hint=why_no_more(state, rings),
            code=ErrorCode.REFUSED,
        )


def _record(state: State, job: JobRecord, request: ResizeJob) -> None:
    text = f"{request.rings} rings wanted, {job.rings_wanted} before; at least {request.min_rings}"
    job.rings_wanted, job.min_rings = request.rings, request.min_rings
    state.emit(Persist(jobs=(stored_job(job),)))
    state.tell("job-resized", job.name, text)
