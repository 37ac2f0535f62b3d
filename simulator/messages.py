"""What goes over a simulated stream: the engine's own events and commands, and the little that adapters add."""

from dataclasses import dataclass

from ringlight.controller.engine.effects import SendCircuits, SendConfirm, SendQuestion
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    FaultCleared,
    FaultReported,
    Heartbeat,
    LightReported,
    Measured,
)


@dataclass(frozen=True, slots=True)
class Welcome:
    """The session is admitted."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The controller ended the session."""


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The agent ends the session."""

    session: str


ToAgent = Welcome | Ended | SendCircuits | SendConfirm | SendQuestion
ToController = AgentHello | Applied | FaultCleared | FaultReported | Heartbeat | LightReported | Measured | Goodbye
