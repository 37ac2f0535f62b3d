"""What the controller would do if nodes failed and hops went dark at this moment, or what is due without that.

The state is made to look as if it had happened, the jobs concerned are planned by the very code that plans repairs,
and everything is put back. Nothing is told, stored or sent; afterwards the state is as it was, to the last record.

Jobs that lose something are planned first, by priority, as they would be at once; then those that have rings waiting,
by priority, given what is left. New chains are foretold as if every node did as it is told.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ringlight.controller.engine.assessment import damage
from ringlight.controller.engine.drain import forgo_drains
from ringlight.controller.engine.effects import RingChange
from ringlight.controller.engine.foresight import Forecast, foresee, ring_change
from ringlight.controller.engine.proposals import plan_job
from ringlight.controller.engine.state import JobRecord, JobState, NodeRecord, RingRecord, State
from ringlight.controller.health.verdicts import Ground, Judgement, Verdict
from ringlight.controller.planning.planner import RingPlan
from ringlight.fabric.circuits import CircuitTable
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.wiring import HopKey

_SUPPOSED = Judgement(Verdict.FAILED, frozenset({Ground.REPORT}), "as supposed")


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What to suppose: nodes that fail and hops that go dark, by name."""

    failed: tuple[str, ...] = ()
    dark: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RingAfter:
    """What would become of one ring that does not stay as it is.

    Attributes:
        cause: why it does not.
        reasons: why its new chain, and what was rejected.
    """

    change: RingChange
    cause: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobAfter:
    """What would become of one job.

    Attributes:
        state: once its new rings are proven.
        rings_now: rings that have nodes now.
        rings: rings that would have nodes.
        changes: by rank.
        bundles: that would switch, on nodes that have not failed. A node counts for the job that has it in the end.
        reasons: why rings move, and what is missing.
    """

    name: str
    state: JobState
    rings_now: int
    rings: int
    rings_wanted: int
    min_rings: int
    changes: tuple[RingAfter, ...]
    bundles: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Foretold:
    """The jobs concerned, in the order in which they would be planned, and what is to be said of the whole."""

    jobs: tuple[JobAfter, ...]
    reasons: tuple[str, ...]


def what_if(state: State, question: WhatIf, now: float) -> Foretold:
    """Foretell what would be done; nothing is.

    Raises:
        NotFoundError: there is no node or hop of such a name.
    """
    nodes = [state.nodes[position] for position in sorted({state.wiring.position(name) for name in question.failed})]
    hops = sorted({state.wiring.parse_hop(name) for name in question.dark})
    remarks = tuple(_remarks(state, nodes, hops))
    with _supposed(state, nodes, hops, now):
        forecasts = foresee(state, _jobs_concerned(state), now, _repair_plan)
        switched = _switched_bundles(state, forecasts)
        jobs = tuple(_job_after(state, forecast, switched[forecast.job.name]) for forecast in forecasts)
    return Foretold(jobs, remarks)


def _remarks(state: State, nodes: Sequence[NodeRecord], hops: Sequence[HopKey]) -> Iterator[str]:
    """What one should know about the question itself, before anything is supposed."""
    if not state.open:
        yield (
            "not every agent has dialled in since the controller started: until then rings that work do not move, "
            "and what would cost a ring is put off"
        )
    for node in nodes:
        if node.verdict is Verdict.FAILED:
            yield f"{node.name} has failed already"
        elif not node.ring:
            yield f"{node.name} is in no ring"
    for key in hops:
        if key in state.dead_hops:
            yield f"{state.wiring.hop_name(key)} is dark already"
        elif _ring_over(state, key) is None:
            yield f"{state.wiring.hop_name(key)} is in no ring"


def _ring_over(state: State, key: HopKey) -> RingRecord | None:
    """The ring that uses a hop."""
    ring = state.rings.get(state.nodes[key.position].ring)
    return ring if ring is not None and any(hop.key == key for hop in ring.hops) else None


