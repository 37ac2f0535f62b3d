"""Drain: nodes are taken out of their rings while they still work. The same computation as for a fault, ahead of it.

The nodes are treated as unusable, and the jobs whose rings they are in are planned. A drain that would cost a job a
ring is refused, unless it is forced; otherwise it is carried out as one planned change, commit-confirmed. If a fault
comes in between, or a spare does not do as told, the rings are planned again from there; should that cost a ring, the
drain is given up and the ring may have its node back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ringlight.controller.engine.commitment import leaving
from ringlight.controller.engine.effects import PlannedChange
from ringlight.controller.engine.events import Drain
from ringlight.controller.engine.foresight import Forecast, described, foresee
from ringlight.controller.engine.overlays import end_drain, keep, named_nodes, stop_drain
from ringlight.controller.engine.proposals import pause, plan_job, take_up
from ringlight.controller.engine.repair import Change, apply_plan
from ringlight.controller.engine.state import JobRecord, NodeRecord, Overlay, State
from ringlight.controller.planning.planner import RingPlan
from ringlight.fabric.errors import ErrorCode, RinglightError


def drain(state: State, request: Drain, change: Change, now: float) -> PlannedChange:
    """Take nodes out of their rings and cordon them or keep them for maintenance, or refuse and change nothing.

    Raises:
        RinglightError: no such node, or (`REFUSED`) it would cost a ring and is not forced.
    """
    nodes = named_nodes(state, request.nodes)
    forecasts = _foresee(state, nodes, now)
    if not request.force:
        _refuse_losses(state, nodes, forecasts)
    planned = described(state, forecasts)
    if request.dry_run:
        return planned
    for node in nodes:
        state.cover(node, Overlay.DRAINING)
        node.overlay_reason = request.reason or node.overlay_reason
        node.drain_forced = request.force
        node.maintenance_until = now + request.maintenance if request.maintenance else None
        state.tell("node-draining", node.name, _intention(node, request.reason))
    change.planned = True
    _damage_rings(state, nodes)
    for forecast in forecasts:
        take_up(state, forecast.job)
    for forecast in forecasts:
        pause(state, forecast.job, forecast.plan, now)
        apply_plan(state, forecast.job, forecast.plan, change, now)
    for node in nodes:
        if node.leaving:
            keep(state, node)
        else:
            end_drain(state, node)
    return planned


def _foresee(state: State, nodes: Sequence[NodeRecord], now: float) -> list[Forecast]:
    """The plans of the jobs concerned, as if the nodes were draining already; by priority, as faults are planned."""
    names = {state.rings[node.ring].job for node in nodes if node.ring}
    jobs = sorted((state.jobs[name] for name in names), key=lambda job: job.precedence)
    with _covered(state, nodes):
        return foresee(state, jobs, now)


@contextmanager
def _covered(state: State, nodes: Sequence[NodeRecord]) -> Iterator[None]:
    """The nodes drain, and their rings cannot stay as they are; afterwards all is as before."""
    overlays = [node.overlay for node in nodes]
    damaged = set(state.damaged)
    for node in nodes:
        state.cover(node, Overlay.DRAINING)
    _damage_rings(state, nodes)
    try:
        yield
    finally:
        state.damaged = damaged
        for node, overlay in zip(nodes, overlays, strict=True):
            state.cover(node, overlay)


def _damage_rings(state: State, nodes: Sequence[NodeRecord]) -> None:
    state.damaged |= {node.ring for node in nodes if node.ring}


def _refuse_losses(state: State, nodes: Sequence[NodeRecord], forecasts: Sequence[Forecast]) -> None:
    lost = [ring.name for forecast in forecasts for ring in forecast.lost]
    if not lost:
        return
    reasons = "; ".join(reason for forecast in forecasts if forecast.lost for reason in forecast.plan.reasons)
    hint = "free a node first (`ringlight uncordon`, a smaller or released job), or add --force: the ring then waits"
    if not state.open:
        hint = "not every agent has dialled in since the controller started: try again in a moment"
    raise RinglightError(
        f"draining {' '.join(node.name for node in nodes)} would cost {' '.join(lost)}: {reasons}; nothing was changed",
        hint=hint,
        code=ErrorCode.REFUSED,
    )


def _intention(node: NodeRecord, reason: str) -> str:
    what = f"{node.ring} is laid without it" if node.ring else "is in no ring"
    return f"{reason}; {what}" if reason else what


def without_drains(state: State, job: JobRecord, plan: RingPlan, now: float) -> RingPlan:
    """A better plan for a job that is about to lose a ring, if giving up its drains brings one; else the same plan.

    A forced drain is never given up: it was meant to cost a ring if need be.
    """
    better, given_up = forgo_drains(state, job, plan, now)
    for node in given_up:
        stop_drain(state, node, "; ".join(plan.reasons))
    return better


def forgo_drains(state: State, job: JobRecord, plan: RingPlan, now: float) -> tuple[RingPlan, list[NodeRecord]]:
    """The plan of `without_drains`, and the nodes whose drains it gives up: only cordoned now, and nobody was told."""
    drains = [node for node in leaving(state, job.name) if node.overlay is Overlay.DRAINING and not node.drain_forced]
    for node in drains:
        state.cover(node, Overlay.CORDONED)
    better = plan_job(state, job, now) if drains else plan
    if better.rings <= plan.rings:
        for node in drains:
            state.cover(node, Overlay.DRAINING)
        return plan, []
    return better, drains
