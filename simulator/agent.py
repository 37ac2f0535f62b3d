"""An agent in virtual time: the real decisions about commands, around them a process that can die at any step.

What is durable is what the real one makes durable: an epoch before it is obeyed, generations a while after they were
applied. A crash loses the rest; losing the files loses all of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from ringlight.agents.fencing import Fence
from ringlight.agents.obedience import (
    Command,
    Obedience,
    Outcome,
    Read,
    Reading,
    Remember,
    Remembered,
    Request,
    Result,
    Steps,
    Switch,
    Switched,
)
from ringlight.agents.ports import Readout, SwitchOutcome
from ringlight.agents.settings import AgentSettings
from ringlight.controller.engine.effects import SendCircuits, SendConfirm, SendQuestion
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    FaultCleared,
    FaultReported,
    Heartbeat,
    LightReported,
    Measured,
    NodeBeat,
    NodeHello,
)
from ringlight.emulator.plant import FaultClosed, FaultOpened, HardwareFault, LightChanged, PlantEvent, PowerChanged
from ringlight.fabric.circuits import Fault, FaultClass, digest
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.protocol import PROTOCOL, SILENT_INTERVALS
from ringlight.protos.backoff import Backoff
from ringlight.simulator.messages import Ended, Goodbye, ToAgent, Welcome
from ringlight.simulator.ports import Environment, Write
from ringlight.simulator.schedule import Timer
from ringlight.simulator.stream import AT_ONCE, NEVER, Stream

_SETTINGS = AgentSettings()
_SWITCH_SECONDS = (70e-6, 2e-3)
_DISK_SECONDS = (2e-4, 5e-3)
_SLOW_READ = 0.2  # share of readings during which something else may happen


class Fences:
    """The fence of an agent: what it knows, and what its disk knows."""

    def __init__(self) -> None:
        self.fence = Fence()
        self.durable = Fence()

    def note_applied(self, node: str, generation: int) -> None:
        """Remember that a generation was applied; it becomes durable later."""
        self.fence = self.fence.applied(node, generation)

    def crash(self, *, lose_files: bool) -> None:
        """What is not durable is gone."""
        if lose_files:
            self.durable = Fence()
        self.fence = self.durable


@dataclass(slots=True)
class Side:
    """One node of an agent.

    Attributes:
        steps: the command or revert under way.
        context: the command that it is about, and whether it is being undone.
        waiting: the command to be carried out next.
        question: to be answered once nothing is under way.
        revert_due: the time of an unconfirmed change is over.
    """

    position: int
    name: str
    obedience: Obedience
    steps: Steps | None = None
    context: tuple[Command, bool] | None = None
    waiting: Command | None = None
    question: int | None = None
    revert_timer: Timer | None = None
    revert_due: bool = False
    timers: list[Timer] = field(default_factory=list)


class Agent:
    """One agent process, over all its lives.

    Attributes:
        link: its session, if it has one.
        alive: the process runs.
    """

    def __init__(self, environment: Environment, name: str, positions: Sequence[int], rng: Random) -> None:
        self.name = name
        self.positions = tuple(positions)
        self.alive = False
        self.link: Stream | None = None
        self.fences = Fences()
        self._world = environment
        self._rng = rng
        self._boots = 0
        self._backoff = Backoff(rng, first=_SETTINGS.backoff_first, cap=_SETTINGS.backoff_cap)
        self._sides: dict[int, Side] = {}
        self._introduced: set[int] = set()
        self._welcomed = False
        self._connected_at = 0.0
        self._last_heard = 0.0
        self._phase = rng.random()

    # -- its lives ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """The process starts, and dials."""
        if self.alive or not self._powered():
            return
        self.alive = True
        self._boots += 1
        for position in self._powered():
            self._open(position)
        self._world.schedule.after(self._rng.uniform(0.0, 0.2), self._dial)
        self._world.schedule.after(self._phase * self._world.interval, self._beat_of(self._boots))

    def crash(self, *, lose_files: bool = False) -> None:
        """The process is gone, and with it all that was not on its disk."""
        if not self.alive:
            return
        self.alive = False
        for position in list(self._sides):
            self._close(position)
        self.fences.crash(lose_files=lose_files)
        if lose_files:
            self._world.judge.files_lost(self.name)
        self._hang_up(self._rng.choice([AT_ONCE, 0.05, NEVER]))

    def _powered(self) -> list[int]:
        return [position for position in self.positions if self._world.plant.powered(position)]

    def _open(self, position: int) -> None:
        name = self._world.wiring.name(position)
        inventory = inventory_of(self._world.wiring, position)
        self._sides[position] = Side(position, name, Obedience(inventory, self.fences))

    def _close(self, position: int) -> None:
        """The hardware of a node is gone, or the process: what was under way ends where it is."""
        side = self._sides.pop(position, None)
        if side is None:
            return
        if side.revert_timer is not None:
            side.revert_timer.cancel()
        for timer in side.timers:
            timer.cancel()
        if side.steps is not None:
            side.steps.close()
        self._introduced.discard(position)

    # -- its session -------------------------------------------------------------------------------------------------

    def _dial(self) -> None:
        if not self.alive or self.link is not None:
            return
        link = self._world.connect(self)
        if link is None or not self._sides:
            self._dial_later()
            return
        self.link = link
        self._welcomed = False
        self._connected_at = self._last_heard = self._world.schedule.now
        self._introduced = set(self._sides)
        link.up.send(self._hello(link))

    def _dial_later(self) -> None:
        self._world.schedule.after(self._backoff.next(), self._dial)

    def _hello(self, link: Stream) -> AgentHello:
        plant, fence = self._world.plant, self.fences.fence
        nodes = []
        for side in self._sides.values():
            reading = plant.read(side.position)
            pending = side.obedience.unconfirmed
            nodes.append(
                NodeHello(
                    side.name,
                    plant.boot_id(side.position),
                    inventory_of(self._world.wiring, side.position),
                    reading.circuits,
                    reading.light,
                    tuple(_judged(fault) for fault in reading.faults),
                    fence.generations.get(side.name, 0),
                    pending.transaction if pending else "",
                )
            )
        boot = f"{self.name}.{self._boots}"
        fabric = self._world.wiring.spec.name
        return AgentHello(link.session, self.name, boot, PROTOCOL, fabric, fence.epoch, tuple(nodes))

    def hear(self, link: Stream, message: ToAgent) -> None:
        """A message arrived."""
        if link is not self.link:
            return
        self._last_heard = self._world.schedule.now
        match message:
            case Welcome():
                self._welcome(message.epoch)
            case Ended():
                self.lost(link)
            case SendCircuits():
                self._world.judge.received(self.name, message)
                self._command(message)
            case SendConfirm():
                side = self._side(message.node)
                if side is not None:
                    side.obedience.confirm(epoch=message.epoch, transaction=message.transaction)

            case SendQuestion():
                side = self._side(message.node)
                if side is not None:
                    side.question = message.question
                    if side.steps is None:
                        self._begin(side)

    def _welcome(self, epoch: int) -> None:
        if epoch < self.fences.fence.epoch:
            self._hang_up(AT_ONCE)  # an earlier controller came back
            self._dial_later()
            return
        self._welcomed = True
        self.fences.fence = self.fences.fence.saw(epoch)
        self._world.schedule.after(self._rng.uniform(*_DISK_SECONDS), self._durable(epoch))

    def lost(self, link: Stream) -> None:
        """The session ended, or it turned out that it did."""
        if link is not self.link:
            return
        if self._welcomed and self._world.schedule.now - self._connected_at >= _SETTINGS.backoff_cap:
            self._backoff.reset()
        self._hang_up(AT_ONCE)
        if self.alive:
            self._dial_later()

    def _hang_up(self, noticed_after: float) -> None:
        link, self.link = self.link, None
        self._introduced.clear()
        if link is not None:
            link.hang_up(self._world.schedule, noticed_after)

    def _beat_of(self, boot: int) -> Callable[[], None]:
        def beat() -> None:
            if not self.alive or boot != self._boots:
                return
            self._world.schedule.after(self._world.interval, beat)
            self._beat()

        return beat

    def _beat(self) -> None:
        """A heartbeat; and the end of a session on which the controller is not heard any more."""
        link = self.link
        if link is None:
            return
        now = self._world.schedule.now
        if self._world.answers(link):
            self._last_heard = now  # as the controller's sign of life would
        if now - self._last_heard > SILENT_INTERVALS * self._world.interval:
            self.lost(link)
            return
        if not self._welcomed:
            return
        generations = self.fences.fence.generations
        beats = tuple(
            NodeBeat(side.name, generations.get(side.name, 0), digest(self._world.plant.table(side.position)))
            for position, side in self._sides.items()
            if position in self._introduced
        )
        link.up.send(Heartbeat(link.session, beats))

    # -- what its hardware does --------------------------------------------------------------------------------------

    def notice(self, event: PlantEvent) -> None:
        """Something happened in the hardware of one of its nodes."""
        if isinstance(event, PowerChanged):
            self._power(event.position, on=event.on)
            return
        link = self.link
        if link is None or event.position not in self._introduced:
            return
        name = self._world.wiring.name(event.position)
        match event:
            case LightChanged():
                link.up.send(LightReported(link.session, name, {event.port: event.lit}))
            case FaultOpened():
                link.up.send(FaultReported(link.session, name, _judged(event.fault)))
            case FaultClosed():
                link.up.send(FaultCleared(link.session, name, event.fault_id))

    def _power(self, position: int, *, on: bool) -> None:
        """An agent of one node dies with it; one of several says hello anew when a node is back."""
        if len(self.positions) == 1:
            if on:
                self._world.schedule.after(self._rng.uniform(0.5, 3.0), self.start)
            else:
                self.crash()
        elif not on:
            self._close(position)
        elif self.alive:
            self._open(position)
            if self.link is not None:
                self.link.up.send(Goodbye(self.link.session))
                self.lost(self.link)
        else:
            self.start()

    # -- its commands ------------------------------------------------------------------------------------------------

    def _side(self, name: str) -> Side | None:
        return self._sides.get(self._world.wiring.position(name))

    def _command(self, message: SendCircuits) -> None:
        side = self._side(message.node)
        if side is None:
            return
        side.waiting = Command(
            message.node, message.epoch, message.generation, message.transaction, message.table, message.revert_after
        )
        if side.steps is None:
            self._begin(side)

    def _begin(self, side: Side) -> None:
        """Carry out what waits, else undo what is due."""
        pending = side.obedience.unconfirmed
        if side.waiting is not None:
            command, side.waiting = side.waiting, None
            side.context, side.steps = (command, False), side.obedience.apply(command)
        elif side.revert_due and pending is not None:
            side.context, side.steps = (pending, True), side.obedience.revert(pending)
        else:
            self._answer(side)
            return
        self._proceed(side, None)

    def _answer(self, side: Side) -> None:
        """Say what is selected, and where light is, if that was asked for."""
        question, side.question = side.question, None
        if question is not None and self.link is not None and side.position in self._introduced:
            readout = self._read(side)
            self.link.up.send(
                Measured(self.link.session, side.name, question, readout.circuits, dict(readout.light), {})
            )

    def _proceed(self, side: Side, result: Result | None) -> None:
        """Take steps until one needs time."""
        steps = side.steps
        if steps is None:
            return
        try:
            while True:
                request = next(steps) if result is None else steps.send(result)
                wait = self._seconds(request)
                if wait:
                    self._later(side, wait, request)
                    return
                result = self._perform(side, request)
        except StopIteration as end:
            side.steps = None
            self._done(side, end.value)
            self._begin(side)

    def _later(self, side: Side, seconds: float, request: Request) -> None:
        side.timers = [self._world.schedule.after(seconds, lambda: self._proceed(side, self._perform(side, request)))]

    def _seconds(self, request: Request) -> float:
        match request:
            case Remember():
                return self._rng.uniform(*_DISK_SECONDS) if request.epoch > self.fences.durable.epoch else 0.0
            case Read():
                return self._rng.uniform(*_SWITCH_SECONDS) if self._rng.random() < _SLOW_READ else 0.0
            case Switch():
                return self._rng.uniform(*_SWITCH_SECONDS)

    def _perform(self, side: Side, request: Request) -> Result:
        match request:
            case Remember():
                self.fences.fence = self.fences.fence.saw(request.epoch)
                self._durable(request.epoch)()
                return Remembered()
            case Read():
                return Reading(self._read(side))
            case Switch():
                return self._switch(side, request)

    def _durable(self, epoch: int) -> Callable[[], None]:
        def write() -> None:
            if self.alive and epoch > self.fences.durable.epoch:
                self.fences.durable = self.fences.fence.saw(epoch)
                self._world.judge.epoch_kept(self.name, epoch)

        return write

    def _read(self, side: Side) -> Readout:
        reading = self._world.plant.read(side.position)
        return Readout(reading.circuits, reading.light, tuple(_judged(fault) for fault in reading.faults))

    def _switch(self, side: Side, request: Switch) -> Switched:
        outcomes: dict[int, SwitchOutcome | None] = {}
        plant = self._world.plant
        assert side.context is not None  # noqa: S101 - steps are only taken in a context
        for bundle, path in sorted(request.paths.items()):
            self._world.judge.written(self.name, Write(side.name, bundle, path, *side.context))
            if plant.delay(side.position, bundle) > _SETTINGS.switch_timeout:
                outcomes[bundle] = None
                continue
            self._world.spread(plant.select(side.position, bundle, path))
            outcomes[bundle] = SwitchOutcome(plant.table(side.position)[bundle], 70e-6)
        return Switched(outcomes, 1e-3)

    def _done(self, side: Side, outcome: Outcome) -> None:
        command = outcome.command
        side.revert_due = False
        pending = side.obedience.unconfirmed
        if side.revert_timer is not None and pending in (None, command):
            side.revert_timer.cancel()
        if pending is command:
            side.revert_timer = self._world.schedule.after(command.revert_after, lambda: self._time_is_over(side))
        self._world.schedule.after(_SETTINGS.fence_interval, self._save_generations)
        link = self.link
        if link is None or side.position not in self._introduced:
            return
        readout = outcome.readout
        link.up.send(
            Applied(
                link.session,
                side.name,
                command.transaction,
                command.epoch,
                command.generation,
                outcome.code,
                outcome.bundles,
                readout.circuits if readout else (),
                dict(readout.light) if readout else {},
                outcome.switch_seconds,
                outcome.reason,
                self.fences.fence.epoch,
            )
        )

    def _save_generations(self) -> None:
        if self.alive:
            self.fences.durable = self.fences.fence
            self._world.judge.epoch_kept(self.name, self.fences.durable.epoch)

    def _time_is_over(self, side: Side) -> None:
        side.revert_due = True
        if side.steps is None:
            self._begin(side)


def _judged(fault: HardwareFault) -> Fault:
    return Fault(fault.id, fault.component, FaultClass.FATAL, fault.code)
