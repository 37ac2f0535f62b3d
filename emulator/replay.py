"""Feeds a fault trace through the whole real stack in compressed time, and judges what it did.

One job fills most of the fabric. Every fault of the trace opens in the emulated hardware of its server and closes
there; the agents report it, the controller heals. The job is pinned: a ring that works is never moved to make room
for another one, so a ring either finds a spare at hand or waits for a repair.

At every quiet moment (all faults of a time stamp were heard, nothing is in flight) light and plan are compared, and
every ring that changed must have had a faulty node or have been waiting.
"""

import asyncio
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from ringlight.emulator.compressed import compressed_timers
from ringlight.emulator.fault_trace import TraceEvent, read_trace
from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import run_stack
from ringlight.fabric.errors import InvalidError
from ringlight.protos.v1 import emulator_pb2, fabric_pb2

GPUS_PER_SERVER = 8
_JOB = "train"


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """How a trace is replayed.

    Attributes:
        speed: seconds of trace in one second; the replay is slower where the stack needs longer.
        servers: nodes of the fabric; servers that the trace does not mention never fail.
        k: longest hop distance.
        tp: GPUs a ring.
        fill: share of the fabric's nodes that the job takes.
        seed: of the servers' positions and the emulator's randomness.
    """

    speed: float = 1_000_000.0
    servers: int = 400
    k: int = 3
    tp: int = 32
    fill: float = 0.8
    seed: int = 1


@dataclass(slots=True)
class ReplayReport:
    """What a replay found.

    Attributes:
        faults: faults that were opened.
        healed: rings that found a spare at once, once for each time.
        waited: rings that had to wait for a repair, once for each time.
        untouched_rings_touched: rings without a faulty node that changed; must be 0.
        heal_seconds: from the arrival of the report to the ring ACTIVE, for rings that did not wait.
        quiet_moments: times at which light and plan were compared.
        mismatches: quiet moments at which they differed, as trace seconds.
        violations: commands an invariant refused; must be 0.
        wall_seconds: how long the replay took.
    """

    faults: int = 0
    healed: int = 0
    waited: int = 0
    untouched_rings_touched: int = 0
    heal_seconds: list[float] = field(default_factory=list)
    quiet_moments: int = 0
    mismatches: list[float] = field(default_factory=list)
    violations: int = 0
    wall_seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.untouched_rings_touched or self.mismatches or self.violations)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; nan without values."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


async def replay(
    trace: Path, directory: Path, settings: ReplaySettings, *, progress: Callable[[float], None]
) -> ReplayReport:
    """Replay a trace.

    Args:
        trace: the file.
        directory: for everything the processes write.
        settings: how.
        progress: called with the share of the trace that is done.

    Raises:
        InvalidError: the file is not a trace, or does not fit the fabric.
        RinglightError: the stack did not start, or stopped answering.
    """
    events = await asyncio.to_thread(read_trace, trace)
    names = _place(events, settings)
    configuration = compressed_timers(settings.speed)
    async with (
        run_stack(directory, _fabric(settings), settings=configuration, seed=settings.seed) as stack,
        observe(stack.controller, stack.emulator) as observer,
    ):
        run = _Replay(observer, settings, names)
        await run.begin()
        for seconds, batch in groupby(events, key=lambda event: event.seconds):
            await run.step(seconds, list(batch))
            progress(seconds / (events[-1].seconds or 1.0))
        return await run.end()


def _fabric(settings: ReplaySettings) -> dict[str, Any]:
    return {
        "name": "trace",
        "k": settings.k,
        "closed": True,
        "gpus": GPUS_PER_SERVER,
        "nodes": {"count": settings.servers},
    }


def _place(events: Iterable[TraceEvent], settings: ReplaySettings) -> dict[str, str]:
    """A node for each server of the trace, anywhere in the order."""
    servers = sorted({event.server for event in events})
    if len(servers) > settings.servers:
        raise InvalidError(
            f"the trace has faults on {len(servers)} servers, the fabric has {settings.servers} nodes",
            hint="replay it on a larger fabric (--servers)",
        )
    positions = random.Random(settings.seed).sample(range(settings.servers), len(servers))  # noqa: S311 - no secret
    return {server: f"n{position}" for server, position in zip(servers, positions, strict=True)}


