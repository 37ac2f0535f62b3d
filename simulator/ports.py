"""What the parts of a simulation see of each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ringlight.agents.obedience import Command
from ringlight.controller.engine.effects import SendCircuits
from ringlight.emulator.plant import Plant, PlantEvent
from ringlight.fabric.circuits import Path
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.schedule import Schedule
from ringlight.simulator.stream import AgentEnd, Stream


@dataclass(frozen=True, slots=True)
class Write:
    """A bundle that is switched, and for which command, carried out or undone."""

    node: str
    bundle: int
    path: Path
    command: Command
    revert: bool


class HardwareJudge(Protocol):
    """Who watches what agents do."""

    def received(self, agent: str, command: SendCircuits) -> None:
        """A command arrived at an agent."""

    def written(self, agent: str, write: Write) -> None:
        """An agent is about to switch a bundle."""

    def epoch_kept(self, agent: str, epoch: int) -> None:
        """An epoch is durable at an agent."""

    def files_lost(self, agent: str) -> None:
        """An agent lost what it had on its disk."""


class Environment(Protocol):
    """Where an agent lives."""

    schedule: Schedule
    wiring: Wiring
    plant: Plant
    interval: float

    @property
    def judge(self) -> HardwareJudge:
        """Who watches what agents do."""

    def connect(self, agent: AgentEnd) -> Stream | None:
        """A stream to a controller that answers, or None."""

    def answers(self, link: Stream) -> bool:
        """Whether a heartbeat sent now would be answered."""

    def spread(self, events: Iterable[PlantEvent]) -> None:
        """Let agents notice what happened in the hardware."""