@contextmanager
def _supposed(state: State, nodes: Sequence[NodeRecord], hops: Sequence[HopKey], now: float) -> Iterator[None]:
    """The nodes have failed, the hops are dark, and their rings cannot stay; afterwards all is as before."""
    order = state.planner.order
    usable = bytes(order.usable)
    judged = [(node, node.judgement, node.usable) for node in nodes]
    overlays = [(state.nodes[position], state.nodes[position].overlay) for position in state.leaving]
    damaged, dead_hops, dirty_nodes = set(state.damaged), dict(state.dead_hops), set(state.dirty_nodes)
    try:
        _suppose(state, nodes, hops, now)
        yield
    finally:
        for node, judgement, was_usable in judged:
            node.judgement, node.usable = judgement, was_usable
        for node, overlay in overlays:
            node.overlay = overlay
        for key in state.dead_hops.keys() - dead_hops.keys():
            order.set_live(key, live=True)
        state.damaged, state.dead_hops, state.dirty_nodes = damaged, dead_hops, dirty_nodes
        # Planning also takes nodes off the offer that time alone made unusable; that is for their next judgement.
        if order.usable != usable:
            for position, (was, is_now) in enumerate(zip(usable, order.usable, strict=True)):
                if was != is_now:
                    order.set_usable(position, usable=bool(was))


def _suppose(state: State, nodes: Sequence[NodeRecord], hops: Sequence[HopKey], now: float) -> None:
    for node in nodes:
        if node.verdict is not Verdict.FAILED:
            node.judgement = _SUPPOSED
        node.usable = False
        state.planner.order.set_usable(node.position, usable=False)
        if node.ring:
            state.damaged.add(node.ring)
    for key in hops:
        if key not in state.dead_hops:
            state.kill(key, now)
        ring = _ring_over(state, key)
        if ring is not None:
            state.damaged.add(ring.name)


def _jobs_concerned(state: State) -> list[JobRecord]:
    """Jobs with a ring that cannot stay, then those with one that waits; by priority each."""
    hit = {state.rings[name].job for name in state.damaged}
    waiting = {ring.job for ring in state.rings.values() if not ring.chain}
    jobs = [state.jobs[name] for name in hit | waiting]
    return sorted(jobs, key=lambda job: (job.name not in hit, *job.precedence))


def _repair_plan(state: State, job: JobRecord, now: float) -> RingPlan:
    """The plan of a job as a repair has it: drains are given up rather than a ring."""
    plan = plan_job(state, job, now)
    if plan.rings < job.rings_laid:
        plan, _ = forgo_drains(state, job, plan, now)
    return plan


def _job_after(state: State, forecast: Forecast, bundles: int) -> JobAfter:
    job, plan = forecast.job, forecast.plan
    reasons = {placement.chain: placement.reasons for placement in plan.placed}
    moved = {ring.name for ring in plan.moved}
    changes = tuple(
        RingAfter(ring_change(state, ring, chain), _cause(state, ring, moved), reasons.get(chain, ()))
        for ring, chain in forecast.chains
    )
    return JobAfter(
        name=job.name,
        state=_state_with(job, plan.rings),
        rings_now=job.rings_laid,
        rings=plan.rings,
        rings_wanted=job.rings_wanted,
        min_rings=job.min_rings,
        changes=changes,
        bundles=bundles,
        reasons=plan.reasons,
    )


def _state_with(job: JobRecord, rings: int) -> JobState:
    if rings >= job.rings_wanted:
        return JobState.RUNNING
    return JobState.DEGRADED if rings >= job.min_rings else JobState.WAITING


def _cause(state: State, ring: RingRecord, moved: set[str]) -> str:
    if ring.name in moved:
        return "makes room for another ring"
    cause = damage(state, ring)
    return cause.text if cause is not None else "waited for room"


def _switched_bundles(state: State, forecasts: Sequence[Forecast]) -> Counter[str]:
    """By job, the bundles that are wanted to select something else than now."""
    job_of: dict[int, str] = {}
    tables: dict[int, CircuitTable] = {}
    for forecast in forecasts:
        for ring, _ in forecast.chains:
            job_of.update(dict.fromkeys(ring.chain, forecast.job.name))
    for forecast in forecasts:
        for _, chain in forecast.chains:
            job_of.update(dict.fromkeys(chain, forecast.job.name))
            tables.update(chain_tables(state.wiring, chain))
    counts: Counter[str] = Counter()
    for position, job in job_of.items():
        node = state.nodes[position]
        if node.verdict is not Verdict.FAILED:
            wanted = tables.get(position, state.wiring.loopback)
            counts[job] += sum(now is not then for now, then in zip(node.desired, wanted, strict=True))
    return counts
