"""How long a ring is out when a GPU dies: the real processes, from the report to proven light.

Two spans are measured. *In the controller*: from the moment it has the report until the ring is ACTIVE, as it says
itself in its events (`heal_seconds`). *Outside*: from the call that breaks the GPU until somebody who watches the
controller's events knows that the ring is whole.

The floors are the same spans over the same number of gRPC hops, with nothing decided and no hardware: report, then
`_ECHOES` streams told at once, then their answers; outside, one hop more at either end.
"""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.echo import REPORTER, run_echo
from bench.fabrics import GPUS, RING_NODES, make_document, make_spec
from bench.figures import Figure, median, percentile
from bench.streams import Stream, hello_of, open_channels
from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import run_stack
from ringlight.fabric.errors import RinglightError
from ringlight.fabric.wiring import Wiring
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import emulator_pb2, fabric_pb2

_NODES, _RINGS = 64, 6
_FAULTS, _FAULTS_QUICK = 100, 10
_ROUNDS, _ROUNDS_QUICK = 500, 50  # of the floor
_ECHOES = 4
_SPARES_LEFT = 10  # with fewer, the next fault waits for a repaired node's probation
_SETTINGS = {"health": {"probation": 0.2}}  # seconds; so that repaired nodes serve again soon


@dataclass(slots=True)
class _Spans:
    """Seconds of each round."""

    inside: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)


def measure(*, quick: bool) -> list[Figure]:
    """Kill GPUs one after another; each ring must heal, with light as planned in the end."""
    floor = asyncio.run(_echo(_ROUNDS_QUICK if quick else _ROUNDS))
    with tempfile.TemporaryDirectory(prefix="ringlight-bench-") as directory:
        real = asyncio.run(_heal(Path(directory), _FAULTS_QUICK if quick else _FAULTS))
    return [
        figure
        for where, values, floors in (
            ("in the controller", real.inside, floor.inside),
            ("outside", real.outside, floor.outside),
        )
        for figure in _figures(where, values, floors)
    ]


def _figures(where: str, values: list[float], floors: list[float]) -> list[Figure]:
    floor_name = f"report, {_ECHOES} streams, answers"
    title = f"{len(values)} GPU faults, {where}"
    return [
        Figure("healing", f"{title}, p50", median(values), median(floors), floor_name),
        Figure("healing", f"{title}, p99", percentile(values, 0.99), percentile(floors, 0.99), floor_name),
        Figure("healing", f"{title}, max", max(values), max(floors), floor_name),
    ]


async def _heal(directory: Path, faults: int) -> _Spans:
    spans = _Spans()
    async with (
        run_stack(directory, make_document(_NODES), settings=_SETTINGS) as stack,
        observe(stack.controller, stack.emulator) as observer,
    ):
        await observer.all_connected(_NODES)
        job = fabric_pb2.SubmitJobRequest(name="train", rings=_RINGS, tp=RING_NODES * GPUS)
        await observer.fabric.SubmitJob(job)
        for turn in range(faults):
            await _spares(observer)
            ring = (await observer.rings())[turn % _RINGS]
            victim = ring.nodes[turn // _RINGS % len(ring.nodes)]
            after = observer.last_sequence
            began = time.perf_counter()
            fault = emulator_pb2.InjectRequest(kind=emulator_pb2.FAULT_KIND_GPU_LOST, node=victim, gpu=turn % GPUS)
            await observer.emulator.Inject(fault)
            healed = await observer.until(partial(_is_active, ring.name), after=after)
            spans.outside.append(time.perf_counter() - began)
            spans.inside.append(float(healed.data["heal_seconds"]))
            await observer.emulator.Repair(emulator_pb2.RepairRequest(node=victim))
        comparison = await observer.compare()
        if not comparison.equal or len(comparison.planned) != _RINGS:
            raise RinglightError(
                "light and plan differ after the faults", hint="the figures mean nothing; see the tests"
            )
    return spans


def _is_active(ring: str, event: fabric_pb2.Event) -> bool:
    return event.kind == "ring-active" and event.subject == ring


async def _spares(observer: Observer) -> None:
    """Wait until nothing is in flight and enough repaired nodes are trusted again."""
    while (fabric := await observer.settled()).spares < _SPARES_LEFT:
        await observer.reached(fabric.last_event + 1)


async def _echo(rounds: int) -> _Spans:
    spans = _Spans()
    wiring = Wiring(make_spec(_NODES))
    async with run_echo() as echo, open_channels(echo.address, 1) as (channel,), AsyncExitStack() as exits:
        tasks = await exits.enter_async_context(asyncio.TaskGroup())
        reporter = Stream(channel, REPORTER)
        await reporter.introduce(pb.AgentMessage(hello=pb.Hello(agent=REPORTER)))
        agents = [Stream(channel, f"echo-{number}") for number in range(_ECHOES)]
        for number, agent in enumerate(agents):
            await agent.introduce(hello_of(wiring, number))
        answering = [tasks.create_task(_answer(agent, rounds)) for agent in agents]
        for _ in range(rounds):
            began = time.perf_counter()
            await reporter.say(pb.AgentMessage(health=pb.HealthReport(node="n0")))
            confirm = (await reporter.hear("confirm")).confirm
            spans.outside.append(time.perf_counter() - began)
            spans.inside.append(float(confirm.transaction))
        await asyncio.gather(*answering)
        for stream in (reporter, *agents):
            await stream.leave()
    return spans


async def _answer(agent: Stream, rounds: int) -> None:
    for _ in range(rounds):
        command = (await agent.hear("set_circuits")).set_circuits
        await agent.say(pb.AgentMessage(applied=pb.Applied(node=command.node, generation=command.generation)))
