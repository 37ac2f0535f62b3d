"""Snapshots for whoever asks: frozen records of the fabric, its nodes, rings and jobs. Reading changes nothing."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ringlight.controller.engine.assessment import is_usable
from ringlight.controller.engine.state import JobRecord, NodeRecord, Overlay, RingRecord, RingState, State
from ringlight.controller.health.breaker import allowance, newly_failed
from ringlight.controller.health.verdicts import Verdict
from ringlight.fabric.circuits import CircuitTable, Fault
from ringlight.fabric.rings import gpu_order

_AUDITED = "audited"  # what lies over a node while the cabling audit has it


@dataclass(frozen=True, slots=True)
class GateView:
    """Something that can keep the controller from acting.

    Attributes:
        name: ``silence`` (whether silence may be judged), ``breaker``, ``pause`` or ``term``.
        open: it keeps nothing back.
        reason: why it is shut; empty while it is open.
    """

    name: str
    open: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as it is believed to be."""

    name: str
    position: int
    rack: str
    verdict: str
    reason: str
    agent: str
    ring: str
    observed: CircuitTable
    desired: CircuitTable
    faults: tuple[Fault, ...]
    generation: int
    spare: bool
    overlay: str
    overlay_reason: str
    overlay_seconds: float  # until maintenance ends by itself; 0 for an overlay without end
    quarantine: str  # why no ring may have it until it is released


@dataclass(frozen=True, slots=True)
class RingView:
    """One ring; `gpus` is its rank order."""

    name: str
    job: str
    state: RingState
    nodes: tuple[str, ...]
    gpus: tuple[str, ...]
    cause: str
    generation: int


@dataclass(frozen=True, slots=True)
class JobView:
    """One job."""

    name: str
    rings: int
    tp: int
    min_rings: int
    priority: int
    pinned: bool
    state: str
    active: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class FabricView:
    """The fabric at a glance."""

    name: str
    k: int
    distances: tuple[int, ...]
    closed: bool
    nodes: int
    gpus_per_node: int
    epoch: int
    generation: int
    settled: bool
    verdicts: Mapping[str, int]
    ring_states: Mapping[str, int]
    spares: int
    spare_positions: tuple[int, ...]
    dead_hops: tuple[str, ...]
    untested_hops: tuple[str, ...]
    gpus_healthy: int
    gpus_in_rings: int
    last_event: int
    violations: int
    longest_bypass: int
    sessions: int
    overlays: Mapping[str, int]  # nodes by overlay
    abnormal: Mapping[str, str]  # node to verdict, for those that are not HEALTHY
    quarantined: int
    gates: tuple[GateView, ...]
    newly_failed: int  # within the breaker's window
    breaker_allowance: int


def view_fabric(state: State, now: float) -> FabricView:
    """The whole fabric in numbers."""
    spec = state.wiring.spec
    verdicts = Counter(node.verdict.value for node in state.nodes)
    active = [ring for ring in state.rings.values() if ring.state is RingState.ACTIVE]
    spares = tuple(node.position for node in state.nodes if _is_spare(state, node, now))
    return FabricView(
        name=spec.name,
        k=spec.k,
        distances=spec.distances,
        closed=spec.closed,
        nodes=state.wiring.size,
        gpus_per_node=spec.gpus,
        epoch=state.epoch,
        generation=state.generation,
        settled=state.settled,
        verdicts={verdict.value: verdicts[verdict.value] for verdict in Verdict},
        ring_states=_count_states(state),
        spares=len(spares),
        spare_positions=spares,
        dead_hops=tuple(state.wiring.hop_name(key) for key in sorted(state.dead_hops)),
        untested_hops=tuple(state.wiring.hop_name(key) for key in sorted(state.untested)),
        gpus_healthy=(state.wiring.size - verdicts[Verdict.FAILED.value]) * spec.gpus,
        gpus_in_rings=sum(len(ring.chain) for ring in active) * spec.gpus,
        last_event=state.sequence,
        violations=state.violations,
        longest_bypass=max((hop.key.distance for ring in active for hop in ring.hops), default=0),
        sessions=len(state.sessions),
        overlays=_count_overlays(state),
        abnormal={node.name: node.verdict.value for node in state.nodes if node.verdict is not Verdict.HEALTHY},
        quarantined=sum(bool(node.quarantine) for node in state.nodes),
        gates=view_gates(state),
        newly_failed=newly_failed(state.new_failures, now, state.settings.breaker),
        breaker_allowance=allowance(state.wiring.size, state.settings.breaker),
    )


