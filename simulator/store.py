"""A controller's store in memory: transactional, and only as durable as the real one.

Who opened it last is its owner; a former one is refused, as by the lock on the real file.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

from ringlight.controller.engine.effects import (
    NOTHING_HELD,
    Persist,
    StoredConduct,
    StoredHold,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.controller.engine.events import Restored


@dataclass(slots=True)
class Records:
    """What is on the disk."""

    jobs: dict[str, StoredJob] = field(default_factory=dict)
    rings: dict[str, StoredRing] = field(default_factory=dict)
    overlays: dict[str, StoredOverlay] = field(default_factory=dict)
    conduct: dict[str, StoredConduct] = field(default_factory=dict)
    hops: dict[str, StoredHop] = field(default_factory=dict)
    hold: StoredHold = NOTHING_HELD
    epoch: int = 0
    reserved: int = 0
    generation: int = 0


class MemoryStore:
    """One store.

    Attributes:
        refuses: its disk is full: nothing can be written.
    """

    def __init__(self, block: int) -> None:
        self.refuses = False
        self._block = block
        self._records = Records()
        self._backup = Records()
        self._owner: object = None
        self._sequence = 0

    def open(self, owner: object, wall: float) -> Restored:
        """Begin a new term; its epoch and its first generations are durable when this returns."""
        self._owner = owner
        records = self._records
        records.epoch += 1
        used, records.reserved = records.reserved, records.reserved + self._block
        self._sequence += 100_000  # whatever the former owner told is below this
        rings = sorted(records.rings.values(), key=lambda ring: (ring.job, int(ring.name.rpartition("/")[2])))
        return Restored(
            records.epoch,
            used,
            self._sequence,
            tuple(records.jobs.values()),
            tuple(ring for ring in rings if ring.job in records.jobs),
            tuple(records.overlays[node] for node in sorted(records.overlays)),
            tuple(records.conduct[node] for node in sorted(records.conduct)),
            tuple(records.hops[hop] for hop in sorted(records.hops)),
            records.hold,
            records.reserved,
            records.generation,
            wall,
        )

    def is_taken_from(self, owner: object) -> bool:
        """Whether another controller has begun a term since."""
        return owner is not self._owner

    def write(self, owner: object, batch: Iterable[Persist]) -> bool:
        """Write all of it or, if that is not possible, nothing."""
        if self.refuses or self.is_taken_from(owner):
            return False
        for persist in batch:
            self._apply(persist)
        return True

    def _apply(self, persist: Persist) -> None:
        records = self._records
        for job in persist.jobs:
            if job.released:
                records.jobs.pop(job.name, None)
                records.rings = {name: ring for name, ring in records.rings.items() if ring.job != job.name}
            else:
                records.jobs[job.name] = job
        for ring in persist.rings:
            if ring.released:
                records.rings.pop(ring.name, None)
            else:
                records.rings[ring.name] = ring
        for overlay in persist.overlays:
            if overlay.overlay:
                records.overlays[overlay.node] = overlay
            else:
                records.overlays.pop(overlay.node, None)
        records.conduct.update({conduct.node: conduct for conduct in persist.conduct})
        for hop in persist.hops:
            if hop.dead_since is not None:
                records.hops[hop.hop] = hop
            else:
                records.hops.pop(hop.hop, None)
        records.hold = persist.hold or records.hold
        records.epoch = max(records.epoch, persist.epoch)
        records.reserved = max(records.reserved, persist.reserved)
        records.generation = max(records.generation, persist.generation)

    def back_up(self) -> None:
        """Keep a copy of what is there now."""
        self._backup = copy.deepcopy(self._records)

    def restore_backup(self) -> None:
        """Go back to the last copy; without one, to nothing."""
        self._records = copy.deepcopy(self._backup)

    def lose(self) -> None:
        """Everything is gone."""
        self._records = Records()
