"""The last events about each subject: what `explain` tells from. Bounded per subject, and in subjects."""

from collections import OrderedDict, deque

from ringlight.controller.engine.effects import FabricEvent

_EVENTS_PER_SUBJECT = 30
_SUBJECTS = 50_000


class History:
    """Events by subject, oldest first; the subject that was quiet longest is forgotten first."""

    def __init__(self) -> None:
        self._by_subject: OrderedDict[str, deque[FabricEvent]] = OrderedDict()

    def add(self, event: FabricEvent) -> None:
        """Remember an event."""
        events = self._by_subject.setdefault(event.subject, deque(maxlen=_EVENTS_PER_SUBJECT))
        events.append(event)
        self._by_subject.move_to_end(event.subject)
        if len(self._by_subject) > _SUBJECTS:
            self._by_subject.popitem(last=False)

    def about(self, subject: str) -> tuple[FabricEvent, ...]:
        """What is remembered about a subject, oldest first."""
        return tuple(self._by_subject.get(subject, ()))
