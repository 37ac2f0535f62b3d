"""One session's stream between an agent and a controller, with all that networks do to it.

Order within a stream is kept, as in gRPC: a later message never overtakes an earlier one, while streams overtake each
other. A cut loses what is in flight, and each side notices when it does. Either direction can be held up, and lets go
of everything later; and it can repeat each message, which no stream does, and nobody may be harmed by.
"""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

from ringlight.simulator.schedule import Schedule

_Message = TypeVar("_Message")

USUAL_DELAY = 0.001  # seconds


class Direction(Generic[_Message]):
    """One way of a stream.

    Attributes:
        delay: seconds that a message takes, about.
        held: messages are held up at present.
        doubled: messages arrive twice at present.
    """

    def __init__(self, schedule: Schedule, rng: Random, deliver: Callable[[_Message], None]) -> None:
        self.delay = USUAL_DELAY
        self.held = False
        self.doubled = False
        self._schedule = schedule
        self._rng = rng
        self._deliver = deliver
        self._last = 0.0  # when the newest message in flight arrives
        self._waiting: deque[_Message] = deque()
        self._open = True

    def send(self, message: _Message) -> None:
        """Put a message on its way."""
        if not self._open:
            return
        if self.held:
            self._waiting.append(message)
            return
        now = self._schedule.now
        self._last = max(self._last, now + self._rng.uniform(0.1, 2.0) * self.delay)
        self._schedule.after(self._last - now, lambda: self._arrive(message))
        if self.doubled:
            self._schedule.after(self._last - now, lambda: self._arrive(message))

    def _arrive(self, message: _Message) -> None:
        if self._open:
            self._deliver(message)

    def hold(self) -> None:
        """Hold messages up from now on."""
        self.held = True

    def release(self) -> None:
        """Let what was held up go."""
        self.held = False
        while self._waiting:
            self.send(self._waiting.popleft())

    def cut(self) -> None:
        """Lose what is in flight, and everything after it."""
        self._open = False
        self._waiting.clear()
