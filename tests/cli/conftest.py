# ruff: noqa: N802  # gRPC prescribes the names of the fakes' methods
"""A fabric and an emulator that answer what a test put in them, over real gRPC, and two ways to run commands.

`ringlight` runs a command in this process, which is quick. A command that leaves a stream of its own accord runs with
`process`: gRPC's event queue is one for the whole process, and what the old event loop left in it disturbs the next.
"""

import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

import grpc
import pytest

from ringlight.cli.main import run
from ringlight.protos.status import HINT_KEY
from ringlight.protos.v1 import emulator_pb2_grpc, fabric_pb2_grpc
from ringlight.protos.v1 import fabric_pb2 as pb
from ringlight.protos.v1.emulator_pb2 import (
    EmulatedFault,
    GpuPath,
    InjectRequest,
    ListFaultsReply,
    ListFaultsRequest,
    RepairReply,
    RepairRequest,
    TraceReply,
    TraceRequest,
)


@dataclass
class Fake:
    """Requests seen, and what is answered instead of a reply: status, message and hint."""

    requests: list[Any] = field(default_factory=list)
    failure: tuple[grpc.StatusCode, str, str] | None = None
    address: str = ""

    def note(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        if self.failure is not None:
            status, message, hint = self.failure
            context.set_trailing_metadata(((HINT_KEY, hint),))
            context.abort(status, message)


def _laid(name: str, overlay: str, reason: str) -> pb.Node:
    return pb.Node(name=name, verdict="HEALTHY", overlay=overlay, overlay_reason=reason)


@dataclass
class FakeController(Fake, fabric_pb2_grpc.FabricServiceServicer):
    """Serves records that the test changes; `publish` sends an event to whoever watches."""

    fabric: pb.Fabric = field(default_factory=pb.Fabric)
    nodes: list[pb.Node] = field(default_factory=list)
    rings: list[pb.Ring] = field(default_factory=list)
    jobs: list[pb.Job] = field(default_factory=list)
    events: list[pb.Event] = field(default_factory=list)
    explanation: pb.ExplainReply = field(default_factory=pb.ExplainReply)
    foretold: pb.PlanReply = field(default_factory=pb.PlanReply)
    changes: list[pb.RingChange] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    audit: list[pb.AuditFabricReply] = field(default_factory=list)
    on_watch: Callable[[], None] | None = None
    ends_watch_after: int = 1_000
    state_on_submit: str = "PLACING"
    _live: "Queue[pb.Event | None]" = field(default_factory=Queue)

    def publish(self, event: pb.Event) -> None:
        self.events.append(event)
        self.fabric.last_event = event.sequence
        self._live.put(event)

    def GetFabric(self, request: pb.GetFabricRequest, context: grpc.ServicerContext) -> pb.Fabric:
        self.note(request, context)
        return self.fabric

    def ListNodes(self, request: pb.ListNodesRequest, context: grpc.ServicerContext) -> pb.ListNodesReply:
        self.note(request, context)
        return pb.ListNodesReply(nodes=self.nodes)

    def ListRings(self, request: pb.ListRingsRequest, context: grpc.ServicerContext) -> pb.ListRingsReply:
        self.note(request, context)
        return pb.ListRingsReply(rings=[ring for ring in self.rings if request.job in {"", ring.job}])

    def ListJobs(self, request: pb.ListJobsRequest, context: grpc.ServicerContext) -> pb.ListJobsReply:
        self.note(request, context)
        return pb.ListJobsReply(jobs=[job for job in self.jobs if request.name in {"", job.name}])

    def ListEvents(self, request: pb.ListEventsRequest, context: grpc.ServicerContext) -> pb.ListEventsReply:
        self.note(request, context)
        found = [event for event in self.events if event.sequence > request.after]
        found = [event for event in found if request.subject in {"", event.subject}]
        return pb.ListEventsReply(events=found[-request.limit :])

    def Watch(self, request: pb.WatchRequest, context: grpc.ServicerContext) -> Iterator[pb.WatchReply]:
        self.note(request, context)
        context.add_callback(lambda: self._live.put(None))
        yield pb.WatchReply(synced=pb.Synced(sequence=self.fabric.last_event))
        if self.on_watch is not None:
            self.on_watch()
        for _ in range(self.ends_watch_after):
            event = self._live.get(timeout=30)
            if event is None:
                return
            yield pb.WatchReply(event=event)

    def SubmitJob(self, request: pb.SubmitJobRequest, context: grpc.ServicerContext) -> pb.Job:
        self.note(request, context)
        job = pb.Job(
            name=request.name,
            rings=request.rings,
            tp=request.tp,
            min_rings=request.min_rings or request.rings,
            priority=request.priority,
            pinned=request.pinned,
            state=self.state_on_submit,
        )
        self.jobs.append(job)
        return job

    def ReleaseJob(self, request: pb.ReleaseJobRequest, context: grpc.ServicerContext) -> pb.Job:
        self.note(request, context)
        return pb.Job(name=request.name, state="RELEASED", rings=1, tp=8)

    def ResizeJob(self, request: pb.ResizeJobRequest, context: grpc.ServicerContext) -> pb.ResizeJobReply:
        self.note(request, context)
        job = pb.Job(name=request.name, state="RUNNING", rings=request.rings, min_rings=request.min_rings, tp=8)
        return pb.ResizeJobReply(job=job, rings=self.changes, reasons=self.reasons)

    def Cordon(self, request: pb.CordonRequest, context: grpc.ServicerContext) -> pb.CordonReply:
        self.note(request, context)
        return pb.CordonReply(nodes=[_laid(name, "cordoned", request.reason) for name in request.nodes])

    def Uncordon(self, request: pb.UncordonRequest, context: grpc.ServicerContext) -> pb.UncordonReply:
        self.note(request, context)
        return pb.UncordonReply(nodes=[_laid(name, "", "") for name in request.nodes])

    def Drain(self, request: pb.DrainRequest, context: grpc.ServicerContext) -> pb.DrainReply:
        self.note(request, context)
        overlay = "" if request.dry_run else "draining"
        nodes = [_laid(name, overlay, request.reason) for name in request.nodes]
        return pb.DrainReply(nodes=nodes, rings=self.changes, reasons=self.reasons)

    def ReleaseQuarantine(
        self, request: pb.ReleaseQuarantineRequest, context: grpc.ServicerContext
    ) -> pb.ReleaseQuarantineReply:
        self.note(request, context)
        return pb.ReleaseQuarantineReply(nodes=[_laid(name, "", "") for name in request.nodes])

    def TrustHops(self, request: pb.TrustHopsRequest, context: grpc.ServicerContext) -> pb.Fabric:
        self.note(request, context)
        return self.fabric

    def Pause(self, request: pb.PauseRequest, context: grpc.ServicerContext) -> pb.Fabric:
        self.note(request, context)
        return self.fabric

    def Resume(self, request: pb.ResumeRequest, context: grpc.ServicerContext) -> pb.Fabric:
        self.note(request, context)
        return self.fabric

    def ResetBreaker(self, request: pb.ResetBreakerRequest, context: grpc.ServicerContext) -> pb.Fabric:
        self.note(request, context)
        return self.fabric

    def ReportStall(self, request: pb.ReportStallRequest, context: grpc.ServicerContext) -> pb.ReportStallReply:
        self.note(request, context)
        return pb.ReportStallReply(nodes=self.nodes)

    def DeclareDead(self, request: pb.DeclareDeadRequest, context: grpc.ServicerContext) -> pb.DeclareDeadReply:
        self.note(request, context)
        return pb.DeclareDeadReply(nodes=[_laid(name, "", "") for name in request.nodes])

    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainReply:
        self.note(request, context)
        return self.explanation

    def AuditFabric(
        self, request: pb.AuditFabricRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.AuditFabricReply]:
        self.note(request, context)
        yield from self.audit

    def Plan(self, request: pb.PlanRequest, context: grpc.ServicerContext) -> pb.PlanReply:
        self.note(request, context)
        return self.foretold


@dataclass
class FakeEmulator(Fake, emulator_pb2_grpc.EmulatorServiceServicer):
    """Serves faults and a trace."""

    faults: list[EmulatedFault] = field(default_factory=list)
    cycles: list[list[str]] = field(default_factory=list)
    dangling: list[list[str]] = field(default_factory=list)

    def Inject(self, request: InjectRequest, context: grpc.ServicerContext) -> EmulatedFault:
        self.note(request, context)
        return EmulatedFault(id=request.id or "f1", kind=request.kind, node=request.node, component="gpu2")

    def Repair(self, request: RepairRequest, context: grpc.ServicerContext) -> RepairReply:
        self.note(request, context)
        return RepairReply(repaired=self.faults)

    def ListFaults(self, request: ListFaultsRequest, context: grpc.ServicerContext) -> ListFaultsReply:
        self.note(request, context)
        return ListFaultsReply(faults=self.faults)

    def Trace(self, request: TraceRequest, context: grpc.ServicerContext) -> TraceReply:
        self.note(request, context)
        return TraceReply(
            cycles=[GpuPath(gpus=gpus) for gpus in self.cycles], dangling=[GpuPath(gpus=gpus) for gpus in self.dangling]
        )


@contextlib.contextmanager
def _serving(fake: Fake, add: Callable[[Any, grpc.Server], None]) -> Iterator[None]:
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    add(fake, server)
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield
    finally:
        stopped: threading.Event = server.stop(grace=None)
        assert stopped.wait(timeout=30)


@pytest.fixture
def controller() -> Iterator[FakeController]:
    fake = FakeController()
    with _serving(fake, fabric_pb2_grpc.add_FabricServiceServicer_to_server):
        yield fake


@pytest.fixture
def emulator() -> Iterator[FakeEmulator]:
    fake = FakeEmulator()
    with _serving(fake, emulator_pb2_grpc.add_EmulatorServiceServicer_to_server):
        yield fake


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def ringlight(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run a command in this process, with its standard output no terminal; `asks` names the fake it talks to."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # must not bring colours into a pipe
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def invoke(*arguments: str, asks: Fake | None = None) -> Outcome:
        for variable in ("RINGLIGHT_CONTROLLER", "RINGLIGHT_EMULATOR"):
            monkeypatch.setenv(variable, "127.0.0.1:9" if asks is None else asks.address)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
        return Outcome(code, out.getvalue(), err.getvalue())

    return invoke


def environment(fake: Fake) -> dict[str, str]:
    """For a process that asks a fake."""
    return os.environ | {"RINGLIGHT_CONTROLLER": fake.address, "RINGLIGHT_EMULATOR": fake.address}


@pytest.fixture
def process() -> Callable[..., Outcome]:
    """Run a command in a process of its own."""

    def invoke(*arguments: str, asks: Fake) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "ringlight.cli.main", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
            env=environment(asks),
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return invoke


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Start a command and leave it running; what still runs after the test is killed."""
    with contextlib.ExitStack() as stack:

        def popen(*arguments: str, asks: Fake, **options: Any) -> "subprocess.Popen[bytes]":
            child = subprocess.Popen(
                [sys.executable, "-m", "ringlight.cli.main", *arguments], env=environment(asks), **options
            )
            stack.enter_context(child)
            stack.callback(child.kill)
            return child

        yield popen
