"""How late the event loop is: everything the controller does waits for it."""

import asyncio
from collections import deque
from collections.abc import Callable

_EVERY = 0.1  # seconds
_REMEMBERED = 60.0  # seconds


class LoopLag:
    """Sleeps for a moment, again and again, and notes how much later it woke.

    Args:
        now: monotonic seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._noted: deque[tuple[float, float]] = deque()  # when, how late; each later than all after it

    @property
    def worst(self) -> float:
        """The longest delay of the last minute, in seconds."""
        self._forget(self._now())
        return self._noted[0][1] if self._noted else 0.0

    async def run_forever(self) -> None:
        """Measure. Runs until cancelled; owned by the daemon."""
        while True:
            due = self._now() + _EVERY
            await asyncio.sleep(_EVERY)
            now = self._now()
            self.note(now, max(0.0, now - due))

    def note(self, now: float, late: float) -> None:
        """The loop was so late."""
        while self._noted and self._noted[-1][1] <= late:
            self._noted.pop()
        self._noted.append((now, late))
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._noted and self._noted[0][0] < now - _REMEMBERED:
            self._noted.popleft()
