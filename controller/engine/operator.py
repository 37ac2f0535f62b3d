"""A job's beginning and end: submit it, release it."""

import re

from ringlight.controller.engine.commitment import let_go
from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.events import ReleaseJob, SubmitJob
from ringlight.controller.engine.proposals import pause, plan_job
from ringlight.controller.engine.repair import Change, apply_plan, want_tables
from ringlight.controller.engine.state import JobRecord, RingRecord, RingState, State, stored_job
from ringlight.fabric.errors import ConflictError, InvalidError

_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def submit(state: State, request: SubmitJob, change: Change, now: float) -> None:
    """Place a new job, or refuse it and change nothing.

    Raises:
        RinglightError: it can never be, exists already, or does not fit now.
    """
    job = _new_job(state, request)
    plan = plan_job(state, job, now, request.proposal)
    if plan.rings < job.min_rings:
        raise InvalidError(
            f"job {job.name!r} does not fit: it needs {job.min_rings} rings of {job.tp} GPUs, "
            f"and only {plan.rings} can be placed now",
            hint=why_no_more(state, plan.rings),
        )
    pause(state, job, plan, now)
    state.jobs[job.name] = job
    state.rings.update({ring.name: ring for ring in job.rings})
    state.tell("job-submitted", job.name, f"{job.rings_wanted} rings of {job.tp} GPUs, priority {job.priority}")
    apply_plan(state, job, plan, change, now)
    state.emit(Persist(jobs=(stored_job(job),)))


def _new_job(state: State, request: SubmitJob) -> JobRecord:
    gpus = state.wiring.spec.gpus
    if not _JOB_NAME.fullmatch(request.name):
        raise InvalidError(
            f"{request.name!r} is not a job name",
            hint="use up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    if request.name in state.jobs:
        raise ConflictError(f"job {request.name!r} exists already", hint="release it first, or choose another name")
    if request.tp <= 0 or request.tp % gpus:
        lower = request.tp // gpus * gpus
        near = f"{lower} or {lower + gpus}" if lower > 0 else f"{gpus}"
        raise InvalidError(
            f"tp {request.tp} is not a multiple of the {gpus} GPUs of a node",
            hint=f"a ring is made of whole nodes: use tp {near}",
        )
    if request.rings <= 0 or not 0 <= request.min_rings <= request.rings:
        raise InvalidError(
            f"{request.rings} rings, of which at least {request.min_rings}, is not a job",
            hint="ask for at least one ring, and for a minimum between 0 (all) and that number",
        )
    job = JobRecord(
        name=request.name,
        rings_wanted=request.rings,
        tp=request.tp,
        min_rings=request.min_rings or request.rings,
        priority=request.priority,
        pinned=request.pinned,
        order=max((job.order for job in state.jobs.values()), default=0) + 1,
    )
    job.rings = [RingRecord(f"{job.name}/{index}", job.name, planned=True) for index in range(request.rings)]
    return job


def why_no_more(state: State, rings: int) -> str:
    """What to do when only so many rings can be had."""
    absent = sum(not node.session for node in state.nodes)
    if absent:
        return f"{absent} of {state.wiring.size} nodes have no agent yet: wait for them, or see `ringlight nodes`"
    if state.audits.members:
        return f"{len(state.audits.members)} nodes are being audited: wait until that is over, or break it off"
    if rings:
        return f"ask for {rings} rings, or for a smaller minimum (--min-rings {rings}), or release another job"
    return "release another job, or ask for a smaller tp; `ringlight nodes` shows which nodes are usable"


def release(state: State, request: ReleaseJob, change: Change, now: float) -> None:
    """Dissolve a job: its nodes go back to loopback and are spares at once.

    Raises:
        NotFoundError: there is no such job.
    """
    job = state.job(request.name)
    del state.jobs[job.name]
    freed: set[int] = set()
    for ring in job.rings:
        freed |= dissolve(state, ring, "its job is over")
    job.released = True
    want_tables(state, freed, change, now)
    state.tell("job-released", job.name, f"{len(freed)} nodes are free")
    state.emit(Persist(jobs=(stored_job(job),)))


def dissolve(state: State, ring: RingRecord, why: str) -> set[int]:
    """End a ring; the positions that it leaves, whose tables are to be derived anew."""
    state.capacity_grew = True
    state.lift(ring)
    state.damaged.discard(ring.name)
    del state.rings[ring.name]
    for node in state.chain_nodes(ring):
        node.ring = ""
        state.planner.order.set_usable(node.position, usable=node.usable)
    state.enter(ring, RingState.RELEASED)
    let_go(state, ring.job)
    ring.cause = why
    state.tell("ring-released", ring.name, why)
    return set(ring.chain)
