"""What waits to be written to the store: bounded, however long the store cannot be written.

A later record replaces an earlier one of the same name, and a released job takes the records of its rings along, so
there are never more records than names. Events are kept up to a number; beyond it the oldest are dropped and counted.
"""

from collections import deque
from collections.abc import Iterable

from ringlight.controller.engine.effects import (
    Persist,
    StoredConduct,
    StoredHold,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.controller.ports import Batch, LoggedEvent


class Unwritten:
    """Records and events on their way to the store.

    Args:
        most_events: more than these are dropped, oldest first.

    Attributes:
        events_dropped: how many were.
    """

    def __init__(self, most_events: int) -> None:
        self.events_dropped = 0
        self._most_events = most_events
        self._events: deque[LoggedEvent] = deque()
        self._released: dict[str, StoredJob] = {}
        self._jobs: dict[str, StoredJob] = {}
        self._rings: dict[str, StoredRing] = {}
        self._overlays: dict[str, StoredOverlay] = {}
        self._conduct: dict[str, StoredConduct] = {}
        self._hops: dict[str, StoredHop] = {}
        self._hold: StoredHold | None = None
        self._epoch = 0
        self._reserved = 0
        self._generation = 0

    def keep(self, record: Persist) -> None:
        """Add records, over former ones of the same names."""
        for job in record.jobs:
            if job.released:
                self._jobs.pop(job.name, None)
                self._rings = {name: ring for name, ring in self._rings.items() if ring.job != job.name}
                self._released[job.name] = job
            else:
                self._jobs[job.name] = job
        self._rings.update({ring.name: ring for ring in record.rings})
        self._overlays.update({overlay.node: overlay for overlay in record.overlays})
        self._conduct.update({conduct.node: conduct for conduct in record.conduct})
        self._hops.update({hop.hop: hop for hop in record.hops})
        self._hold = record.hold or self._hold
        self._epoch = max(self._epoch, record.epoch)
        self._reserved = max(self._reserved, record.reserved)
        self._generation = max(self._generation, record.generation)

    def log(self, events: Iterable[LoggedEvent]) -> None:
        """Add events."""
        self._events.extend(events)
        while len(self._events) > self._most_events:
            self._events.popleft()
            self.events_dropped += 1

    def take(self) -> Batch:
        """Everything, as one batch; nothing waits any more."""
        # Released jobs come first: a job of the same name may have been submitted since.
        record = Persist(
            (*self._released.values(), *self._jobs.values()),
            tuple(self._rings.values()),
            tuple(self._overlays.values()),
            tuple(self._conduct.values()),
            tuple(self._hops.values()),
            self._hold,
            epoch=self._epoch,
            reserved=self._reserved,
            generation=self._generation,
        )
        batch = Batch([record] if record != Persist() else [], list(self._events))
        self._clear()
        return batch

    def give_back(self, batch: Batch) -> None:
        """Let a batch wait that was taken and not written, under what came since."""
        since = self.take()
        for record in (*batch.persist, *since.persist):
            self.keep(record)
        self.log((*batch.events, *since.events))

    def _clear(self) -> None:
        self._events.clear()
        self._released, self._jobs, self._rings, self._overlays, self._conduct, self._hops = {}, {}, {}, {}, {}, {}
        self._hold = None
        self._epoch = self._reserved = self._generation = 0
