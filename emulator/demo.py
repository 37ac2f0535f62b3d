"""The demo: 64 emulated nodes, one job, and everything that can happen to it; live in the terminal.

Each step breaks something, waits for what must follow, and compares light with plan. Nothing is simulated here: the
controller, the agents and the emulator are the real processes, and the demo is only somebody who watches.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringlight.emulator.compressed import compressed_timers
from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Stack, run_stack
from ringlight.fabric.spec import default_bundles
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

NODES = 64
_RINGS = 6
_TP = 32
_GPUS = 4
_ROUNDS = 30  # GPUs killed one after another for the latency figures
_SPARES_LEFT = 12  # with fewer, the next round waits for a repaired node's probation

_FABRIC: dict[str, Any] = {"name": "demo", "k": 2, "closed": True, "gpus": _GPUS, "nodes": {"count": NODES}}
_MODULES = 2  # a bundle, where they have registers: enough to disagree, and one machine can watch them all

_TIMERS = compressed_timers(1_200)

# Shorter than the defaults, so that silence and recovery can be watched without a coffee.
_SETTINGS: dict[str, Any] = {
    **_TIMERS,
    "heartbeat": {"interval": 0.25},
    "health": {**_TIMERS["health"], "start_grace": 5.0},
}


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of the demo.

    Attributes:
        title: what was done.
        outcome: what followed, in a few words.
        seconds: from the evidence to proven light, where a ring healed.
        good: whether what must follow did, and light and plan agree.
    """

    title: str
    outcome: str
    seconds: float | None
    good: bool


@dataclass(slots=True)
class DemoReport:
    """All steps, and the latencies of the last one (seconds)."""

    steps: list[StepResult] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    violations: int = 0

    @property
    def good(self) -> bool:
        """Whether every step went as it must."""
        return all(step.good for step in self.steps) and not self.violations


@dataclass(frozen=True, slots=True)
class DemoOutput:
    """Where the demo shows what happens: the stack that runs, the heading of a step, an event, a result of a step."""

    started: Callable[[Stack], None]
    heading: Callable[[str], None]
    event: Callable[[fabric_pb2.Event], None]
    result: Callable[[StepResult], None]


async def run_demo(
    directory: Path,
    output: DemoOutput,
    *,
    modules: str = "fast",
    keep: Callable[[Stack], Awaitable[None]] | None = None,
) -> DemoReport:
    """Run the demo.

    Args:
        directory: for everything the processes write.
        output: where it is shown.
        modules: fidelity of the emulated hardware, ``fast`` or ``registers``.
        keep: called at the end with the running stack; the demo ends when it returns.

    Raises:
        RinglightError: the stack did not start, or something that must happen did not.
    """
    async with (
        run_stack(directory, _fabric(modules), settings=_SETTINGS, modules=modules) as stack,
        observe(stack.controller, stack.emulator) as observer,
    ):
        output.started(stack)
        demo = _Demo(observer, output)
        for step in (
            demo.place,
            demo.kill_gpu,
            demo.power_off,
            demo.cut_fibre,
            demo.crash_agent,
            demo.repair,
            demo.many,
        ):
            await step()
        demo.report.violations = (await observer.settled()).invariant_violations
        if keep is not None:
            await keep(stack)
        return demo.report


def _fabric(modules: str) -> dict[str, Any]:
    if modules == "fast":
        return _FABRIC
    bundles = default_bundles(_FABRIC["k"], _GPUS)
    return {**_FABRIC, "bundles": [{"edge": bundle.edge, "modules": _MODULES} for bundle in bundles]}


