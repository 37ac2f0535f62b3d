"""One session's stream, with a process at each end."""

from random import Random
from typing import Protocol

from ringlight.simulator.link import Direction
from ringlight.simulator.messages import ToAgent, ToController
from ringlight.simulator.schedule import Schedule

AT_ONCE = 0.001  # seconds in which an end notices that the other one is gone, if the network tells it
NEVER = 30.0  # seconds: longer than any silence is borne


class AgentEnd(Protocol):
    """The agent of a stream."""

    def hear(self, link: "Stream", message: ToAgent) -> None:
        """A message arrived."""

    def lost(self, link: "Stream") -> None:
        """The stream ended, or it turned out that it did."""


class ControllerEnd(Protocol):
    """The controller of a stream."""

    @property
    def answering(self) -> bool:
        """It is alive and does not stand still."""

    def hear(self, stream: "Stream", message: ToController) -> None:
        """A message arrived."""

    def lost(self, stream: "Stream", reason: str) -> None:
        """The stream ended."""


class Stream:
    """One session between an agent and a controller.

    Attributes:
        last_heard: when the controller heard the agent last.
    """

    def __init__(
        self, schedule: Schedule, rng: Random, session: str, agent: AgentEnd, controller: ControllerEnd
    ) -> None:
        self.session = session
        self.agent = agent
        self.controller = controller
        self.last_heard = schedule.now
        self.up: Direction[ToController] = Direction(schedule, rng, lambda message: controller.hear(self, message))
        self.down: Direction[ToAgent] = Direction(schedule, rng, lambda message: agent.hear(self, message))

    def close(self) -> None:
        """Nothing arrives any more, on either end."""
        self.up.cut()
        self.down.cut()

    def hang_up(self, schedule: Schedule, noticed_after: float) -> None:
        """The agent ends it; the controller notices after so many seconds, or by silence if that is sooner."""
        self.close()
        schedule.after(noticed_after, lambda: self.controller.lost(self, "its stream ended"))

    def tear(self, schedule: Schedule, rng: Random) -> None:
        """The network loses it: each end notices at once, or by silence."""
        self.hang_up(schedule, rng.choice([AT_ONCE, NEVER]))
        schedule.after(rng.choice([AT_ONCE, NEVER]), lambda: self.agent.lost(self))
