"""What is in the store's SQLite file: its format, step by step, and how records go in and come out.

The format has a version. A file of an earlier one is brought up to date when it is opened; one of a later format is
refused instead of guessed at. Steps that were released never change.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from ringlight.controller.engine.effects import (
    FabricEvent,
    Persist,
    StoredConduct,
    StoredHold,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.controller.engine.events import Restored
from ringlight.controller.engine.state import Overlay
from ringlight.controller.ports import LoggedEvent, StoreDamagedError, StoreError

DAMAGED_HINT = "put a copy in its place, or move it away: rings that are lit are adopted, and keep their light"
LOST_EVENTS = 10_000  # numbers left out after a crash: those above the last on file may have been told to watchers

# What brings a file from each format to the next; a new file takes all of it.
STEPS = (
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
    """
CREATE TABLE conduct (node TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE hops (hop TEXT PRIMARY KEY, dead_since REAL NOT NULL) WITHOUT ROWID;
ALTER TABLE term ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;
UPDATE term SET recorded = reserved;
ALTER TABLE term ADD COLUMN hold TEXT NOT NULL DEFAULT '{}';
""",
)
FORMAT = len(STEPS)

_R = TypeVar("_R")
_JOB, _RING = TypeAdapter(StoredJob), TypeAdapter(StoredRing)
_OVERLAY, _CONDUCT, _HOLD = TypeAdapter(StoredOverlay), TypeAdapter(StoredConduct), TypeAdapter(StoredHold)


def bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
    """Bring a file to the present format.

    Raises:
        StoreError: it is of a later one.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not 0 <= version <= FORMAT:
        raise StoreError(
            f"{path} has format {version}, this release knows formats up to {FORMAT}",
            hint="run the release that wrote it, or move the file away: valid rings keep their light either way",
        )
    for step in STEPS[version:]:
        for statement in step.split(";"):
            connection.execute(statement)
    if version < FORMAT:
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def begin_term(connection: sqlite3.Connection, path: str, block: int, wall: float) -> Restored:
    """Take the next epoch and the next block of generations, and read what is remembered.

    Raises:
        StoreDamagedError: a record is not what we wrote.
    """
    try:
        return _begin_term(connection, block, wall)
    except _Unreadable as error:
        raise StoreDamagedError(f"{path}: {error}", hint=DAMAGED_HINT) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        raise StoreDamagedError(f"{path}: {error}", hint=DAMAGED_HINT) from error  # it has not the tables we made


def _begin_term(connection: sqlite3.Connection, block: int, wall: float) -> Restored:
    terms = connection.execute("SELECT epoch, reserved, closed, recorded, hold FROM term").fetchall()
    if len(terms) != 1:
        raise _Unreadable(f"it has {len(terms)} terms")
    ((epoch, reserved, closed, recorded, hold),) = terms
    (sequence,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
    connection.execute("UPDATE term SET epoch = ?, reserved = ?, closed = 0", (epoch + 1, reserved + block))
    return Restored(
        epoch=epoch + 1,
        generation=reserved,
        sequence=sequence if closed else sequence + LOST_EVENTS,
        jobs=tuple(_records(connection, "jobs", _JOB)),
        rings=tuple(sorted(_records(connection, "rings", _RING), key=_rank)),
        overlays=tuple(_checked(overlay) for overlay in _records(connection, "overlays", _OVERLAY)),
        conduct=tuple(_records(connection, "conduct", _CONDUCT)),
        hops=tuple(StoredHop(*row) for row in connection.execute("SELECT hop, dead_since FROM hops ORDER BY hop")),
        hold=_record(_HOLD, "what is held", hold),
        reserved=reserved + block,
        recorded=recorded,
        wall=wall,
    )


class _Unreadable(Exception):  # noqa: N818 - names what a record is
    """A record is not what we wrote."""


def _records(connection: sqlite3.Connection, table: str, kind: TypeAdapter[_R]) -> list[_R]:
    rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1")  # noqa: S608 - one of our tables
    return [_record(kind, f"{table} of {row[0]!r}", row[-1]) for row in rows]


def _record(kind: TypeAdapter[_R], name: str, text: str) -> _R:
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        raise _Unreadable(f"the record {name} is unreadable: {error.errors(include_url=False)[0]['msg']}") from error


def _checked(overlay: StoredOverlay) -> StoredOverlay:
    if overlay.overlay not in set(Overlay):
        raise _Unreadable(f"what lies over {overlay.node} is unknown: {overlay.overlay!r}")
    return overlay


def _rank(ring: StoredRing) -> tuple[str, int]:
    rank = ring.name.rpartition("/")[2]
    if not (rank.isascii() and rank.isdecimal()):
        raise _Unreadable(f"ring {ring.name!r} has no rank")
    return ring.job, int(rank)


def put_records(connection: sqlite3.Connection, persist: Persist) -> None:
    """Put records over former ones of the same names, and forget those of what is over."""
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
        _put_node(connection, "overlays", overlay, forget=not overlay.overlay)
    for of_node in persist.conduct:
        _put_node(connection, "conduct", of_node, forget=of_node.spotless)
    for hop in persist.hops:
        if hop.dead_since is not None:
            connection.execute("INSERT OR REPLACE INTO hops VALUES (?, ?)", (hop.hop, hop.dead_since))
        else:
            connection.execute("DELETE FROM hops WHERE hop = ?", (hop.hop,))
    if persist.hold is not None:
        connection.execute("UPDATE term SET hold = ?", (json.dumps(asdict(persist.hold)),))
    connection.execute(
        "UPDATE term SET epoch = max(epoch, ?), reserved = max(reserved, ?), recorded = max(recorded, ?)",
        (persist.epoch, persist.reserved, persist.generation),
    )


def _put_node(
    connection: sqlite3.Connection, table: str, record: StoredOverlay | StoredConduct, *, forget: bool
) -> None:
    if forget:
        connection.execute(f"DELETE FROM {table} WHERE node = ?", (record.node,))  # noqa: S608 - one of our tables
    else:
        text = json.dumps(asdict(record))
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (record.node, text))  # noqa: S608 - as above


def put_events(connection: sqlite3.Connection, events: Iterable[LoggedEvent]) -> None:
    """Put events into the log."""
    rows = [_row(logged.event, logged.time) for logged in events]
    connection.executemany("INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)


def _row(event: FabricEvent, time: float) -> tuple[int, float, str, str, str, str]:
    return event.sequence, time, event.kind, event.subject, event.text, json.dumps(dict(event.data))


def read_events(connection: sqlite3.Connection, after: int, limit: int, subject: str) -> list[LoggedEvent]:
    """The newest events above a number, oldest first."""
    query = "SELECT sequence, time, kind, subject, text, data FROM events WHERE sequence > ?"
    arguments: list[int | str] = [after]
    if subject:
        query += " AND subject = ?"
        arguments.append(subject)
    rows = connection.execute(f"{query} ORDER BY sequence DESC LIMIT ?", (*arguments, limit)).fetchall()
    return [
        LoggedEvent(FabricEvent(sequence, kind, of, text, json.loads(data)), time)
        for sequence, time, kind, of, text, data in reversed(rows)
    ]
