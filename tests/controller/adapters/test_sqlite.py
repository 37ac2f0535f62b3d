"""The store on a real file."""

import sqlite3
from dataclasses import replace

import pytest

from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.sqlite import FILE_NAME, SqliteStore
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
from ringlight.controller.ports import Batch, LoggedEvent, StoreError

JOB = StoredJob("train", 2, 16, 1, 0, 1)
RINGS = tuple(StoredRing(f"train/{i}", "train", ("n0", "n1"), "ACTIVE", "", 3) for i in range(11))


def events(first, last):
    return [
        LoggedEvent(FabricEvent(n, "verdict", f"n{n % 3}", "text", {"a": "b"}), 1.5) for n in range(first, last + 1)
    ]


@pytest.fixture
async def open_store(tmp_path):
    """Opens the store, again at each call; an earlier one is closed first."""
    present = []

    async def close():
        if present:
            await present.pop().close()

    async def open_again():
        await close()
        present.append(SqliteStore(tmp_path, SystemClock(), events_kept=100, block=50))
        return present[0], await present[0].open()

    yield open_again
    await close()


@pytest.fixture
def crashed_store(tmp_path):
    """A controller that wrote a batch and then died without closing its store."""

    async def crash(batch):
        store = SqliteStore(tmp_path, SystemClock(), events_kept=100, block=50)
        await store.open()
        await store.write(batch)
        await store._run(store._connection.close)
        store._thread.shutdown()

    return crash


async def test_each_start_is_a_new_term(open_store):
    await open_store()
    _, restored = await open_store()
    assert restored.epoch == 2


async def test_jobs_and_rings_come_back_in_rank_order(open_store):
    store, _ = await open_store()
    await store.write(Batch([Persist(jobs=(JOB,)), Persist(rings=RINGS[::-1])]))
    _, restored = await open_store()
    assert restored.jobs == (JOB,)
    assert restored.rings == RINGS


async def test_a_released_job_is_forgotten_with_its_rings(open_store):
    store, _ = await open_store()
    await store.write(Batch([Persist(jobs=(JOB,), rings=RINGS)]))
    released = StoredJob("train", 2, 16, 1, 0, 1, released=True)
    await store.write(Batch([Persist(jobs=(released,))]))
    _, restored = await open_store()
    assert (restored.jobs, restored.rings) == ((), ())


async def test_a_released_ring_is_forgotten_alone(open_store):
    store, _ = await open_store()
    await store.write(Batch([Persist(jobs=(JOB,), rings=RINGS)]))
    await store.write(Batch([Persist(rings=(replace(RINGS[10], state="RELEASED"),))]))
    _, restored = await open_store()
    assert restored.rings == RINGS[:10]
    assert restored.jobs == (JOB,)


async def test_overlays_come_back_until_they_are_lifted(open_store):
    store, _ = await open_store()
    draining = StoredOverlay("n1", "draining", "fan", leaving="train/0", forced=True)
    await store.write(Batch([Persist(overlays=(draining, StoredOverlay("n2", "cordoned")))]))
    store, restored = await open_store()
    assert restored.overlays == (draining, StoredOverlay("n2", "cordoned"))
    await store.write(Batch([Persist(overlays=(StoredOverlay("n1", ""), StoredOverlay("n2", "cordoned", "dust")))]))
    _, restored = await open_store()
    assert restored.overlays == (StoredOverlay("n2", "cordoned", "dust"),)


# What the first release wrote, word for word.
FORMAT_1 = """
CREATE TABLE term (epoch INTEGER NOT NULL, reserved INTEGER NOT NULL, closed INTEGER NOT NULL);
CREATE TABLE jobs (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rings (name TEXT PRIMARY KEY, job TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX rings_by_job ON rings (job);
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_by_subject ON events (subject, sequence);
INSERT INTO term VALUES (4, 2000, 1);
INSERT INTO jobs VALUES ('train', '{"name": "train", "rings": 11, "tp": 16, "min_rings": 1, "priority": 0, "order": 1,
    "pinned": false, "released": false}');
INSERT INTO rings VALUES ('train/0', 'train', '{"name": "train/0", "job": "train", "chain": ["n0", "n1"],
    "state": "ACTIVE", "cause": "", "generation": 3}');
INSERT INTO events VALUES (7, 1.5, 'settled', 'lab', 'at rest', '{}');
PRAGMA user_version = 1;
"""