def view_gates(state: State) -> tuple[GateView, ...]:
    """What can keep the controller from acting, and what does at present."""
    return (
        _gate("silence", "; ".join(state.doubts)),
        _gate("breaker", state.tripped),
        _gate("pause", state.paused),
        _gate("term", state.deposed or None),
    )


def _gate(name: str, why: str | None) -> GateView:
    return GateView(name, open=not why, reason=why or "")


def _count_states(state: State) -> dict[str, int]:
    counts = Counter(ring.state.value for ring in state.rings.values())
    return {ring_state.value: counts[ring_state.value] for ring_state in RingState if ring_state != RingState.RELEASED}


def _count_overlays(state: State) -> dict[str, int]:
    counts = Counter(node.overlay for node in state.nodes)
    return {**{overlay.value: counts[overlay] for overlay in Overlay}, _AUDITED: len(state.audits.members)}


def _is_spare(state: State, node: NodeRecord, now: float) -> bool:
    return not node.ring and is_usable(state, node, now)


def view_nodes(state: State, now: float) -> tuple[NodeView, ...]:
    """Every node, in fabric order."""
    return tuple(view_node(state, node, now) for node in state.nodes)


def view_node(state: State, node: NodeRecord, now: float) -> NodeView:
    """One node."""
    session = state.sessions.get(node.session)
    return NodeView(
        name=node.name,
        position=node.position,
        rack=state.wiring.spec.nodes[node.position].rack,
        verdict=node.verdict.value,
        reason=node.judgement.reason,
        agent=session.agent if session else "",
        ring=node.ring,
        observed=node.observed or (),
        desired=node.desired,
        faults=node.faults,
        generation=node.generation,
        spare=_is_spare(state, node, now),
        overlay=overlay_of(state, node),
        overlay_reason=node.overlay_reason,
        overlay_seconds=max(0.0, node.maintenance_until - now) if node.maintenance_until is not None else 0.0,
        quarantine=node.quarantine,
    )


def overlay_of(state: State, node: NodeRecord) -> str:
    """What lies over a node; the cabling audit counts as such."""
    return _AUDITED if node.position in state.audits.members else node.overlay or ""


def view_rings(state: State, job: str = "") -> tuple[RingView, ...]:
    """Every ring, or those of one job, by job and rank."""
    jobs = [record for name, record in sorted(state.jobs.items()) if job in ("", name)]
    return tuple(view_ring(state, ring) for record in jobs for ring in record.rings)


def view_ring(state: State, ring: RingRecord) -> RingView:
    """One ring."""
    order = gpu_order(state.wiring, ring.chain) if ring.chain else ()
    return RingView(
        name=ring.name,
        job=ring.job,
        state=ring.state,
        nodes=tuple(state.wiring.name(position) for position in ring.chain),
        gpus=tuple(state.wiring.gpu_name(position, gpu) for position, gpu in order),
        cause=ring.cause,
        generation=ring.generation,
    )


def view_jobs(state: State, name: str = "") -> tuple[JobView, ...]:
    """Every job, or one, by name."""
    return tuple(view_job(job) for job_name, job in sorted(state.jobs.items()) if name in ("", job_name))


def view_job(job: JobRecord) -> JobView:
    """One job."""
    waiting = [ring for ring in job.rings if ring.state is RingState.BROKEN]
    reason = f"{job.active} of {job.rings_wanted} rings carry light"
    if waiting:
        reason += f"; {waiting[0].name} waits: {waiting[0].cause or 'no room'}"
    return JobView(
        name=job.name,
        rings=job.rings_wanted,
        tp=job.tp,
        min_rings=job.min_rings,
        priority=job.priority,
        pinned=job.pinned,
        state=job.state.value,
        active=job.active,
        generation=max((ring.generation for ring in job.rings), default=0),
        reason=reason,
    )
