"""Events to everyone who watches: a bounded memory of the newest, and a bounded queue a watcher.

A watcher that does not keep up is told so and must resume from the last sequence number it saw; nobody else waits.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ringlight.controller.ports import LoggedEvent
from ringlight.fabric.errors import ErrorCode, RinglightError

_REMEMBERED = 10_000
_QUEUE = 2_000


class LaggingWatcherError(RinglightError):
    """A watcher fell too far behind."""

    code = ErrorCode.UNAVAILABLE


class Subscription:
    """The live events of one watcher.

    Args:
        dropped: told of each event that does not fit.
    """

    def __init__(self, dropped: Callable[[], None]) -> None:
        self._dropped = dropped
        self._queue: asyncio.Queue[LoggedEvent] = asyncio.Queue(_QUEUE)
        self._lagging = False

    def put(self, event: LoggedEvent) -> None:
        """Offer an event; one too many marks the watcher as lagging."""
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._lagging = True
            self._dropped()

    async def get(self) -> LoggedEvent:
        """The next event.

        Raises:
            LaggingWatcherError: events were lost to this watcher.
        """
        if self._lagging:
            raise LaggingWatcherError(
                "this watch fell too far behind and was ended", hint="resume from the last sequence number you saw"
            )
        return await self._queue.get()


class EventFeed:
    """The newest events, and who watches.

    Args:
        dropped: told of each event that a watcher had no room for.
    """

    def __init__(self, dropped: Callable[[], None] = lambda: None) -> None:
        self._dropped = dropped
        self._recent: deque[LoggedEvent] = deque(maxlen=_REMEMBERED)
        self._subscriptions: set[Subscription] = set()

    def publish(self, event: LoggedEvent) -> None:
        """Remember an event and offer it to every watcher."""
        self._recent.append(event)
        for subscription in self._subscriptions:
            subscription.put(event)

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Watch from now on."""
        subscription = Subscription(self._dropped)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def recent(self, after: int) -> tuple[list[LoggedEvent], bool]:
        """Remembered events above a sequence number, and whether those are all there ever were above it."""
        events = [event for event in self._recent if event.event.sequence > after]
        complete = bool(self._recent) and self._recent[0].event.sequence <= after + 1
        return events, complete
