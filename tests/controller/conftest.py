"""The controller's shell around a store in memory, a clock by hand, and links that write down what they are told."""

import asyncio
from collections.abc import Sequence

import pytest

from ringlight.controller.engine.effects import FabricEvent, Publish
from ringlight.controller.engine.events import Restored
from ringlight.controller.ports import Batch, LoggedEvent, StoreError

PATIENCE = 30.0  # seconds no healthy test ever waits for


class MemoryStore:
    """A `Store` that can be slow, or refuse.

    Attributes:
        batches: what was written, in order.
        trouble: while it is set, nothing can be written or read.
        no_room: while it is set, nothing can be begun anew.
        may_write: while it is not set, a write takes its time.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.trouble: StoreError | None = None
        self.no_room: StoreError | None = None
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.attempts = 0
        self.reads = 0
        self.begun_anew = 0
        self._news = asyncio.Condition()

    async def open(self) -> Restored:
        return Restored(epoch=1)

    async def write(self, batch: Batch) -> None:
        self.attempts += 1
        async with self._news:
            self._news.notify_all()
        await self.may_write.wait()
        if self.trouble is not None:
            raise self.trouble
        self.batches.append(batch)
        async with self._news:
            self._news.notify_all()

    async def begin_anew(self, everything: Batch) -> str:
        if self.no_room is not None:
            raise self.no_room
        self.trouble = None
        self.batches = [everything]
        self.begun_anew += 1
        return "the old one"

    async def events(self, *, after: int, limit: int, subject: str = "") -> Sequence[LoggedEvent]:
        self.reads += 1
        if self.trouble is not None:
            raise self.trouble
        return [e for e in self.logged() if e.event.sequence > after and subject in ("", e.event.subject)][-limit:]

    async def close(self) -> None:
        pass

    def logged(self) -> list[LoggedEvent]:
        """Every event on record."""
        return [event for batch in self.batches for event in batch.events]

    def sequences(self) -> list[int]:
        return [logged.event.sequence for logged in self.logged()]

    def jobs(self) -> list[str]:
        """Names of job records, in the order in which they were written."""
        return [job.name for batch in self.batches for record in batch.persist for job in record.jobs]

    def refuse(self, text: str = "disk full") -> None:
        self.trouble = StoreError(text, hint="free some space")

    async def until_tried(self, attempts: int) -> None:
        """Wait for the so manieth attempt to write."""
        await self._until(lambda: self.attempts >= attempts)

    async def until_written(self, sequence: int) -> None:
        """Wait until an event is on record."""
        await self._until(lambda: sequence in self.sequences())

    async def _until(self, condition) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(condition)


class ManualClock:
    """A `Clock` that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_700_000_000.0


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def store():
    return MemoryStore()


@pytest.fixture
def told():
    """Makes the effect that publishes an event."""

    def make(sequence, subject="n1", kind="verdict", **data):
        return Publish(FabricEvent(sequence, kind, subject, f"event {sequence}", data))

    return make
