"""A fabric without processes: the real engine, the emulator's plant, and obedient agents, in virtual time.

Everything is a plain call. `World.advance` lets time pass with heartbeats; faults go into the plant, and what agents
would say of them comes back as events. Commands that left the engine are kept, so a test can see who was told what.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ringlight.controller.engine.effects import (
    NOTHING_HELD,
    Answer,
    AuditNews,
    Close,
    Effect,
    FabricEvent,
    Persist,
    Probe,
    Publish,
    Refuse,
    SendCircuits,
    SendConfirm,
    SendQuestion,
    TellAudit,
)
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    BeginAudit,
    Cordon,
    DeclareDead,
    Drain,
    Event,
    FaultCleared,
    FaultReported,
    GoAhead,
    Heartbeat,
    LightReported,
    Measured,
    NodeBeat,
    NodeHello,
    OperatorRequest,
    Pause,
    ProbeAnswered,
    ReleaseJob,
    ReleaseQuarantine,
    ReportStall,
    ResetBreaker,
    ResizeJob,
    Restored,
    Resume,
    SessionLost,
    SubmitJob,
    Tick,
    TrustHops,
    Uncordon,
)
from ringlight.controller.engine.state import RingRecord, RingState
from ringlight.controller.engine.view import view_gates
from ringlight.controller.settings import Settings
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.plant import (
    FaultClosed,
    FaultOpened,
    HardwareFault,
    LightChanged,
    NodeReading,
    Plant,
    PlantEvent,
    PowerChanged,
)
from ringlight.fabric.circuits import CircuitTable, Fault, FaultClass, OpticalPower, digest
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.outcomes import ApplyCode, BundleCode
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.trace import canonical_cycle
from ringlight.fabric.wiring import Wiring


@dataclass(frozen=True)
class Unconfirmed:
    """A planned change that an agent undoes when its time comes."""

    command: SendCircuits
    due: float
    former: CircuitTable


class World:
    """One engine, one plant, one agent a node."""

    def __init__(self, spec: FabricSpec, settings: Settings | None = None) -> None:
        self.spec = spec
        self.wiring = Wiring(spec)
        self.settings = settings or Settings()
        self.plant = Plant(self.wiring, "boot")
        self.now = 1000.0
        self.wall_offset = 1_700_000_000.0
        self._next_beat = 1001.0
        self.silent: set[str] = set()
        self.deaf: set[str] = set()
        self.unwilling: set[str] = set()
        self.unconfirmed: dict[str, str] = {}
        self.pending: dict[str, Unconfirmed] = {}
        self.epochs: dict[str, int] = {}
        self.applied: dict[str, int] = {}
        self.sessions: dict[str, str] = {}
        self.stored: dict[str, Persist] = {}
        self.commands: list[SendCircuits] = []
        self.ever_commanded: set[str] = set()
        self.confirms: list[SendConfirm] = []
        self.told: list[FabricEvent] = []
        self.answers: dict[str, Answer] = {}
        self.refused: list[Refuse] = []
        self.closed: list[Close] = []
        self.persisted: list[Persist] = []
        self.probes: list[str] = []
        self.audit_news: list[AuditNews] = []
        self.after_this: list[Callable[[], object]] = []
        self._queue: deque[Event] = deque()
        self._numbers = 0
        self.engine = Engine(self.wiring, self.settings)

    # -- the controller ----------------------------------------------------------------------------------------------

    def start(self, restored: Restored | None = None) -> "World":
        """Start the controller; every agent that speaks dials in."""
        self.handle(restored or Restored(epoch=1, wall=self.now + self.wall_offset))
        for node in self.spec.nodes:
            if node.name not in self.silent:
                self.dial(node.name)
        return self

    def restart(self) -> "World":
        """A new controller over the same store and hardware; what the old one had not persisted is gone."""
        jobs = {job.name: job for persist in self.persisted for job in persist.jobs}
        rings = {ring.name: ring for persist in self.persisted for ring in persist.rings}
        overlays = {overlay.node: overlay for persist in self.persisted for overlay in persist.overlays}
        conduct = {conduct.node: conduct for persist in self.persisted for conduct in persist.conduct}
        hops = {hop.hop: hop for persist in self.persisted for hop in persist.hops}
        holds = [persist.hold for persist in self.persisted if persist.hold is not None]
        alive = {name: job for name, job in jobs.items() if not job.released}
        epoch = self.engine.state.epoch + 1
        reserved = max((persist.reserved for persist in self.persisted), default=0)
        self.engine = Engine(self.wiring, self.settings)
        self.sessions.clear()
        self.commands.clear()
        kept = sorted(
            (ring for ring in rings.values() if ring.job in alive and not ring.released),
            key=lambda ring: ring.name,
        )
        laid = tuple(overlay for overlay in overlays.values() if overlay.overlay)
        return self.start(
            Restored(
                epoch,
                reserved,
                len(self.told),
                tuple(alive.values()),
                tuple(kept),
                laid,
                tuple(conduct.values()),
                tuple(hop for hop in hops.values() if hop.dead_since is not None),
                holds[-1] if holds else NOTHING_HELD,
                recorded=max((persist.generation for persist in self.persisted), default=0),
                wall=self.now + self.wall_offset,
            )
        )

    def handle(self, event: Event) -> None:
        """Feed an event and everything that follows from it, until nothing more happens at this moment."""
        self._queue.append(event)
        while self._queue:
            for effect in self.engine.handle(self._queue.popleft(), self.now):
                self._carry_out(effect)
            self.run_what_waits()

    def run_what_waits(self) -> None:
        """What a test wants to happen between two events."""
        while self.after_this:
            self.after_this.pop()()

    def _carry_out(self, effect: Effect) -> None:  # noqa: C901 - one case an effect
        match effect:
            case SendCircuits():
                self.commands.append(effect)
                self.ever_commanded.add(effect.node)
                self._obey(effect)
            case SendConfirm():
                self.confirms.append(effect)
                self._confirm(effect)
            case Publish():
                self.told.append(effect.event)
            case Answer():
                self.answers[effect.request] = effect
            case Refuse():
                self.refused.append(effect)
            case Close():
                self.closed.append(effect)
            case Persist():
                self.persisted.append(effect)
            case Probe():
                self.probes.append(effect.node)
            case SendQuestion():
                if effect.node not in self.deaf:
                    self._queue.append(self._measured(effect))
            case TellAudit():
                self.audit_news.append(effect.news)
            case _:
                pass

    def settle(self) -> None:
        """Let what follows at once happen: a moment passes, too short for any silence."""
        self.handle(Tick())
        self.now += 0.001
        self.handle(Tick())

    def advance(self, seconds: float, step: float = 0.25) -> None:
        """Let time pass: heartbeats every second, ticks all the while."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + step)
            self._revert()
            if self.now >= self._next_beat:
                self._next_beat += 1.0
                for name, session in sorted(self.sessions.items()):
                    if name not in self.silent:
                        beat = NodeBeat(name, self.applied.get(name, 0), digest(self.plant.table(self._position(name))))
                        self.handle(Heartbeat(session, (beat,)))
            self.handle(Tick())

    # -- agents ------------------------------------------------------------------------------------------------------

    def dial(self, name: str, **changes: object) -> None:
        """The agent of a node says hello."""
        position = self._position(name)
        reading = self.plant.read(position)
        self._numbers += 1
        session = f"s{self._numbers}"
        node = NodeHello(
            node=name,
            hardware_boot=self.plant.boot_id(position),
            inventory=inventory_of(self.wiring, position),
            circuits=reading.circuits,
            light=reading.light,
            faults=tuple(self._judged(fault) for fault in reading.faults),
            applied_generation=self.applied.get(name, 0),
            unconfirmed=self.unconfirmed.get(name) or self._pending_transaction(name),
        )
        hello = {
            "agent": f"agent-{name}",
            "agent_boot": session,
            "protocol": 1,
            "fabric": self.spec.name,
            "highest_epoch": self.epochs.get(name, 0),
            "nodes": (node,),
        }
        self.sessions[name] = session
        self.handle(AgentHello(session=session, **{**hello, **changes}))  # type: ignore[arg-type]

    def hang_up(self, name: str) -> None:
        """The agent of a node is gone; its light stays."""
        self.silent.add(name)
        self.pending.pop(name, None)  # a restarted agent remembers no unconfirmed change, and writes nothing
        self.handle(SessionLost(self.sessions.pop(name), "crashed"))

    def _measured(self, question: SendQuestion) -> Measured:
        """What the agent of a node answers when it is asked for its light."""
        reading = self.plant.read(self._position(question.node))
        powers = {
            port: OpticalPower(sent, received)
            for port, (sent, received) in self.plant.powers(self._position(question.node)).items()
        }
        return Measured(question.session, question.node, question.question, reading.circuits, reading.light, powers)

    def audit(self, *nodes: str, name: str = "audit") -> Answer:
        """Ask for a cabling audit; if it was not refused it begins."""
        self.handle(BeginAudit(f"ask-{name}", name, nodes))
        answer = self.answers[f"ask-{name}"]
        if answer.error is None:
            self.handle(GoAhead(name))
        return answer

    def answer(self, command: SendCircuits) -> None:
        """The agent of a node that was deaf comes round to a command."""
        self._obey(command)
        self.settle()

    def carry_out_unheard(self, commands: Iterable[SendCircuits]) -> None:
        """Agents do as they were told, and the controller dies before it hears of it."""
        for command in commands:
            self._obey(command)
        self._queue.clear()

    def _obey(self, command: SendCircuits) -> None:
        name = command.node
        if name in self.silent or name in self.deaf:
            return
        position = self._position(name)
        if name in self.unwilling:
            reading = self.plant.read(position)
            self._answer(command, ApplyCode.FAILED, {}, reading)
            return
        assert command.epoch >= self.epochs.get(name, 0), "I3"
        assert command.generation > self.applied.get(name, 0), "I5"
        assert self.wiring.accepts(position, command.table)
        self.epochs[name], self.applied[name] = command.epoch, command.generation
        former = self.pending[name].former if name in self.pending else self.plant.table(position)
        self.pending.pop(name, None)
        if command.revert_after:
            self.pending[name] = Unconfirmed(command, self.now + command.revert_after, former)
        results = {}
        for bundle, path in enumerate(command.table):
            before = self.plant.table(position)[bundle]
            self._tell(self.plant.select(position, bundle, path))
            stuck = self.plant.table(position)[bundle] is not path
            results[bundle] = (
                BundleCode.STUCK if stuck else BundleCode.UNCHANGED if before is path else BundleCode.SWITCHED
            )
        reading = self.plant.read(position)
        code = ApplyCode.FAILED if BundleCode.STUCK in results.values() else ApplyCode.APPLIED
        self._answer(command, code, results, reading)

    def _confirm(self, confirmation: SendConfirm) -> None:
        name = confirmation.node
        pending = self.pending.get(name)
        if name not in self.silent and pending and pending.command.transaction == confirmation.transaction:
            del self.pending[name]

    def _pending_transaction(self, name: str) -> str:
        return self.pending[name].command.transaction if name in self.pending else ""

    def _revert(self) -> None:
        """Agents undo what nobody confirmed in time, controller or not."""
        for name in sorted(self.pending):
            if self.pending[name].due > self.now:
                continue
            change = self.pending.pop(name)
            position = self._position(name)
            for bundle, path in enumerate(change.former):
                self._tell(self.plant.select(position, bundle, path))
            if name in self.sessions and name not in self.silent:
                self._answer(change.command, ApplyCode.REVERTED, {}, self.plant.read(position))

    def _answer(
        self, command: SendCircuits, code: ApplyCode, results: dict[int, BundleCode], reading: NodeReading
    ) -> None:
        self._queue.append(
            Applied(
                session=self.sessions[command.node],  # perhaps another one than the command came over
                node=command.node,
                transaction=command.transaction,
                epoch=command.epoch,
                generation=command.generation,
                code=code,
                bundles=results,
                circuits=reading.circuits,
                light=reading.light,
            )
        )

    # -- hardware ----------------------------------------------------------------------------------------------------

    def fail(self, kind: FaultKind, node: str, **details: object) -> str:
        """Break something; returns the fault's id."""
        fault, events = self.plant.inject(FaultRequest(kind, node, **details))  # type: ignore[arg-type]
        self._happen(events)
        return fault.id

    def repair(self, fault_id: str) -> None:
        _, events = self.plant.repair(fault_id)
        self._happen(events)

    def _happen(self, events: Iterable[PlantEvent]) -> None:
        self._tell(events)
        self.settle()

    def _tell(self, events: Iterable[PlantEvent]) -> None:
        for event in events:
            name = self.wiring.name(event.position)
            if isinstance(event, PowerChanged):
                self._power(name, on=event.on)
                continue
            session = self.sessions.get(name)
            if session is None or name in self.silent:
                continue
            match event:
                case LightChanged():
                    self._queue.append(LightReported(session, name, {event.port: event.lit}))
                case FaultOpened():
                    self._queue.append(FaultReported(session, name, self._judged(event.fault)))
                case FaultClosed():
                    self._queue.append(FaultCleared(session, name, event.fault_id))

    def _power(self, name: str, *, on: bool) -> None:
        if on:
            self.silent.discard(name)
            self.dial(name)
        else:
            self.silent.add(name)
            self.pending.pop(name, None)
            if name in self.sessions:
                self._queue.append(SessionLost(self.sessions.pop(name), "no answer"))

    @staticmethod
    def _judged(fault: HardwareFault) -> Fault:
        return Fault(fault.id, fault.component, FaultClass.FATAL, fault.code)

    # -- asking ------------------------------------------------------------------------------------------------------

    def submit(self, name: str = "train", rings: int = 2, tp: int = 16, **more: int) -> Answer:
        self.handle(SubmitJob(f"submit-{name}", name, rings, tp, **more))
        return self.answers[f"submit-{name}"]

    def release(self, name: str) -> Answer:
        self.handle(ReleaseJob(f"release-{name}", name))
        self.settle()
        return self.answers[f"release-{name}"]

    def ask(self, request: OperatorRequest) -> Answer:
        self.handle(request)
        self.settle()
        return self.answers[request.request]

    def resize(self, name: str, rings: int, min_rings: int = 0, *, dry_run: bool = False) -> Answer:
        return self.ask(ResizeJob(f"resize-{name}", name, rings, min_rings, dry_run=dry_run))

    def cordon(self, *nodes: str, reason: str = "") -> Answer:
        return self.ask(Cordon("cordon", nodes, reason))

    def uncordon(self, *nodes: str) -> Answer:
        return self.ask(Uncordon("uncordon", nodes))

    def drain(self, *nodes: str, reason: str = "", force: bool = False, dry_run: bool = False) -> Answer:
        return self.ask(Drain("drain", nodes, reason, force=force, dry_run=dry_run))

    def maintenance(self, *nodes: str, seconds: float = 60.0, reason: str = "") -> Answer:
        return self.ask(Drain("maintenance", nodes, reason, maintenance=seconds))

    def pause(self, reason: str = "") -> Answer:
        return self.ask(Pause("pause", reason))

    def resume(self) -> Answer:
        return self.ask(Resume("resume"))

    def reset_breaker(self) -> Answer:
        return self.ask(ResetBreaker("reset"))

    def release_quarantine(self, *nodes: str) -> Answer:
        return self.ask(ReleaseQuarantine("release-quarantine", nodes))

    def trust_hops(self, *hops: str) -> Answer:
        return self.ask(TrustHops("trust-hops", hops))

    def report_stall(self, job: str) -> Answer:
        return self.ask(ReportStall("stall", job))

    def declare_dead(self, *nodes: str) -> Answer:
        return self.ask(DeclareDead("dead", nodes))

    def probed(self, node: str, up: bool | None) -> None:
        """The site's probe answers."""
        self.handle(ProbeAnswered(node, up))
        self.settle()

    def stall(self, seconds: float) -> None:
        """The controller stands still: what agents say meanwhile is read afterwards."""
        self.now += seconds
        self._next_beat = self.now

    def shut(self) -> dict[str, str]:
        """The gates that are shut, and why."""
        return {gate.name: gate.reason for gate in view_gates(self.engine.state) if not gate.open}

    def overlay(self, name: str) -> str:
        return self.engine.state.node(name).overlay or ""

    def ring(self, name: str) -> RingRecord:
        return self.engine.state.rings[name]

    def chain(self, name: str) -> list[str]:
        return [self.wiring.name(position) for position in self.ring(name).chain]

    def verdict(self, name: str) -> str:
        return self.engine.state.node(name).verdict.value

    def kinds(self) -> list[str]:
        return [event.kind for event in self.told]

    def commanded(self) -> set[str]:
        """Nodes that got a command since `commands` was cleared."""
        return {command.node for command in self.commands}

    def assert_light_is_plan(self) -> None:
        """Every ACTIVE ring is a cycle of light over exactly its chain's GPUs, and no invariant was broken."""
        cycles = {canonical_cycle(cycle) for cycle in self.plant.trace().cycles}
        for ring in self.engine.state.rings.values():
            if ring.state is RingState.ACTIVE:
                gpus = {(position, gpu) for position in ring.chain for gpu in range(self.spec.gpus)}
                assert any(set(cycle) == gpus for cycle in cycles), f"{ring.name} is not a cycle of light"
        assert self.engine.state.violations == 0

    def _position(self, name: str) -> int:
        return self.wiring.position(name)
