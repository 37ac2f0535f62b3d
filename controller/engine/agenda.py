"""What the engine waits for: at most one time per topic, earliest first.

A topic that is put later than it was before comes up early and finds nothing due; whoever handles it looks at the state
again, and puts it again for what is left to wait for. So a heartbeat costs nothing here.
"""

import heapq
from collections.abc import Iterator

Topic = tuple[str, str]  # (kind, name), such as ("node", "n17")


class Agenda:
    """Times by topic."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, Topic]] = []
        self._when: dict[Topic, float] = {}

    def put(self, topic: Topic, when: float) -> None:
        """Look at a topic at this time, or earlier if that was asked for before."""
        known = self._when.get(topic)
        if known is None or when < known:
            self._when[topic] = when
            heapq.heappush(self._heap, (when, topic))

    def due(self, now: float) -> Iterator[Topic]:
        """Take out every topic whose time has come."""
        while self._heap and self._heap[0][0] <= now:
            when, topic = heapq.heappop(self._heap)
            if self._when.get(topic) == when:
                del self._when[topic]
                yield topic

    @property
    def next(self) -> float | None:
        """The earliest time anything is due."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