class _Replay:
    """One replay under way."""

    def __init__(self, observer: Observer, settings: ReplaySettings, names: dict[str, str]) -> None:
        self._observer = observer
        self._settings = settings
        self._names = names
        self._report = ReplayReport()
        self._faulty: dict[str, set[int]] = defaultdict(set)
        self._rings: dict[str, fabric_pb2.Ring] = {}
        self._waiting: set[str] = set()
        self._began = 0.0
        observer.on_event.append(self._note)

    async def begin(self) -> None:
        """Wait until every agent is there, and place the job."""
        observer, settings = self._observer, self._settings
        await observer.all_connected(settings.servers, seconds=120.0)
        nodes_per_ring = settings.tp // GPUS_PER_SERVER
        rings = int(settings.servers * settings.fill) // nodes_per_ring
        await observer.fabric.SubmitJob(
            fabric_pb2.SubmitJobRequest(name=_JOB, rings=rings, tp=settings.tp, min_rings=1, pinned=True)
        )
        await observer.settled()
        self._rings = {ring.name: ring for ring in await observer.rings()}
        self._began = asyncio.get_running_loop().time()

    async def step(self, seconds: float, batch: list[TraceEvent]) -> None:
        """Everything of one time stamp, and the quiet moment after it."""
        due = self._began + seconds / self._settings.speed
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        suspects = {self._names[event.server] for event in batch} | {n for n, open_ in self._faulty.items() if open_}
        heard = self._observer.last_sequence
        await asyncio.gather(*(self._inject(event) for event in batch if event.begins))
        await asyncio.gather(*(self._repair(event) for event in batch if not event.begins))
        for event in batch:
            await self._observer.until(_heard_of(event), after=heard)
        await self._judge(seconds, suspects)

    async def _inject(self, event: TraceEvent) -> None:
        self._report.faults += 1
        self._faulty[self._names[event.server]].add(event.fault)
        await self._observer.emulator.Inject(_request(event, self._names[event.server]))

    async def _repair(self, event: TraceEvent) -> None:
        self._faulty[self._names[event.server]].discard(event.fault)
        await self._observer.emulator.Repair(emulator_pb2.RepairRequest(id=_id(event.fault)))

    async def _judge(self, seconds: float, suspects: set[str]) -> None:
        """Compare light and plan, and look for rings that changed without need."""
        comparison = await self._observer.compare()
        self._report.quiet_moments += 1
        if not comparison.equal:
            self._report.mismatches.append(seconds)
        for ring in comparison.rings:
            former = self._rings[ring.name]
            if ring.generation != former.generation and former.nodes and not suspects & set(former.nodes):
                self._report.untouched_rings_touched += 1
            self._rings[ring.name] = ring

    def _note(self, event: fabric_pb2.Event) -> None:
        """Follow the rings' fates."""
        if event.kind == "ring-broken":
            self._waiting.add(event.subject)
            self._report.waited += 1
        elif event.kind == "ring-active" and "heal_seconds" in event.data:
            if event.subject in self._waiting:
                self._waiting.discard(event.subject)
            else:
                self._report.healed += 1
                self._report.heal_seconds.append(float(event.data["heal_seconds"]))

    async def end(self) -> ReplayReport:
        """The report."""
        fabric = await self._observer.settled()
        self._report.violations = fabric.invariant_violations
        self._report.wall_seconds = asyncio.get_running_loop().time() - self._began
        return self._report


def _heard_of(event: TraceEvent) -> Callable[[fabric_pb2.Event], bool]:
    """Recognises the controller's event that says it heard of this one."""
    kind = "fault-opened" if event.begins else "fault-closed"
    return lambda told: told.kind == kind and told.data["id"] == _id(event.fault)


def _id(fault: int) -> str:
    return f"trace-{fault}"


def _request(event: TraceEvent, node: str) -> emulator_pb2.InjectRequest:
    """How a fault of the trace shows in emulated hardware. Whatever it was, it takes its whole server out."""
    request = emulator_pb2.InjectRequest(node=node, id=_id(event.fault), gpu=event.fault % GPUS_PER_SERVER)
    if event.fault_class == "Parameter Plane Cable":
        request.kind = emulator_pb2.FAULT_KIND_MODULE_DEAD
    elif event.fault_class == "GPU":
        request.kind = emulator_pb2.FAULT_KIND_GPU_XID
        request.xid = 79
    else:
        request.kind = emulator_pb2.FAULT_KIND_GPU_LOST
    return request
