"""When somebody must be woken next, of many: a heap that may hold outdated entries but never misses one that is due."""

import heapq
from typing import Generic, TypeVar

_OUTDATED_AT_MOST = 64

Key = TypeVar("Key", bound=tuple[int, ...])


class Agenda(Generic[Key]):
    """At most one appointment for each key. Costs a logarithm a change, whatever the number of keys."""

    def __init__(self) -> None:
        self._when: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []

    def appoint(self, key: Key, when: float | None) -> None:
        """Replace the appointment of a key; None for none."""
        if when is None:
            self._when.pop(key, None)
            return
        if self._when.get(key) == when:
            return
        self._when[key] = when
        heapq.heappush(self._heap, (when, key))
        if len(self._heap) > 2 * len(self._when) + _OUTDATED_AT_MOST:
            self._heap = [(when, key) for key, when in self._when.items()]
            heapq.heapify(self._heap)

    def next(self) -> float | None:
        """When the next appointment is."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[Key]:
        """Take out every appointment up to now, in the order of their times."""
        keys: list[Key] = []
        while (when := self.next()) is not None and when <= now:
            _, key = heapq.heappop(self._heap)
            del self._when[key]
            keys.append(key)
        return keys
