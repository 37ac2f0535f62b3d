"""FabricService: what operators, schedulers and the CLI see and ask, over gRPC. Converts, and decides nothing."""

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from ringlight.controller.adapters.northbound_views import (
    audit_to,
    changes_to,
    drain_from,
    event_to,
    fabric_to,
    foretold_to,
    job_to,
    node_to,
    ring_to,
)
from ringlight.controller.engine import view
from ringlight.controller.engine.effects import AuditOver
from ringlight.controller.engine.events import (
    BeginAudit,
    Cordon,
    DeclareDead,
    Pause,
    ReleaseJob,
    ReleaseQuarantine,
    ReportStall,
    ResetBreaker,
    ResizeJob,
    Resume,
    SubmitJob,
    TrustHops,
    Uncordon,
)
from ringlight.controller.engine.explain import explain
from ringlight.controller.engine.state import JobRecord
from ringlight.controller.engine.what_if import WhatIf, what_if
from ringlight.controller.proposing import with_proposal
from ringlight.controller.runtime import Runtime
from ringlight.fabric.errors import ErrorCode, InvalidError, RinglightError
from ringlight.protos import status
from ringlight.protos.v1 import fabric_pb2 as pb
from ringlight.protos.v1 import fabric_pb2_grpc

_MOST_EVENTS = 10_000

Context = grpc.aio.ServicerContext[Any, Any]


@asynccontextmanager
async def _refusing(context: Context) -> AsyncIterator[None]:
    """An error of ours ends the call with its status, its message and its hint."""
    try:
        yield
    except RinglightError as error:
        await status.abort(context, error)


