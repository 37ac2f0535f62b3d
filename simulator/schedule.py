"""Virtual time: what is to happen, in order of time and then of being asked for."""

import heapq
from collections.abc import Callable


class Timer:
    """Something that is to happen, and may be called off."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Let it not happen."""
        self.action = None


class Schedule:
    """A clock that only moves when something happens.

    Attributes:
        now: virtual seconds.
        steps: how much has happened.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._heap: list[tuple[float, int, Timer]] = []
        self._asked = 0

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Let something happen so many seconds from now."""
        timer = Timer(action)
        self._asked += 1
        heapq.heappush(self._heap, (self.now + max(0.0, seconds), self._asked, timer))
        return timer

    def run(self, seconds: float) -> None:
        """Let everything happen that is due within so many seconds, and let that time pass."""
        end = self.now + seconds
        while self._heap and self._heap[0][0] <= end:
            when, _, timer = heapq.heappop(self._heap)
            if timer.action is not None:
                self.now = max(self.now, when)
                self.steps += 1
                timer.action()
        self.now = end
