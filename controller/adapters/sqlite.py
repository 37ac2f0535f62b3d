"""The embedded store: one SQLite file in WAL mode, held by one controller at a time.

Every call runs in a thread of its own, so that a slow disk never holds up the event loop. Writes are fully
synchronous: the epoch and reserved generations are what fencing rests on.

A disk that is full, slow or read-only is waited for. A file that is damaged, or was taken away under us, is not: the
controller has everything in memory, so a new file is written with all of it, and takes the place of the old one, which
is moved aside. At no moment there is a file that looks whole and is not. At a start nobody has anything in memory, so a
damaged file is refused, and left to a person.
"""

import asyncio
import fcntl
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from ringlight.controller.adapters.sqlite_format import (
    DAMAGED_HINT,
    begin_term,
    bring_up_to_date,
    put_events,
    put_records,
    read_events,
)
from ringlight.controller.engine.events import Restored
from ringlight.controller.ports import Batch, Clock, LoggedEvent, StoreDamagedError, StoreError, StoreTakenError

FILE_NAME = "controller.sqlite"
_PRUNE_EVERY = 1_000  # events between two prunings of the log
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Where SQLite on Unix locks a file that is in use; https://www.sqlite.org/src/file/src/os.h, PENDING_BYTE.
_FIRST_LOCK_BYTE, _LOCK_BYTES = 0x40000000, 512
_IN_USE_HINT = "another controller uses this state directory: stop it, or give this one its own --state"