class FabricService(fabric_pb2_grpc.FabricServiceServicer):
    """The northbound API."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._state = runtime.engine.state

    async def GetFabric(self, request: pb.GetFabricRequest, context: Context) -> pb.Fabric:
        """The fabric at a glance."""
        return self._fabric()

    async def ListNodes(self, request: pb.ListNodesRequest, context: Context) -> pb.ListNodesReply:
        """Nodes in fabric order."""
        nodes = view.view_nodes(self._state, self._runtime.now)
        if request.abnormal_only:
            nodes = tuple(node for node in nodes if node.verdict != "HEALTHY" or node.overlay or node.quarantine)
        return pb.ListNodesReply(nodes=[node_to(node) for node in nodes])

    async def ListRings(self, request: pb.ListRingsRequest, context: Context) -> pb.ListRingsReply:
        """Rings by job and rank."""
        async with _refusing(context):
            if request.job:
                self._job(request.job)
        return pb.ListRingsReply(rings=[ring_to(ring) for ring in view.view_rings(self._state, request.job)])

    async def ListJobs(self, request: pb.ListJobsRequest, context: Context) -> pb.ListJobsReply:
        """Jobs by name."""
        async with _refusing(context):
            if request.name:
                self._job(request.name)
        return pb.ListJobsReply(jobs=[job_to(job) for job in view.view_jobs(self._state, request.name)])

    async def SubmitJob(self, request: pb.SubmitJobRequest, context: Context) -> pb.Job:
        """Place a job; answered once it is on record."""
        wanted = SubmitJob(
            request="",
            name=request.name,
            rings=request.rings,
            tp=request.tp,
            min_rings=request.min_rings,
            priority=request.priority,
            pinned=request.pinned,
        )
        async with _refusing(context):
            await self._runtime.ask(await with_proposal(self._state, wanted))
        return job_to(view.view_jobs(self._state, request.name)[0])

    async def ReleaseJob(self, request: pb.ReleaseJobRequest, context: Context) -> pb.Job:
        """Dissolve a job; answered once that is on record."""
        async with _refusing(context):
            job = self._job(request.name)
            await self._runtime.ask(ReleaseJob("", request.name))
        return job_to(view.view_job(job))

    async def ResizeJob(self, request: pb.ResizeJobRequest, context: Context) -> pb.ResizeJobReply:
        """Give a job another number of rings; answered once that is on record."""
        wanted = ResizeJob("", request.name, request.rings, request.min_rings, dry_run=request.dry_run)
        async with _refusing(context):
            job = self._job(request.name)
            planned = await self._runtime.ask(wanted)
        return pb.ResizeJobReply(job=job_to(view.view_job(job)), rings=changes_to(planned), reasons=planned.reasons)

    async def Cordon(self, request: pb.CordonRequest, context: Context) -> pb.CordonReply:
        """Keep nodes out of every ring that does not have them; answered once that is on record."""
        async with _refusing(context):
            await self._runtime.ask(Cordon("", tuple(request.nodes), request.reason))
        return pb.CordonReply(nodes=self._nodes(request.nodes))

    async def Uncordon(self, request: pb.UncordonRequest, context: Context) -> pb.UncordonReply:
        """Lift the overlays of nodes; answered once that is on record."""
        async with _refusing(context):
            await self._runtime.ask(Uncordon("", tuple(request.nodes)))
        return pb.UncordonReply(nodes=self._nodes(request.nodes))

    async def Drain(self, request: pb.DrainRequest, context: Context) -> pb.DrainReply:
        """Take nodes out of their rings and cordon them; answered once that is on record."""
        async with _refusing(context):
            wanted = drain_from(request)
            planned = await self._runtime.ask(wanted)
        return pb.DrainReply(nodes=self._nodes(request.nodes), rings=changes_to(planned), reasons=planned.reasons)

    async def ReleaseQuarantine(
        self, request: pb.ReleaseQuarantineRequest, context: Context
    ) -> pb.ReleaseQuarantineReply:
        """Trust nodes again; answered once that is on record."""
        async with _refusing(context):
            await self._runtime.ask(ReleaseQuarantine("", tuple(request.nodes)))
        return pb.ReleaseQuarantineReply(nodes=self._nodes(request.nodes))

    async def TrustHops(self, request: pb.TrustHopsRequest, context: Context) -> pb.Fabric:
        """Use fibres again that were repaired; answered once that is on record."""
        async with _refusing(context):
            await self._runtime.ask(TrustHops("", tuple(request.hops)))
        return self._fabric()

    async def Pause(self, request: pb.PauseRequest, context: Context) -> pb.Fabric:
        """Let nothing move; answered once that is on record."""
        async with _refusing(context):
            await self._runtime.ask(Pause("", request.reason))
        return self._fabric()

    async def Resume(self, request: pb.ResumeRequest, context: Context) -> pb.Fabric:
        """End a pause."""
        async with _refusing(context):
            await self._runtime.ask(Resume(""))
        return self._fabric()

    async def ResetBreaker(self, request: pb.ResetBreakerRequest, context: Context) -> pb.Fabric:
        """Let things move again after the breaker tripped."""
        async with _refusing(context):
            await self._runtime.ask(ResetBreaker(""))
        return self._fabric()

    async def ReportStall(self, request: pb.ReportStallRequest, context: Context) -> pb.ReportStallReply:
        """A launcher says that its job stands still."""
        async with _refusing(context):
            job = self._job(request.job)
            await self._runtime.ask(ReportStall("", request.job))
        members = {position for ring in job.rings for position in ring.chain}
        nodes = view.view_nodes(self._state, self._runtime.now)
        odd = [node for node in nodes if node.position in members and node.verdict != "HEALTHY"]
        return pb.ReportStallReply(nodes=[node_to(node) for node in odd])

    async def DeclareDead(self, request: pb.DeclareDeadRequest, context: Context) -> pb.DeclareDeadReply:
        """A person says that silent nodes are dead."""
        async with _refusing(context):
            await self._runtime.ask(DeclareDead("", tuple(request.nodes), request.reason))
        return pb.DeclareDeadReply(nodes=self._nodes(request.nodes))

    async def ListEvents(self, request: pb.ListEventsRequest, context: Context) -> pb.ListEventsReply:
        """The newest events of the log."""
        limit = request.limit or 1_000
        if limit > _MOST_EVENTS:
            hint = "page through them with `after`"
            await status.abort(context, InvalidError(f"at most {_MOST_EVENTS} events at once", hint=hint))
        async with _refusing(context):
            events = await self._runtime.logged_events(request.after, limit, request.subject)
        return pb.ListEventsReply(events=[event_to(event) for event in events])

    async def Watch(self, request: pb.WatchRequest, context: Context) -> AsyncIterator[pb.WatchReply]:
        """Events above a sequence number, a marker, then live ones."""
        async with _refusing(context):
            with self._runtime.feed_of_events.subscribe() as subscription:
                until = self._state.sequence
                for event in await self._runtime.logged_events(request.after, until, ""):
                    if event.event.sequence <= until:
                        yield pb.WatchReply(event=event_to(event))
                yield pb.WatchReply(synced=pb.Synced(sequence=until))
                while True:
                    yield pb.WatchReply(event=event_to(await subscription.get()))

    async def Explain(self, request: pb.ExplainRequest, context: Context) -> pb.ExplainReply:
        """Why something is as it is."""
        async with _refusing(context):
            found = explain(self._state, request.subject)
        return pb.ExplainReply(subject=found.subject, kind=found.kind, summary=found.summary, reasons=found.reasons)

    async def Plan(self, request: pb.PlanRequest, context: Context) -> pb.PlanReply:
        """What the controller would do; it is not done."""
        question = WhatIf(tuple(request.failed_nodes), tuple(request.dark_hops))
        async with _refusing(context):
            foretold = what_if(self._state, question, self._runtime.now)
        return foretold_to(foretold)

    async def AuditFabric(self, request: pb.AuditFabricRequest, context: Context) -> AsyncIterator[pb.AuditFabricReply]:
        """Light idle fibres and see where they end."""
        wanted = BeginAudit("", "", tuple(request.nodes), request.highest_loss)
        async with _refusing(context), aclosing(self._runtime.audit(wanted)) as news:
            async for told in news:
                if isinstance(told, AuditOver) and told.why:
                    hint = "its nodes go back to loopback; ask again when that is over"
                    raise RinglightError(f"the audit was broken off: {told.why}", hint=hint, code=ErrorCode.REFUSED)
                yield audit_to(told, self._state.wiring)

    def _fabric(self) -> pb.Fabric:
        fabric = view.view_fabric(self._state, self._runtime.now)
        return fabric_to(fabric, store=self._runtime.store_trouble or "ok", starting=not self._state.open)

    def _job(self, name: str) -> JobRecord:
        return self._state.job(name)

    def _nodes(self, names: Iterable[str]) -> list[pb.Node]:
        wanted = set(names)
        return [node_to(node) for node in view.view_nodes(self._state, self._runtime.now) if node.name in wanted]