async def test_a_store_of_the_first_format_is_brought_up_to_date(tmp_path, open_store):
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.executescript(FORMAT_1)
    connection.close()
    store, restored = await open_store()
    assert (restored.epoch, restored.generation, restored.sequence) == (5, 2000, 7)
    assert restored.jobs == (StoredJob("train", 11, 16, 1, 0, 1),)
    assert restored.rings == (RINGS[0],)
    assert restored.overlays == ()
    assert (restored.conduct, restored.hops, restored.hold, restored.recorded) == ((), (), StoredHold(), 2000)
    assert [logged.event.kind for logged in await store.events(after=0, limit=9)] == ["settled"]
    await store.write(Batch([Persist(overlays=(StoredOverlay("n1", "cordoned"),))]))
    _, restored = await open_store()
    assert restored.epoch == 6
    assert restored.overlays == (StoredOverlay("n1", "cordoned"),)


async def test_reserved_generations_and_epochs_only_grow(open_store):
    store, _ = await open_store()
    await store.write(Batch([Persist(epoch=9, reserved=5000), Persist(epoch=4, reserved=10)]))
    _, restored = await open_store()
    assert (restored.epoch, restored.generation, restored.reserved) == (10, 5000, 5050)


async def test_the_log_is_read_newest_first_cut_and_told_oldest_first(open_store):
    store, _ = await open_store()
    await store.write(Batch(events=events(1, 20)))
    told = await store.events(after=5, limit=3)
    assert [logged.event.sequence for logged in told] == [18, 19, 20]
    assert told[0].event.data == {"a": "b"}
    assert [e.event.sequence for e in await store.events(after=0, limit=9, subject="n1")] == [1, 4, 7, 10, 13, 16, 19]


async def test_old_events_are_dropped(open_store):
    store, _ = await open_store()
    for first in (1, 501, 1001, 1501, 2001):
        await store.write(Batch(events=events(first, first + 499)))
    kept = await store.events(after=0, limit=10_000)
    assert kept[-1].event.sequence == 2500
    assert len(kept) < 1200


async def test_the_store_remembers_where_the_log_ended(open_store):
    store, _ = await open_store()
    await store.write(Batch(events=events(1, 7)))
    _, restored = await open_store()
    assert restored.sequence == 7


async def test_a_second_controller_on_the_same_store_is_refused(open_store, tmp_path):
    await open_store()
    other = SqliteStore(tmp_path, SystemClock(), events_kept=100, block=50)
    with pytest.raises(StoreError, match="locked") as refusal:
        await other.open()
    assert "another controller" in refusal.value.hint
    await other.close()


async def test_a_store_of_a_later_format_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = SqliteStore(tmp_path, SystemClock(), events_kept=100, block=50)
    with pytest.raises(StoreError, match="format 99"):
        await store.open()
    await store.close()


async def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "state", SystemClock(), events_kept=100, block=50)
    with pytest.raises(StoreError) as refusal:
        await store.open()
    assert "state directory" in refusal.value.hint
    await store.close()


async def test_a_full_disk_is_told_writes_nothing_and_is_got_over(open_store):
    """SQLite ends some failed transactions by itself, and leaves one open whose COMMIT failed: neither may stay."""
    store, _ = await open_store()
    await store.write(Batch([Persist(jobs=(JOB,))], events(1, 5)))
    connection = store._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    more = events(6, 2000)
    for _ in range(2):
        with pytest.raises(StoreError, match="database or disk is full"):
            await store.write(Batch([Persist(reserved=5000)], more))
    connection.execute(f"PRAGMA max_page_count = {pages * 100}")
    await store.write(Batch([Persist(reserved=6000)], more))
    assert [e.event.sequence for e in await store.events(after=0, limit=9_999)] == list(range(1901, 2001))
    _, restored = await open_store()
    assert (restored.generation, restored.jobs) == (6000, (JOB,))


