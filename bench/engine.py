"""What one event costs in the engine, in virtual time: no clock, no socket, no disk, only decisions.

Agents are ideal here: each carries out a command at once and sees light wherever both ends select a fibre. One job
holds rings of eight on about 90 % of the nodes. A heartbeat is one agent's for one node. A fault is followed to the
end: the report, the new plan, every answer, until the ring is ACTIVE again.
"""

import time
from collections import deque
from dataclasses import dataclass
from random import Random

from bench.fabrics import GPUS, NAME, RING_NODES, make_spec
from bench.figures import Figure, median, percentile
from ringlight.controller.engine.effects import Answer, SendCircuits
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    Event,
    FaultReported,
    Heartbeat,
    NodeBeat,
    NodeHello,
    Restored,
    SubmitJob,
    Tick,
)
from ringlight.controller.engine.state import RingState, State
from ringlight.controller.settings import ChangeSettings, Settings
from ringlight.fabric.circuits import CircuitTable, Fault, FaultClass, PortKey, digest
from ringlight.fabric.errors import RinglightError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.outcomes import ApplyCode, BundleCode
from ringlight.fabric.wiring import Wiring

_SIZES = (64, 1_000, 4_000)
_BUSY = 0.9
_SEED = 1
_FAULTS_SHARE = 0.03  # of all nodes: fewer than there are spares


def measure(*, quick: bool) -> list[Figure]:
    """Measure on fabrics of three sizes; of two when quick."""
    figures = []
    for nodes in _SIZES[: 2 if quick else None]:
        world = IdealFabric(nodes)
        floor = world.floor(rounds=20)
        beats = world.heartbeats(rounds=3 if quick else 10)
        faults = world.faults(min(50, max(2, int(nodes * _FAULTS_SHARE))))
        title = f"{nodes:,} nodes"
        one, ring = "look up and update one node", "the same for each node of a ring"
        of_ring = floor * RING_NODES
        figures += [
            Figure("engine", f"heartbeat, {title}", beats, floor, one),
            Figure("engine", f"fault report and new plan p50, {title}", median(faults.plan), of_ring, ring),
            Figure("engine", f"fault until ACTIVE p50, {title}", median(faults.whole), of_ring, ring),
            Figure("engine", f"fault until ACTIVE p99, {title}", percentile(faults.whole, 0.99), of_ring, ring),
        ]
    return figures


@dataclass(frozen=True, slots=True)
class _FaultTimes:
    """Seconds in the engine for each fault: of the event that reports it, and of all events until it is healed."""

    plan: list[float]
    whole: list[float]


@dataclass(slots=True)
class _Heard:
    """What the floor updates: the least a controller must remember of a heartbeat."""

    at: float = 0.0


class IdealFabric:
    """An engine with a running job, and agents that do everything at once."""

    def __init__(self, nodes: int) -> None:
        self._wiring = Wiring(make_spec(nodes))
        # The pause between two plans is waiting, not work: the clock stands still here, so it is as good as left out.
        self._engine = Engine(self._wiring, Settings(change=ChangeSettings(replan_pause=1e-12)))
        self._names = [self._wiring.name(position) for position in range(nodes)]
        self._tables: dict[str, CircuitTable] = dict.fromkeys(self._names, self._wiring.loopback)
        self._applied: dict[str, int] = dict.fromkeys(self._names, 0)
        self._now = 1000.0
        self._feed(Restored(epoch=1))
        for name in self._names:
            self._feed(self._hello(name))
        self._feed(SubmitJob("submit", "train", int(nodes * _BUSY) // RING_NODES, RING_NODES * GPUS))
        if any(ring.state is not RingState.ACTIVE for ring in self._engine.state.rings.values()):
            raise RinglightError("the job of the measurement does not run", hint="a test of the engine will say why")

    @property
    def state(self) -> State:
        """What the engine knows."""
        return self._engine.state

    def fall_silent(self, seconds: float) -> float:
        """Nobody is heard for so long; the time that it is then."""
        self._now += seconds
        self._feed(Tick())
        return self._now

    def heartbeats(self, rounds: int) -> float:
        """Seconds for one heartbeat, in the middle of rounds in which every node sends one."""
        times = []
        for _ in range(rounds):
            self._now += 1.0
            beats = [
                Heartbeat(name, (NodeBeat(name, self._applied[name], digest(self._tables[name])),))
                for name in self._names
            ]
            handle, now = self._engine.handle, self._now
            began = time.perf_counter()
            for beat in beats:
                handle(beat, now)
            times.append((time.perf_counter() - began) / len(beats))
        return median(times)

    def floor(self, rounds: int) -> float:
        """Seconds to look up one node and note when it was heard, in the same kind of loop."""
        records = {name: _Heard() for name in self._names}
        times = []
        for turn in range(rounds):
            now = float(turn)
            began = time.perf_counter()
            for name in self._names:
                records[name].at = now
            times.append((time.perf_counter() - began) / len(self._names))
        return median(times)

    def faults(self, count: int) -> _FaultTimes:
        """Let a random node of a random ring fail, so many times, one after another; none is repaired."""
        random = Random(_SEED)  # noqa: S311 - the same faults in every run; no secret
        times = _FaultTimes([], [])
        for turn in range(count):
            ring = random.choice(sorted(self._engine.state.rings.values(), key=lambda ring: ring.name))
            name = self._names[random.choice(ring.chain)]
            self._now += 1e-6
            spent = self._feed(FaultReported(name, name, Fault(f"f{turn}", "gpu0", FaultClass.FATAL, "xid:79")))
            if ring.state is not RingState.ACTIVE:
                raise RinglightError(f"{ring.name} did not heal", hint="too few spares for so many faults?")
            times.plan.append(spent[0])
            times.whole.append(sum(spent))
        return times

    def _feed(self, event: Event) -> list[float]:
        """Handle an event and every answer that follows; the seconds each of them took."""
        queue = deque([event])
        spent = []
        while queue:
            began = time.perf_counter()
            effects = self._engine.handle(queue.popleft(), self._now)
            spent.append(time.perf_counter() - began)
            for effect in effects:
                if isinstance(effect, SendCircuits):
                    queue.append(self._obey(effect))
                elif isinstance(effect, Answer) and effect.error is not None:
                    raise effect.error
        return spent

    def _obey(self, command: SendCircuits) -> Applied:
        before = self._tables[command.node]
        self._tables[command.node] = command.table
        self._applied[command.node] = command.generation
        switched = [
            BundleCode.UNCHANGED if a is b else BundleCode.SWITCHED for a, b in zip(before, command.table, strict=True)
        ]
        return Applied(
            session=command.session,
            node=command.node,
            transaction=command.transaction,
            epoch=command.epoch,
            generation=command.generation,
            code=ApplyCode.APPLIED,
            bundles=dict(enumerate(switched)),
            circuits=command.table,
            light=self._light(command.node),
        )

    def _hello(self, name: str) -> AgentHello:
        position = self._wiring.position(name)
        node = NodeHello(name, "boot", inventory_of(self._wiring, position), self._tables[name], self._light(name))
        return AgentHello(name, f"agent-{name}", "boot", 1, NAME, 0, (node,))

    def _light(self, name: str) -> dict[PortKey, bool]:
        """Light at the node's ports: the other end is taken to select the fibre too, once it was told."""
        table = self._tables[name]
        ports = self._wiring.ports(self._wiring.position(name))
        return {(port.bundle, port.path): table[port.bundle] is port.path for port in ports}
