"""Events of hardware on their way to the agent: bounded, in the order in which they happened."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable

from ringlight.agents.ports import DriverEvent
from ringlight.fabric.errors import UnavailableError

EVENTS_KEPT = 4096  # events waiting to be read; hardware whose reader lags further must be opened and read anew


class EventStream:
    """What happened to one node's bundles since its driver was opened."""

    def __init__(self) -> None:
        self._waiting: deque[DriverEvent] = deque()
        self._changed = asyncio.Event()
        self._end: str | None = None

    def put(self, events: Iterable[DriverEvent]) -> None:
        """Add events; when the reader lags too far, end the stream rather than leave out any in silence."""
        if self._end is not None:
            return
        self._waiting.extend(events)
        if len(self._waiting) > EVENTS_KEPT:
            self._waiting.clear()
            self.end(f"{EVENTS_KEPT} events of the hardware were not read")
        self._changed.set()

    def end(self, reason: str) -> None:
        """No event will follow; what is waiting may still be read."""
        if self._end is None:
            self._end = reason
            self._changed.set()

    async def events(self) -> AsyncIterator[DriverEvent]:
        """The events.

        Raises:
            UnavailableError: the stream ended.
        """
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._end is not None:
                raise UnavailableError(self._end)
            self._changed.clear()
            await self._changed.wait()
