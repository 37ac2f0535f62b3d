"""The judge: watches commands, hardware writes and the true state of the hardware, and knows what must never be.

It shares nothing with the engine's own checks, and believes nobody: whether a ring had to move is decided by what was
really broken, or by what somebody asked for. So an engine that is wrong is found out, whatever it thinks of itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringlight.controller.engine.effects import Effect, Persist, Publish, SendCircuits
from ringlight.controller.engine.events import AgentHello, Event
from ringlight.controller.engine.state import RingState, State
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import CircuitTable
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.ports import Write
from ringlight.simulator.schedule import Schedule

if TYPE_CHECKING:
    from ringlight.simulator.controller import Controller

_RECENT = 20.0  # virtual seconds in which a trouble that is over still explains what follows from it
_TELLING = ("ring-", "job-", "controller-started")  # kinds of events after which rings may be other ones


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be."""

    invariant: str
    time: float
    text: str

    def __str__(self) -> str:
        """In words."""
        return f"{self.invariant} at {self.time:.3f} s: {self.text}"


@dataclass(frozen=True, slots=True)
class _Ring:
    """A ring as it was before a step; `firm` when light was proven for it and it is not being changed."""

    job: str
    chain: tuple[int, ...]
    firm: bool


class Judge:
    """One run's judge.

    Attributes:
        violations: everything that was wrong.
        false_bypasses: how often a ring was taken from where it worked for no true reason.
        writes: bundles that were switched.
        commands: that left a controller.
    """

    def __init__(self, schedule: Schedule, wiring: Wiring, plant: Plant) -> None:
        self.violations: list[Violation] = []
        self.false_bypasses = 0
        self.writes = 0
        self.commands = 0
        self._schedule = schedule
        self._wiring = wiring
        self._plant = plant
        self._trouble: dict[int, float] = {}  # until when what happened at a node explains a change
        # When an agent got which command for which node, and how long it is to wait for a confirmation.
        self._received: dict[tuple[str, str, int], tuple[float, float]] = {}
        self._kept: dict[str, int] = {}  # highest epoch on an agent's disk
        self._executed: dict[str, tuple[int, int]] = {}  # by node: epoch and generation of the last write
        self._rings: dict[Controller, dict[str, _Ring]] = {}
        self._tables: dict[Controller, dict[int, CircuitTable]] = {}
        self._highest: tuple[int, int] = (0, 0)  # epoch and generation of the newest command of all
        self._forgotten = False  # a store was lost: generations may be those of before

    def _blame(self, invariant: str, text: str) -> None:
        self.violations.append(Violation(invariant, self._schedule.now, text))

    # -- what really happened ----------------------------------------------------------------------------------------

    def trouble(self, positions: Iterable[int], lasting: float = 0.0) -> None:
        """Something was really wrong with these nodes, or somebody said so: their rings may move."""
        until = self._schedule.now + lasting + _RECENT
        for position in positions:
            self._trouble[position] = max(until, self._trouble.get(position, 0.0))

    def store_lost(self) -> None:
        """A controller begins with less than was known, or may not have been able to write down what it used."""
        self._forgotten = True

    def files_lost(self, agent: str) -> None:
        """An agent lost what it had on its disk."""
        self._kept.pop(agent, None)

    def epoch_kept(self, agent: str, epoch: int) -> None:
        """An epoch is durable at an agent."""
        self._kept[agent] = max(epoch, self._kept.get(agent, 0))

    # -- agents ------------------------------------------------------------------------------------------------------

    def received(self, agent: str, command: SendCircuits) -> None:
        """A command arrived at an agent."""
        self._received[(agent, command.node, command.generation)] = self._schedule.now, command.revert_after

    def written(self, agent: str, write: Write) -> None:
        """An agent is about to switch a bundle."""
        self.writes += 1
        node, command = write.node, write.command
        received = self._received.get((agent, node, command.generation))
        where = f"{node} b{write.bundle}, {command.transaction} of epoch {command.epoch}"
        if received is None:
            self._blame("I4", f"{where}: nobody told it to switch")
        elif write.revert and (not received[1] or self._schedule.now < sum(received)):
            self._blame("I4", f"{where}: undone though its time is not over")
        if self._plant.table(self._wiring.position(node))[write.bundle] is write.path:
            self._blame("I5", f"{where}: written though it selects that already")
        if write.revert:
            self.trouble([self._wiring.position(node)])
            return
        if command.epoch < self._kept.get(agent, 0):
            self._blame("I3", f"{where}: epoch {self._kept[agent]} was obeyed before")
        epoch, generation = self._executed.get(node, (0, 0))
        if epoch == command.epoch and command.generation < generation:
            self._blame("I5", f"{where}: generation {generation} was carried out before")
        self._executed[node] = (command.epoch, command.generation)

    # -- controllers -------------------------------------------------------------------------------------------------

    def step(self, controller: "Controller", event: Event, effects: list[Effect]) -> None:
        """A controller handled an event."""
        commands = [effect for effect in effects if isinstance(effect, SendCircuits)]
        state = controller.engine.state
        if state.violations:
            self._blame("own", f"the engine refused {state.violations} commands of its own")
            state.violations = 0
        if isinstance(event, AgentHello):  # what was told before, and not carried out, is void: the hello is true
            for node in event.nodes:
                self._tables.get(controller, {}).pop(self._wiring.position(node.node), None)
        if commands:
            self._check_commands(controller, event, commands)
        if any(_tells_of_rings(effect) for effect in effects):
            self._rings[controller] = _snapshot(state)

    def _check_commands(self, controller: "Controller", event: Event, commands: list[SendCircuits]) -> None:
        state = controller.engine.state
        self.commands += len(commands)
        before = self._rings.get(controller, {})
        after = _snapshot(state)
        tables = self._tables.setdefault(controller, {})
        tables.update({self._wiring.position(command.node): command.table for command in commands})
        for command in commands:
            self._check_owner(state, command, before)
            self._check_ends(state, command, tables)
            self._check_number(command)
        for name, ring in before.items():
            moved = name not in after or set(ring.chain) - set(after[name].chain)
            worked = ring.firm and self._is_whole(ring.chain)
            if worked and moved and not self._may_move(state, name, ring, before):
                self.false_bypasses += 1
                chain = " ".join(self._wiring.name(position) for position in ring.chain)
                self._blame("I7", f"{name} ({chain}) was taken from where it worked, by {type(event).__name__}")

    def _check_owner(self, state: State, command: SendCircuits, before: dict[str, _Ring]) -> None:
        """I1 and I6: a ring that is lit and whole where it is wanted gets no command, least of all by a start."""
        node = state.nodes[self._wiring.position(command.node)]
        ring = state.rings.get(node.ring)
        former = before.get(node.ring)
        if ring is None or former is None or former.chain != ring.chain or not former.firm:
            return
        if self._is_whole(ring.chain) and not self._is_troubled(ring.chain):
            invariant = "I1" if state.open else "I6"
            self._blame(invariant, f"{command.node} got a command, and {ring.name} was whole where it is wanted")

    def _is_whole(self, chain: tuple[int, ...]) -> bool:
        tables = chain_tables(self._wiring, chain)
        return all(self._plant.table(position) == table for position, table in tables.items())

    def _check_ends(self, state: State, command: SendCircuits, tables: dict[int, CircuitTable]) -> None:
        """I2: what a node is told to select, the other end was told to select too."""
        position = self._wiring.position(command.node)
        if position in state.audits.members:
            return  # to see where a fibre ends it is lit from one end
        for bundle, path in enumerate(command.table):
            if not path.is_external:
                continue
            peer = self._wiring.peer(Port(position, bundle, path))
            if peer is None or self._told(state, tables, peer.position)[peer.bundle] is not peer.path:
                port = self._wiring.port_name(Port(position, bundle, path))
                self._blame("I2", f"{port} is to be selected, and its other end is not")

    @staticmethod
    def _told(state: State, tables: dict[int, CircuitTable], position: int) -> CircuitTable:
        """What a node was told last; what it is to be told, if it cannot be reached at present."""
        node = state.nodes[position]
        return tables.get(position, node.desired) if node.session else node.desired

    def _check_number(self, command: SendCircuits) -> None:
        """I5: a later term does not use a generation again, unless what was known is lost."""
        epoch, generation = self._highest
        if command.epoch > epoch and command.generation <= generation and not self._forgotten:
            self._blame("I5", f"generation {command.generation} of epoch {command.epoch}: {generation} was used before")
        self._highest = max(self._highest, (command.epoch, command.generation))

    def _may_move(self, state: State, name: str, ring: _Ring, before: dict[str, _Ring]) -> bool:
        """Whether a ring had a true reason to leave where it was."""
        if self._is_troubled(ring.chain):
            return True
        if ring.job not in state.jobs:
            return True
        # It made room for a ring of its own job that had a reason, or had no place.
        others = (other for other_name, other in before.items() if other_name != name and other.job == ring.job)
        return any(not other.firm or self._is_troubled(other.chain) for other in others)

    def _is_troubled(self, chain: tuple[int, ...]) -> bool:
        now = self._schedule.now
        return any(
            self._plant.faults.of_node(position) or self._trouble.get(position, -1.0) >= now for position in chain
        )


def _tells_of_rings(effect: Effect) -> bool:
    if isinstance(effect, Publish):
        return effect.event.kind.startswith(_TELLING)
    return isinstance(effect, Persist) and bool(effect.rings)


def _snapshot(state: State) -> dict[str, _Ring]:
    standing = (RingState.ACTIVE, RingState.VERIFYING)
    return {
        ring.name: _Ring(ring.job, ring.chain, ring.established and ring.state in standing)
        for ring in state.rings.values()
        if ring.chain or not ring.established
    }
