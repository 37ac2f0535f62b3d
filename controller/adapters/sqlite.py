"""The embedded store: one SQLite file in WAL mode, held by one controller at a time.

Every call runs in a thread of its own, so that a slow disk never holds up the event loop. Writes are fully
synchronous: the epoch and reserved generations are what fencing rests on. The format has a version: a file of an
earlier one is brought up to date when it is opened, one of a later format is refused instead of guessed at.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from ringlight.controller.engine.effects import FabricEvent, Persist, StoredJob, StoredOverlay, StoredRing
from ringlight.controller.engine.events import Restored
from ringlight.controller.ports import Batch, LoggedEvent, StoreError

FILE_NAME = "controller.sqlite"
_LOST_EVENTS = 10_000  # numbers left out after a crash: those above the last on file may have been told to watchers
_PRUNE_EVERY = 1_000  # events between two prunings of the log

# What brings a file from each format to the next; a new file takes all of it. Steps that were released never change.
_STEPS = (
    """
CREATE TABLE term (epoch INTEGER NOT NULL, reserved INTEGER NOT NULL, closed INTEGER NOT NULL);
INSERT INTO term VALUES (0, 0, 1);
CREATE TABLE jobs (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rings (name TEXT PRIMARY KEY, job TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX rings_by_job ON rings (job);
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_by_subject ON events (subject, sequence);
""",
    """
CREATE TABLE overlays (node TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
""",
)
FORMAT = len(_STEPS)

_T = TypeVar("_T")


class SqliteStore:
    """The `Store` on a local disk."""

    def __init__(self, directory: Path, *, events_kept: int) -> None:
        self._path = directory / FILE_NAME
        self._events_kept = events_kept
        self._pruned_at = 0
        self._complete = False  # everything that was told is in the file
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> Restored:
        """Open the file, take the next epoch, and read what is remembered."""
        return await self._run(self._open)

    async def write(self, batch: Batch) -> None:
        """Write a batch as one transaction."""
        await self._run(lambda: self._write(batch))

    async def events(self, *, after: int, limit: int, subject: str = "") -> Sequence[LoggedEvent]:
        """Read from the log."""
        return await self._run(lambda: self._events(after, limit, subject))

    async def close(self) -> None:
        """Close the file and its thread."""
        await self._run(self._close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path}: {error}", hint=_hint(error)) from error

    def _open(self) -> Restored:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=0.5)
        self._connection = connection
        # Held until the process ends: a second controller on the same file is refused, not interleaved.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        with _transaction(connection):
            self._check_format(connection)
            restored = self._restored(connection)
            connection.execute("UPDATE term SET epoch = ?, closed = 0", (restored.epoch,))
        self._complete = True
        return restored

    def _check_format(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if not 0 <= version <= FORMAT:
            raise StoreError(
                f"{self._path} has format {version}, this release knows formats up to {FORMAT}",
                hint="run the release that wrote it, or move the file away: valid rings keep their light either way",
            )
        for step in _STEPS[version:]:
            for statement in step.split(";"):
                connection.execute(statement)
        if version < FORMAT:
            connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _restored(self, connection: sqlite3.Connection) -> Restored:
        epoch, reserved, closed = connection.execute("SELECT epoch, reserved, closed FROM term").fetchone()
        (sequence,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
        if not closed:
            sequence += _LOST_EVENTS
        jobs = [StoredJob(**json.loads(record)) for (record,) in connection.execute("SELECT record FROM jobs")]
        rings = [json.loads(record) for (record,) in connection.execute("SELECT record FROM rings")]
        restored = [StoredRing(**{**ring, "chain": tuple(ring["chain"])}) for ring in rings]
        laid = connection.execute("SELECT record FROM overlays ORDER BY node")
        overlays = [StoredOverlay(**json.loads(record)) for (record,) in laid]
        rank_order = tuple(sorted(restored, key=_rank))
        return Restored(epoch + 1, reserved, sequence, tuple(jobs), rank_order, tuple(overlays))

    def _write(self, batch: Batch) -> None:
        connection = self._opened()
        self._complete = False
        with _transaction(connection):
            for persist in batch.persist:
                _apply(connection, persist)
            connection.executemany(
                "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        e.event.sequence,
                        e.time,
                        e.event.kind,
                        e.event.subject,
                        e.event.text,
                        json.dumps(dict(e.event.data)),
                    )
                    for e in batch.events
                ],
            )
            if batch.events and batch.events[-1].event.sequence >= self._pruned_at + _PRUNE_EVERY:
                self._pruned_at = batch.events[-1].event.sequence
                connection.execute("DELETE FROM events WHERE sequence <= ?", (self._pruned_at - self._events_kept,))
        self._complete = True

    def _events(self, after: int, limit: int, subject: str) -> list[LoggedEvent]:
        query = "SELECT sequence, time, kind, subject, text, data FROM events WHERE sequence > ?"
        arguments: list[int | str] = [after]
        if subject:
            query += " AND subject = ?"
            arguments.append(subject)
        rows = self._opened().execute(f"{query} ORDER BY sequence DESC LIMIT ?", (*arguments, limit)).fetchall()
        return [
            LoggedEvent(FabricEvent(sequence, kind, of, text, json.loads(data)), time)
            for sequence, time, kind, of, text, data in reversed(rows)
        ]

    def _close(self) -> None:
        if self._connection is not None:
            if self._complete:
                self._connection.execute("UPDATE term SET closed = 1")
            self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self._path} is not open", hint="the controller is stopping")
        return self._connection


class _transaction:  # noqa: N801 - reads as a statement
    """BEGIN IMMEDIATE .. COMMIT, or ROLLBACK when something was raised."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            # SQLite ends a transaction by itself after some errors, and keeps one open whose COMMIT failed.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _apply(connection: sqlite3.Connection, persist: Persist) -> None:
    for job in persist.jobs:
        if job.released:
            connection.execute("DELETE FROM jobs WHERE name = ?", (job.name,))
            connection.execute("DELETE FROM rings WHERE job = ?", (job.name,))
        else:
            connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?)", (job.name, json.dumps(asdict(job))))
    for ring in persist.rings:
        if ring.released:
            connection.execute("DELETE FROM rings WHERE name = ?", (ring.name,))
        else:
            record = json.dumps(asdict(ring))
            connection.execute("INSERT OR REPLACE INTO rings VALUES (?, ?, ?)", (ring.name, ring.job, record))
    for overlay in persist.overlays:
        if overlay.overlay:
            record = json.dumps(asdict(overlay))
            connection.execute("INSERT OR REPLACE INTO overlays VALUES (?, ?)", (overlay.node, record))
        else:
            connection.execute("DELETE FROM overlays WHERE node = ?", (overlay.node,))
    if persist.epoch:
        connection.execute("UPDATE term SET epoch = max(epoch, ?)", (persist.epoch,))
    if persist.reserved:
        connection.execute("UPDATE term SET reserved = max(reserved, ?)", (persist.reserved,))


def _rank(ring: StoredRing) -> tuple[str, int]:
    return ring.job, int(ring.name.rpartition("/")[2])


def _hint(error: Exception) -> str:
    if "locked" in str(error):
        return "another controller uses this state directory: stop it, or give this one its own --state"
    return "check that the state directory exists, is writable and has free space"
