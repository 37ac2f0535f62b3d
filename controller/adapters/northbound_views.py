"""What the engine shows, as messages of the northbound API."""

from ringlight.controller.engine import view
from ringlight.controller.engine.effects import (
    AuditBegan,
    AuditNews,
    AuditOver,
    AuditProgress,
    PlannedChange,
    RingChange,
)
from ringlight.controller.engine.events import Drain
from ringlight.controller.engine.what_if import Foretold, JobAfter
from ringlight.controller.ports import LoggedEvent
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.wiring import Wiring
from ringlight.protos.v1 import fabric_pb2 as pb

_LONGEST_MAINTENANCE = 30 * 86_400.0  # seconds


def fabric_to(fabric: view.FabricView, *, store: str, starting: bool) -> pb.Fabric:
    """The fabric at a glance, how its store is, and whether agents are still dialling in after a start."""
    return pb.Fabric(
        name=fabric.name,
        k=fabric.k,
        distances=fabric.distances,
        closed=fabric.closed,
        nodes=fabric.nodes,
        gpus_per_node=fabric.gpus_per_node,
        epoch=fabric.epoch,
        generation=fabric.generation,
        settled=fabric.settled,
        verdicts=fabric.verdicts,
        ring_states=fabric.ring_states,
        spares=fabric.spares,
        dead_hops=fabric.dead_hops,
        untested_hops=fabric.untested_hops,
        gpus_healthy=fabric.gpus_healthy,
        gpus_in_rings=fabric.gpus_in_rings,
        last_event=fabric.last_event,
        invariant_violations=fabric.violations,
        longest_bypass=fabric.longest_bypass,
        store=store,
        overlays=fabric.overlays,
        gates=[pb.Gate(name=gate.name, open=gate.open, reason=gate.reason) for gate in fabric.gates],
        quarantined=fabric.quarantined,
        newly_failed=fabric.newly_failed,
        breaker_allowance=fabric.breaker_allowance,
        starting=starting,
    )


def drain_from(request: pb.DrainRequest) -> Drain:
    """What is asked.

    Raises:
        InvalidError: maintenance of such a length makes no sense.
    """
    if not 0 <= request.maintenance <= _LONGEST_MAINTENANCE:  # also refuses what is no number
        raise InvalidError(
            f"maintenance for {request.maintenance:g} s makes no sense",
            hint="give a time of up to 30 days; for longer, cordon the nodes",
        )
    return Drain(
        "",
        tuple(request.nodes),
        request.reason,
        force=request.force,
        maintenance=request.maintenance,
        dry_run=request.dry_run,
    )


def node_to(node: view.NodeView) -> pb.Node:
    """A node."""
    return pb.Node(
        name=node.name,
        position=node.position,
        rack=node.rack,
        verdict=node.verdict,
        reason=node.reason,
        agent=node.agent,
        ring=node.ring,
        paths=[path.name for path in node.observed],
        desired=[path.name for path in node.desired],
        faults=[
            pb.NodeFault(
                id=fault.id,
                component=fault.component,
                fault_class=fault.fault_class.name,
                code=fault.code,
                text=fault.text,
            )
            for fault in node.faults
        ],
        generation=node.generation,
        spare=node.spare,
        overlay=node.overlay,
        overlay_reason=node.overlay_reason,
        overlay_seconds=node.overlay_seconds,
        quarantine=node.quarantine,
    )


def ring_to(ring: view.RingView) -> pb.Ring:
    """A ring."""
    return pb.Ring(
        name=ring.name,
        job=ring.job,
        state=ring.state.value,
        nodes=ring.nodes,
        gpus=ring.gpus,
        cause=ring.cause,
        generation=ring.generation,
    )


def job_to(job: view.JobView) -> pb.Job:
    """A job."""
    return pb.Job(
        name=job.name,
        rings=job.rings,
        tp=job.tp,
        min_rings=job.min_rings,
        priority=job.priority,
        pinned=job.pinned,
        state=job.state,
        active=job.active,
        generation=job.generation,
        reason=job.reason,
    )


def event_to(logged: LoggedEvent) -> pb.Event:
    """An event, with its wall-clock time."""
    event = logged.event
    return pb.Event(
        sequence=event.sequence,
        time=logged.time,
        kind=event.kind,
        subject=event.subject,
        text=event.text,
        data=event.data,
    )


def changes_to(planned: PlannedChange) -> list[pb.RingChange]:
    """The rings that a request changes."""
    return [_change_to(change) for change in planned.rings]


def foretold_to(foretold: Foretold) -> pb.PlanReply:
    """What would be done."""
    return pb.PlanReply(jobs=[_job_plan_to(job) for job in foretold.jobs], reasons=foretold.reasons)


def _job_plan_to(job: JobAfter) -> pb.JobPlan:
    return pb.JobPlan(
        job=job.name,
        state=job.state.value,
        rings_now=job.rings_now,
        rings=job.rings,
        rings_wanted=job.rings_wanted,
        min_rings=job.min_rings,
        changes=[
            pb.PlannedRing(change=_change_to(after.change), cause=after.cause, reasons=after.reasons)
            for after in job.changes
        ],
        bundles=job.bundles,
        reasons=job.reasons,
    )


def _change_to(change: RingChange) -> pb.RingChange:
    return pb.RingChange(ring=change.ring, former=change.former, chain=change.chain)


def audit_to(news: AuditNews, wiring: Wiring) -> pb.AuditFabricReply:
    """How an audit goes, or what it found."""
    match news:
        case AuditBegan():
            began = pb.AuditBegan(nodes=news.nodes, left_out=dict(news.left_out), rounds=news.rounds)
            return pb.AuditFabricReply(began=began)
        case AuditProgress():
            return pb.AuditFabricReply(progress=pb.AuditProgress(done=news.done, rounds=news.rounds))
        case AuditOver():
            return pb.AuditFabricReply(result=_audit_result_to(news, wiring))


def _audit_result_to(over: AuditOver, wiring: Wiring) -> pb.AuditResult:
    result = pb.AuditResult(left=dict(over.left))
    if over.report is None:
        return result
    for finding in over.report.findings:
        ports = [wiring.port_name(port) for port in finding.ports]
        result.findings.add(kind=finding.kind, ports=ports, text=finding.text, loss=finding.loss)
    for found in over.report.fibres:
        a, b = wiring.port_name(found.fibre.a), wiring.port_name(found.fibre.b)
        result.fibres.add(a=a, b=b, loss=found.loss, audited=found.audited)
    return result
