"""FabricService: what operators, schedulers and the CLI see and ask, over gRPC. Converts, and decides nothing."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from ringlight.controller.engine import view
from ringlight.controller.engine.explain import explain
from ringlight.controller.ports import LoggedEvent
from ringlight.controller.runtime import Runtime
from ringlight.fabric.errors import InvalidError, NotFoundError, RinglightError
from ringlight.protos import status
from ringlight.protos.v1 import fabric_pb2 as pb
from ringlight.protos.v1 import fabric_pb2_grpc

_MOST_EVENTS = 10_000

Context = grpc.aio.ServicerContext[Any, Any]


class FabricService(fabric_pb2_grpc.FabricServiceServicer):
    """The northbound API."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._state = runtime.engine.state

    async def GetFabric(self, request: pb.GetFabricRequest, context: Context) -> pb.Fabric:
        """The fabric at a glance."""
        fabric = view.view_fabric(self._state, self._runtime.now)
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
            gpus_healthy=fabric.gpus_healthy,
            gpus_in_rings=fabric.gpus_in_rings,
            last_event=fabric.last_event,
            invariant_violations=fabric.violations,
            longest_bypass=fabric.longest_bypass,
            store=self._runtime.store_trouble or "ok",
        )

    async def ListNodes(self, request: pb.ListNodesRequest, context: Context) -> pb.ListNodesReply:
        """Nodes in fabric order."""
        nodes = view.view_nodes(self._state, self._runtime.now)
        return pb.ListNodesReply(
            nodes=[_node(node) for node in nodes if not request.abnormal_only or node.verdict != "HEALTHY"]
        )

    async def ListRings(self, request: pb.ListRingsRequest, context: Context) -> pb.ListRingsReply:
        """Rings by job and rank."""
        if request.job and request.job not in self._state.jobs:
            await status.abort(context, self._no_job(request.job))
        return pb.ListRingsReply(rings=[_ring(ring) for ring in view.view_rings(self._state, request.job)])

    async def ListJobs(self, request: pb.ListJobsRequest, context: Context) -> pb.ListJobsReply:
        """Jobs by name."""
        jobs = view.view_jobs(self._state, request.name)
        if request.name and not jobs:
            await status.abort(context, self._no_job(request.name))
        return pb.ListJobsReply(jobs=[_job(job) for job in jobs])

    async def SubmitJob(self, request: pb.SubmitJobRequest, context: Context) -> pb.Job:
        """Place a job; answered once it is on record."""
        try:
            await self._runtime.submit(
                request.name,
                rings=request.rings,
                tp=request.tp,
                min_rings=request.min_rings,
                priority=request.priority,
                pinned=request.pinned,
            )
        except RinglightError as error:
            await status.abort(context, error)
        return _job(view.view_jobs(self._state, request.name)[0])

    async def ReleaseJob(self, request: pb.ReleaseJobRequest, context: Context) -> pb.Job:
        """Dissolve a job; answered once that is on record."""
        job = self._state.jobs.get(request.name)
        try:
            await self._runtime.release(request.name)
        except RinglightError as error:
            await status.abort(context, error)
        if job is None:
            raise AssertionError("the engine released a job that did not exist")
        return _job(view.view_job(job))

    async def ListEvents(self, request: pb.ListEventsRequest, context: Context) -> pb.ListEventsReply:
        """The newest events of the log."""
        limit = request.limit or 1_000
        if limit > _MOST_EVENTS:
            hint = "page through them with `after`"
            await status.abort(context, InvalidError(f"at most {_MOST_EVENTS} events at once", hint=hint))
        try:
            events = await self._runtime.logged_events(request.after, limit, request.subject)
        except RinglightError as error:
            await status.abort(context, error)
        return pb.ListEventsReply(events=[_event(event) for event in events])

    async def Watch(self, request: pb.WatchRequest, context: Context) -> AsyncIterator[pb.WatchReply]:
        """Events above a sequence number, a marker, then live ones."""
        with self._runtime.feed_of_events.subscribe() as subscription:
            until = self._state.sequence
            try:
                for event in await self._runtime.logged_events(request.after, until, ""):
                    if event.event.sequence <= until:
                        yield pb.WatchReply(event=_event(event))
                yield pb.WatchReply(synced=pb.Synced(sequence=until))
                while True:
                    yield pb.WatchReply(event=_event(await subscription.get()))
            except RinglightError as error:
                await status.abort(context, error)

    async def Explain(self, request: pb.ExplainRequest, context: Context) -> pb.ExplainReply:
        """Why something is as it is."""
        try:
            found = explain(self._state, request.subject)
        except RinglightError as error:
            await status.abort(context, error)
        return pb.ExplainReply(subject=found.subject, kind=found.kind, summary=found.summary, reasons=found.reasons)

    def _no_job(self, name: str) -> NotFoundError:
        known = ", ".join(sorted(self._state.jobs)) or "none"
        return NotFoundError(f"no job {name!r}", hint=f"jobs: {known}")


def _node(node: view.NodeView) -> pb.Node:
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
    )


def _ring(ring: view.RingView) -> pb.Ring:
    return pb.Ring(
        name=ring.name,
        job=ring.job,
        state=ring.state.value,
        nodes=ring.nodes,
        gpus=ring.gpus,
        cause=ring.cause,
        generation=ring.generation,
    )


def _job(job: view.JobView) -> pb.Job:
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


def _event(logged: LoggedEvent) -> pb.Event:
    event = logged.event
    return pb.Event(
        sequence=event.sequence,
        time=logged.time,
        kind=event.kind,
        subject=event.subject,
        text=event.text,
        data=event.data,
    )