class _Demo:
    """The steps."""

    def __init__(self, observer: Observer, output: DemoOutput) -> None:
        self.report = DemoReport()
        self._observer = observer
        self._output = output
        observer.on_event.append(self._show)
        self._quiet = False

    def _show(self, event: fabric_pb2.Event) -> None:
        if not self._quiet:
            self._output.event(event)

    async def place(self) -> None:
        """Submit the job."""
        self._output.heading(f"{NODES} nodes of {_GPUS} GPUs dial in; a job asks for {_RINGS} rings of {_TP} GPUs")
        self._quiet = True
        await self._observer.all_connected(NODES)
        self._quiet = False
        await self._observer.fabric.SubmitJob(fabric_pb2.SubmitJobRequest(name="train", rings=_RINGS, tp=_TP))
        await self._conclude("job submitted", f"{_RINGS} rings carry light", None, good=True)

    async def kill_gpu(self) -> None:
        """A GPU falls off the bus."""
        ring = await self._ring(2)
        victim = ring.nodes[3]
        self._output.heading(f"GPU 1 of {victim} in {ring.name} falls off the bus (XID 79)")
        await self._break_and_heal(
            "GPU died", ring.name, pb.InjectRequest(kind=pb.FAULT_KIND_GPU_XID, node=victim, gpu=1, xid=79)
        )

    async def power_off(self) -> None:
        """A node loses power: its agent falls silent, its neighbours lose its light."""
        ring = await self._ring(4)
        victim = ring.nodes[4]
        self._output.heading(f"{victim} in {ring.name} loses power; silence must be confirmed, darkness is the witness")
        await self._break_and_heal(
            "node lost power", ring.name, pb.InjectRequest(kind=pb.FAULT_KIND_POWER_OFF, node=victim)
        )

    async def cut_fibre(self) -> None:
        """A fibre is cut: both nodes are well and must stay."""
        ring = await self._ring(5)
        near, far = ring.nodes[2:4]
        distance = (int(far.removeprefix("n")) - int(near.removeprefix("n"))) % NODES
        self._output.heading(f"the fibre {near}+{distance} in {ring.name} is cut; both nodes stay up")
        await self._break_and_heal(
            "fibre cut", ring.name, pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_CUT, node=near, distance=distance)
        )

    async def crash_agent(self) -> None:
        """An agent crashes: nothing must move."""
        ring = await self._ring(1)
        victim = ring.nodes[2]
        self._output.heading(f"the agent of {victim} in {ring.name} crashes; its light is on, so nothing must move")
        before = await self._observer.settled()
        await self._observer.emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_AGENT_CRASH, node=victim))
        await self._observer.until(
            lambda event: event.subject == victim and event.data.get("verdict") == "UNREACHABLE",
            after=before.last_event,
        )
        after = await self._observer.settled()
        unmoved = after.generation == before.generation
        await self._conclude("agent crashed", "nothing moved" if unmoved else "SOMETHING MOVED", None, good=unmoved)

    async def repair(self) -> None:
        """Everything is repaired: nodes come back as spares, no ring moves."""
        self._output.heading("everything is repaired; nodes come back as spares after probation, and no ring moves")
        before = await self._observer.settled()
        rings = {ring.name: ring.generation for ring in await self._observer.rings()}
        await self._observer.emulator.Repair(pb.RepairRequest(all=True))
        await self._observer.all_connected(NODES)
        unmoved = {ring.name: ring.generation for ring in await self._observer.rings()} == rings
        gained = (await self._observer.settled()).spares - before.spares
        outcome = f"{gained} more spares, no ring moved" if unmoved else "A RING MOVED"
        await self._conclude("all repaired", outcome, None, good=unmoved)

    async def many(self) -> None:
        """Many GPUs die one after another, for the figures."""
        self._output.heading(f"{_ROUNDS} more GPUs die and are replaced, one after another")
        self._quiet = True
        agree = True
        for turn in range(_ROUNDS):
            await self._spares()
            ring = await self._ring(turn % _RINGS)
            victim = ring.nodes[turn % len(ring.nodes)]
            seconds = await self._kill(
                ring.name, pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=victim, gpu=turn % _GPUS)
            )
            self.report.latencies.append(seconds)
            agree = agree and (await self._observer.compare()).equal
            await self._observer.emulator.Repair(pb.RepairRequest(node=victim))
        await self._conclude(f"{_ROUNDS} GPUs died", f"{_ROUNDS} rings healed", None, good=agree)

    async def _spares(self) -> None:
        """Wait until enough repaired nodes are trusted again."""
        while (fabric := await self._observer.settled()).spares < _SPARES_LEFT:
            await self._observer.reached(fabric.last_event + 1)

    async def _ring(self, index: int) -> fabric_pb2.Ring:
        return (await self._observer.rings())[index]

    async def _break_and_heal(self, title: str, ring: str, fault: pb.InjectRequest) -> None:
        untouched = {r.name: r.generation for r in await self._observer.rings() if r.name != ring}
        seconds = await self._kill(ring, fault)
        others = {r.name: r.generation for r in await self._observer.rings() if r.name != ring}
        outcome = f"{ring} healed" + ("" if others == untouched else ", BUT ANOTHER RING MOVED")
        await self._conclude(title, outcome, seconds, good=others == untouched)

    async def _kill(self, ring: str, fault: pb.InjectRequest) -> float:
        """Break something and wait until the ring is ACTIVE again; the seconds the controller needed."""
        after = self._observer.last_sequence
        await self._observer.emulator.Inject(fault)
        healed = await self._observer.until(
            lambda event: event.kind == "ring-active" and event.subject == ring and "heal_seconds" in event.data,
            after=after,
        )
        return float(healed.data["heal_seconds"])

    async def _conclude(self, title: str, outcome: str, seconds: float | None, *, good: bool) -> None:
        comparison = await self._observer.compare()
        agree = comparison.equal and len(comparison.planned) == _RINGS
        agreement = "light = plan" if agree else "LIGHT AND PLAN DIFFER"
        result = StepResult(title, f"{outcome}, {agreement}", seconds, good and agree)
        self.report.steps.append(result)
        self._output.result(result)