_log = logging.getLogger(__name__)

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
        self._lost = False  # the file is damaged or gone, and nothing has taken its place yet
        self._closed = False
        self._file = (0, 0)  # device and inode of the file that is open
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> Restored:
        """Open the file, take the next epoch and generations, and read what is remembered."""
        return await self._run(self._open)

    async def write(self, batch: Batch) -> None:
        """Write a batch as one transaction; an empty one proves that it could."""
        await self._run(lambda: self._write(batch))

    async def begin_anew(self, everything: Batch) -> str:
        """Put a new file that holds everything in the place of the damaged one, which is moved aside."""
        return await self._run(lambda: self._begin_anew(everything))

    async def events(self, *, after: int, limit: int, subject: str = "") -> Sequence[LoggedEvent]:
        """Read from the log."""
        return await self._run(lambda: read_events(self._opened(), after, limit, subject))

    async def close(self) -> None:
        """Close the file and its thread; once more does no harm."""
        if not self._closed:
            await self._run(self._close)
            self._thread.shutdown()

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError, MemoryError) as error:
            raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> StoreError:
        code = _primary_code(error)
        if code in _DAMAGED:
            return StoreDamagedError(f"{self._path}: {error}", hint=DAMAGED_HINT)
        if code in _IN_USE:
            return StoreError(f"{self._path}: {error}", hint=_IN_USE_HINT)
        if isinstance(error, MemoryError):  # how Python passes on that SQLite had none
            return StoreError(f"{self._path}: out of memory", hint="free some memory on the controller's machine")
        hint = "check that the state directory exists, is writable and has free space"
        return StoreError(f"{self._path}: {error}", hint=hint)

    def _open(self) -> Restored:
        connection = self._connect()
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StoreDamagedError(f"{self._path}: {verdict}", hint=DAMAGED_HINT)
        with _transaction(connection):
            bring_up_to_date(connection, str(self._path))
            restored = begin_term(connection, str(self._path), self._block, self._clock.wall())
        self._epoch = restored.epoch
        self._complete = True
        return restored

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=0.5)
        try:
            # Held until the process ends: a second controller on the same file is refused, not interleaved.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._file = _identity(self._path)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _write(self, batch: Batch) -> None:
        connection = self._opened()
        self._check_file()
        self._complete = False
        with _transaction(connection):
            self._check_term(connection)
            if not batch:
                connection.execute("UPDATE term SET closed = 0")
            self._put(connection, batch)
        self._note_written(batch)

    def _put(self, connection: sqlite3.Connection, batch: Batch) -> None:
        for persist in batch.persist:
            put_records(connection, persist)
        put_events(connection, batch.events)
        if batch.events and batch.events[-1].event.sequence >= self._pruned_at + _PRUNE_EVERY:
            self._pruned_at = batch.events[-1].event.sequence
            connection.execute("DELETE FROM events WHERE sequence <= ?", (self._pruned_at - self._events_kept,))

    def _note_written(self, batch: Batch) -> None:
        self._epoch = max([self._epoch, *(persist.epoch for persist in batch.persist)])
        self._complete = True

    def _check_term(self, connection: sqlite3.Connection) -> None:
        """Where the lock on the file does not hold, as on some network file systems, another controller may have it."""
        epoch = max((row[0] for row in connection.execute("SELECT epoch FROM term")), default=0)
        if epoch > self._epoch:
            raise StoreTakenError(f"{self._path}: another controller began epoch {epoch}", hint=_IN_USE_HINT)

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that was deleted, and nobody would ever read it."""
        try:
            there = _identity(self._path)
        except FileNotFoundError:
            there = (0, 0)
        if there != self._file:
            raise StoreDamagedError(f"{self._path} was removed or replaced", hint="a new one is begun from memory")

    def _begin_anew(self, everything: Batch) -> str:
        self._check_for_another_controller()
        self._lost = True
        self._let_go()
        new = self._path.with_name(f"{FILE_NAME}.new")
        self._write_new(new, everything)
        aside = self._move_aside()
        new.rename(self._path)
        self._file = _identity(self._path)
        self._lost = False
        self._note_written(everything)
        self._connect()
        return aside

    def _check_for_another_controller(self) -> None:
        """Two controllers that were given one directory must not take the file away from each other in turns.

        SQLite is not asked: it would play our log, which lies beside the file that replaced ours, into that.
        """
        if not self._path.exists() or _identity(self._path) == self._file:
            return
        with self._path.open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_BYTES, _FIRST_LOCK_BYTE)
            except BlockingIOError as error:
                raise StoreTakenError(f"{self._path} was replaced, and is in use", hint=_IN_USE_HINT) from error

    def _write_new(self, file: Path, everything: Batch) -> None:
        """Make a file that holds everything. Nobody looks at it before it is whole."""
        for suffix in ("", "-journal"):  # of an attempt that failed
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            with _transaction(connection):
                bring_up_to_date(connection, str(file))
                connection.execute("UPDATE term SET closed = 0")
                self._put(connection, everything)

    def _move_aside(self) -> str:
        """Keep the damaged files under a name that is free; what is not there is not kept.

        What belongs to the main file goes first: a log that is found beside a new file would be played into that.
        """
        number = 1
        while list(self._path.parent.glob(f"{FILE_NAME}.damaged-{number}*")):
            number += 1
        aside = self._path.with_name(f"{FILE_NAME}.damaged-{number}")
        for suffix in ("-wal", "-shm", ""):
            file = self._path.with_name(FILE_NAME + suffix)
            if file.exists():
                file.rename(aside.with_name(aside.name + suffix))
        return str(aside) if aside.exists() else ""

    def _close(self) -> None:
        self._closed = True
        try:
            if self._connection is not None and self._complete:
                self._connection.execute("UPDATE term SET closed = 1")
        except (sqlite3.Error, MemoryError) as error:
            # All is in the file but this; the next start takes it for a crash, and leaves some numbers of events out.
            _log.warning("%s could not be marked as closed: %s", self._path, error)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self._path} is not open", hint="the controller is stopping")
        if self._lost:
            hint = "check that the state directory is writable and has free space"
            raise StoreDamagedError(f"{self._path} is lost", hint=hint)
        if self._connection is None:  # the new file was made, and could not be opened yet
            self._check_file()
            return self._connect()
        return self._connection


def _identity(path: Path) -> tuple[int, int]:
    stat = os.stat(path)  # noqa: PTH116 - the two numbers that say which file it is
    return stat.st_dev, stat.st_ino


def _primary_code(error: Exception) -> int:
    """Of what SQLite said, without the upper bits that say where; 0 if it was not SQLite."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class _transaction:  # noqa: N801 - reads as a statement
    """BEGIN IMMEDIATE .. COMMIT, or ROLLBACK when something was raised."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        if self._connection.in_transaction:  # one whose ROLLBACK failed, too
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            # SQLite ends a transaction by itself after some errors, and keeps one open whose COMMIT failed.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
