"""What happened to one node on a switch, for whoever follows it: bounded, in order, never with a gap."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable

from ringlight.agents.ports import DriverEvent
from ringlight.fabric.errors import UnavailableError

_MOST_WAITING = 4096  # events; a follower that lags further must open and read anew


class EventStream:
    """Events of one node."""

    def __init__(self) -> None:
        self._waiting: deque[DriverEvent] = deque()
        self._changed = asyncio.Event()
        self._end: str | None = None

    def put(self, events: Iterable[DriverEvent]) -> None:
        """Add events; when the follower lags too far, end the stream rather than leave out some in silence."""
        if self._end is not None:
            return
        self._waiting.extend(events)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.clear()
            self.end(f"{_MOST_WAITING} events of the switch were not read")
        elif self._waiting:
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