async def test_a_commit_that_fails_leaves_no_transaction_open(open_store):
    store, _ = await open_store()
    connection = store._connection
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    connection.execute("CREATE TRIGGER break AFTER INSERT ON events BEGIN INSERT INTO child VALUES (new.sequence); END")
    for _ in range(2):
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            await store.write(Batch(events=events(1, 1)))
    connection.execute("DROP TRIGGER break")
    await store.write(Batch(events=events(1, 1)))
    assert len(await store.events(after=0, limit=9)) == 1


async def test_after_a_crash_no_sequence_number_is_given_twice(tmp_path, crashed_store):
    """Watchers may have seen numbers above the last one on file."""
    await crashed_store(Batch(events=events(1, 7)))
    store = SqliteStore(tmp_path, SystemClock(), events_kept=100, block=50)
    restored = await store.open()
    assert restored.sequence > 7 + 1000
    assert restored.epoch == 2
    await store.close()


# What the second release added, word for word.
FORMAT_2 = (
    FORMAT_1.replace("PRAGMA user_version = 1;", "")
    + """
CREATE TABLE overlays (node TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO overlays VALUES ('n1', '{"node": "n1", "overlay": "cordoned", "reason": "fan", "leaving": "",
    "forced": false}');
PRAGMA user_version = 2;
"""
)


async def test_a_store_of_the_second_format_is_brought_up_to_date(tmp_path, open_store):
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.executescript(FORMAT_2)
    connection.close()
    _, restored = await open_store()
    assert restored.overlays == (StoredOverlay("n1", "cordoned", "fan"),)
    assert (restored.epoch, restored.recorded, restored.rings) == (5, 2000, (RINGS[0],))


async def test_conduct_and_holds_come_back_until_nothing_is_left_of_them(open_store):
    store, _ = await open_store()
    bad = StoredConduct("n1", (1.5, 2.5), (1.5,), failing=True, quarantine="failed 3 times in 7 days")
    hold = StoredHold(paused="firmware", tripped=None)
    await store.write(Batch([Persist(conduct=(bad, StoredConduct("n2", (3.0,))), hold=hold, generation=41)]))
    store, restored = await open_store()
    assert restored.conduct == (bad, StoredConduct("n2", (3.0,)))
    assert (restored.hold, restored.recorded) == (hold, 41)
    await store.write(Batch([Persist(conduct=(StoredConduct("n1"),), hold=StoredHold())]))
    _, restored = await open_store()
    assert restored.conduct == (StoredConduct("n2", (3.0,)),)
    assert restored.hold == StoredHold()


async def test_dark_fibres_come_back_until_they_are_seen_lit(open_store):
    store, _ = await open_store()
    dark = StoredHop("n1+1", 1.5), StoredHop("n2+2", 2.5)
    await store.write(Batch([Persist(hops=dark)]))
    store, restored = await open_store()
    assert restored.hops == dark
    await store.write(Batch([Persist(hops=(StoredHop("n1+1", None),))]))
    _, restored = await open_store()
    assert restored.hops == dark[1:]


async def test_the_end_of_maintenance_comes_back(open_store):
    store, _ = await open_store()
    laid = StoredOverlay("n1", "maintenance", "psu", until=1_700_000_000.5)
    await store.write(Batch([Persist(overlays=(laid,))]))
    _, restored = await open_store()
    assert restored.overlays == (laid,)


async def test_a_term_has_generations_of_its_own_before_anything_was_written(open_store):
    _, first = await open_store()
    _, second = await open_store()
    assert first.generation < first.reserved <= second.generation < second.reserved
