"""What will happen inside a module by itself, and when. There is no clock: whoever holds a module tells it the time.

Two things that are due at the same moment happen in the order in which they were planned, so a module of one seed
always behaves the same.
"""

from collections.abc import Callable, Hashable


class Timeline:
    """Things planned, each under a name of its own: planning one again replaces it.

    Args:
        now: seconds; only grows.

    Attributes:
        now: the moment up to which everything has happened. While something happens it is the moment it was due.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self._due: dict[Hashable, tuple[float, Callable[[], None]]] = {}

    def plan(self, what: Hashable, after: float, action: Callable[[], None]) -> None:
        """Let `action` happen some seconds after now."""
        self._due.pop(what, None)  # so that it takes its place behind the others
        self._due[what] = (self.now + after, action)

    def is_planned(self, what: Hashable) -> bool:
        """Whether something is still to happen."""
        return what in self._due

    def clear(self) -> None:
        """Nothing that was planned will happen."""
        self._due.clear()

    def next(self) -> float | None:
        """When the next thing is due; none when nothing is planned."""
        return min((when for when, _ in self._due.values()), default=None)

    def advance(self, now: float) -> None:
        """Let everything happen that is due by now, also what is planned meanwhile."""
        while self._due:
            what, (when, action) = min(self._due.items(), key=lambda item: item[1][0])
            if when > now:
                break
            del self._due[what]
            self.now = max(self.now, when)
            action()
        self.now = max(self.now, now)
