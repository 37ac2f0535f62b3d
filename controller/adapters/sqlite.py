"""The embedded store: one SQLite file in WAL mode, held by one controller at a time.

Every call runs in a thread of its own, so that a slow disk never holds up the event loop. Writes are fully
synchronous: the epoch and reserved generations are what fencing rests on.

A disk that is full, slow or read-only is waited for. A file that is damaged, or was taken away under us, is not: the
controller has everything in memory, so the file is moved aside, and a new one begins. At a start nobody has anything in
memory, so a damaged file is refused, and left to a person.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ringlight.controller.adapters.sqlite_format import (
    begin_term,
    bring_up_to_date,
    put_events,
    put_records,
    read_events,
)
from ringlight.controller.engine.events import Restored
from ringlight.controller.ports import Batch, Clock, LoggedEvent, StoreDamagedError, StoreError, StoreTakenError

FILE_NAME = "controller.sqlite"
_SUFFIXES = ("", "-wal", "-shm")  # of the files that SQLite keeps
_PRUNE_EVERY = 1_000  # events between two prunings of the log
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_T = TypeVar("_T")


class SqliteStore:
    """The `Store` on a local disk.

    Args:
        directory: where the file is; made when missing.
        clock: dates what is restored.
        events_kept: newest events kept in the log.
        block: generations reserved for a term when it begins.
    """

    def __init__(self, directory: Path, clock: Clock, *, events_kept: int, block: int) -> None:
        self._path = directory / FILE_NAME
        self._clock = clock
        self._events_kept = events_kept
        self._block = block
        self._pruned_at = 0
        self._epoch = 0  # the highest that we wrote
        self._complete = False  # everything that was told is in the file
        self._file = (0, 0)  # device and inode of the file that is open
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> Restored:
        """Open the file, take the next epoch and generations, and read what is remembered."""
        return await self._run(self._open)

    async def write(self, batch: Batch) -> None:
        """Write a batch as one transaction."""
        await self._run(lambda: self._write(batch))

    async def begin_anew(self) -> str:
        """Move the damaged file aside and begin an empty one."""
        return await self._run(self._begin_anew)

    async def events(self, *, after: int, limit: int, subject: str = "") -> Sequence[LoggedEvent]:
        """Read from the log."""
        return await self._run(lambda: read_events(self._opened(), after, limit, subject))

    async def close(self) -> None:
        """Close the file and its thread."""
        await self._run(self._close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> StoreError:
        if _is_damage(error):
            hint = "put a copy in its place, or move it away: rings that are lit are adopted, and keep their light"
            return StoreDamagedError(f"{self._path}: {error}", hint=hint)
        if "locked" in str(error):
            hint = "another controller uses this state directory: stop it, or give this one its own --state"
        else:
            hint = "check that the state directory exists, is writable and has free space"
        return StoreError(f"{self._path}: {error}", hint=hint)

    def _open(self) -> Restored:
        connection = self._connect()
        with _transaction(connection):
            bring_up_to_date(connection, str(self._path))
            restored = begin_term(connection, self._block, self._clock.wall())
        self._epoch = restored.epoch
        self._complete = True
        return restored

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=0.5)
        self._connection = connection
        # Held until the process ends: a second controller on the same file is refused, not interleaved.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        self._file = _identity(self._path)
        return connection

    def _write(self, batch: Batch) -> None:
        connection = self._opened()
        self._check_file()
        self._complete = False
        with _transaction(connection):
            self._check_term(connection)
            for persist in batch.persist:
                put_records(connection, persist)
            put_events(connection, batch.events)
            if batch.events and batch.events[-1].event.sequence >= self._pruned_at + _PRUNE_EVERY:
                self._pruned_at = batch.events[-1].event.sequence
                connection.execute("DELETE FROM events WHERE sequence <= ?", (self._pruned_at - self._events_kept,))
        self._epoch = max([self._epoch, *(persist.epoch for persist in batch.persist)])
        self._complete = True

    def _check_term(self, connection: sqlite3.Connection) -> None:
        """Where the lock on the file does not hold, as on some network file systems, another controller may have it."""
        (epoch,) = connection.execute("SELECT epoch FROM term").fetchone()
        if epoch > self._epoch:
            raise StoreTakenError(
                f"{self._path}: another controller began epoch {epoch}", hint="give each controller its own --state"
            )

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that was deleted, and nobody would ever read it."""
        try:
            there = _identity(self._path)
        except FileNotFoundError:
            there = (0, 0)
        if there != self._file:
            raise StoreDamagedError(f"{self._path} was removed or replaced", hint="a new one is begun from memory")

    def _begin_anew(self) -> str:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        aside = self._move_aside()
        connection = self._connect()
        with _transaction(connection):
            bring_up_to_date(connection, str(self._path))
            connection.execute("UPDATE term SET closed = 0")
        return aside

    def _move_aside(self) -> str:
        """Keep the damaged files under a name that is free; what is not there is not kept."""
        number = 1
        while (aside := self._path.with_name(f"{FILE_NAME}.damaged-{number}")).exists():
            number += 1
        for suffix in _SUFFIXES:
            file = self._path.with_name(FILE_NAME + suffix)
            if file.exists():
                file.rename(aside.with_name(aside.name + suffix))
        return str(aside) if aside.exists() else ""

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


def _identity(path: Path) -> tuple[int, int]:
    stat = os.stat(path)  # noqa: PTH116 - the two numbers that say which file it is
    return stat.st_dev, stat.st_ino


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _DAMAGED  # the upper bits say where


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
