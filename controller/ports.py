"""What the controller needs of the world, as interfaces: a clock, a store, a link to each agent.

The runtime in `daemon` holds these; adapters provide them. Nothing here decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ringlight.controller.engine.effects import FabricEvent, Persist, SendCircuits, SendConfirm, SendQuestion
from ringlight.controller.engine.events import Restored
from ringlight.fabric.errors import ErrorCode, RinglightError


class StoreError(RinglightError):
    """The store cannot be read or written."""

    code = ErrorCode.UNAVAILABLE


class StoreDamagedError(StoreError):
    """What the store held is lost: its file is damaged, or was taken away."""


class StoreTakenError(StoreError):
    """Another controller has begun a term on this store: it is not ours any more."""

    code = ErrorCode.CONFLICT


class Clock(Protocol):
    """Time, in seconds."""

    def monotonic(self) -> float:
        """For every decision: never goes back."""

    def wall(self) -> float:
        """For people: since 1970."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as it was published, with the wall-clock time for people."""

    event: FabricEvent
    time: float


@dataclass(slots=True)
class Batch:
    """What is to be written next. Writing it a second time changes nothing."""

    persist: list[Persist] = field(default_factory=list)
    events: list[LoggedEvent] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.persist or self.events)


class Store(Protocol):
    """Keeps what must survive a restart."""

    async def open(self) -> Restored:
        """Open, begin a new term, and read what is remembered.

        The new epoch and the first generations of the term are durable when this returns.

        Raises:
            StoreError: not readable, of another version, or in use by another controller.
        """

    async def write(self, batch: Batch) -> None:
        """Write a batch as one transaction; durable when this returns. An empty one proves that it could be written.

        Raises:
            StoreError: nothing of the batch was written.
            StoreDamagedError: nor ever will be, until `begin_anew`.
            StoreTakenError: nor may it be.
        """

    async def begin_anew(self, everything: Batch) -> str:
        """Put a store that holds everything in the place of one that is damaged; all or nothing, whoever dies when.

        Returns:
            Where the damaged one is kept; empty when there is nothing left of it.

        Raises:
            StoreError: that is not possible now; it may be asked again.
            StoreTakenError: another controller has put one there.
        """

    async def events(self, *, after: int, limit: int, subject: str = "") -> Sequence[LoggedEvent]:
        """The newest `limit` events with a sequence number above `after`, oldest first."""

    async def close(self) -> None:
        """Let go of the store."""


class AgentLink(Protocol):
    """The way to one agent. Calls return at once; what they ask is done in order."""

    def admit(self, epoch: int, heartbeat_interval: float) -> None:
        """Welcome the agent."""

    def refuse(self, error: RinglightError) -> None:
        """End the session that was never admitted."""

    def close(self, reason: str) -> None:
        """End the session; its agent should dial again."""

    def send(self, command: SendCircuits) -> None:
        """Bring a node to a table. A later command for the same node replaces one that has not left yet."""

    def confirm(self, confirmation: SendConfirm) -> None:
        """Tell that a planned change is proven."""

    def ask(self, question: SendQuestion) -> None:
        """Ask what a node selects, and where light is. A later question for it replaces one that has not left yet."""
