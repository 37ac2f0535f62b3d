"""A store in every kind of trouble: nothing is lost that the controller knows, and it is got over by itself."""

import asyncio
import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ringlight.controller import runtime as runtime_module
from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.sqlite import FILE_NAME, SqliteStore
from ringlight.controller.engine.effects import FabricEvent, Persist, StoredHold, StoredJob, StoredRing
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Cordon
from ringlight.controller.ports import Batch, LoggedEvent, StoreDamagedError, StoreError, StoreTakenError
from ringlight.controller.runtime import Runtime
from ringlight.controller.settings import Settings

PATIENCE = 30.0
JOB = StoredJob("train", 2, 16, 1, 0, 1)
RINGS = tuple(StoredRing(f"train/{i}", "train", ("n0", "n1"), "ACTIVE", "", 3) for i in range(2))
EVERYTHING = Batch([Persist(jobs=(JOB,), rings=RINGS, epoch=7, reserved=900)])
NOBODY = 65534


def events(first, last, text="text"):
    return [LoggedEvent(FabricEvent(n, "verdict", f"n{n % 3}", text, {"a": "b"}), 1.5) for n in range(first, last + 1)]


def make_store(directory):
    return SqliteStore(directory, SystemClock(), events_kept=100_000, block=50)


@pytest.fixture
async def store(tmp_path):
    """An open store; closed whatever became of it."""
    store = make_store(tmp_path)
    await store.open()
    yield store
    await store.close()


async def reopened(store):
    """What the next start finds."""
    await store.close()
    again = make_store(store._path.parent)
    try:
        return await again.open()
    finally:
        await again.close()


# -- every error code --------------------------------------------------------------------------------------------------

# As Python names them, the detailed ones included; those that say no error are left out.
CODES = sorted(
    {
        getattr(sqlite3, name)
        for name in dir(sqlite3)
        if name.startswith("SQLITE_") and isinstance(getattr(sqlite3, name), int)
        if any(
            name == kind or name.startswith(f"{kind}_")
            for kind in (
                *("SQLITE_ERROR", "SQLITE_INTERNAL", "SQLITE_PERM", "SQLITE_ABORT", "SQLITE_BUSY", "SQLITE_LOCKED"),
                *("SQLITE_NOMEM", "SQLITE_READONLY", "SQLITE_INTERRUPT", "SQLITE_IOERR", "SQLITE_CORRUPT"),
                *("SQLITE_NOTFOUND", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL", "SQLITE_EMPTY"),
                *("SQLITE_SCHEMA", "SQLITE_TOOBIG", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_MISUSE"),
                *("SQLITE_NOLFS", "SQLITE_AUTH", "SQLITE_FORMAT", "SQLITE_RANGE", "SQLITE_NOTADB"),
            )
        )
    }
)

# The kind of error that Python makes of each; what is not here is an `OperationalError`.
KINDS = {
    sqlite3.SQLITE_INTERNAL: sqlite3.InternalError,
    sqlite3.SQLITE_NOTFOUND: sqlite3.InternalError,
    sqlite3.SQLITE_CORRUPT: sqlite3.DatabaseError,
    sqlite3.SQLITE_NOTADB: sqlite3.DatabaseError,
    sqlite3.SQLITE_TOOBIG: sqlite3.DataError,
    sqlite3.SQLITE_CONSTRAINT: sqlite3.IntegrityError,
    sqlite3.SQLITE_MISMATCH: sqlite3.IntegrityError,
    sqlite3.SQLITE_MISUSE: sqlite3.InterfaceError,
    sqlite3.SQLITE_RANGE: sqlite3.InterfaceError,
}
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def error_of(code):
    """The error that Python raises when SQLite says this."""
    if code & 0xFF == sqlite3.SQLITE_NOMEM:
        return MemoryError()
    error = KINDS.get(code & 0xFF, sqlite3.OperationalError)(f"error {code}")
    error.sqlite_errorcode = code
    return error


class Failing:
    """A connection of which one statement fails with one error code."""

    def __init__(self, connection, number, code):
        self.real, self.left, self.code = connection, number, code

    def __getattr__(self, name):
        return getattr(self.real, name)

    def execute(self, *arguments):
        return self._run(self.real.execute, *arguments)

    def executemany(self, *arguments):
        return self._run(self.real.executemany, *arguments)

    def _run(self, call, *arguments):
        self.left -= 1
        if self.left == 0:
            raise error_of(self.code)
        return call(*arguments)


async def trouble_of(write):
    try:
        await write
    except StoreError as error:
        return error
    return None


def test_the_codes_are_those_of_sqlite():
    assert {code & 0xFF for code in CODES} == set(range(1, 27))
    assert len(CODES) > 60


@pytest.mark.parametrize("code", CODES)
async def test_pitfall_16_every_store_error_code_at_every_statement_loses_nothing(store, code):
    """Whatever fails, and wherever: it is a StoreError with a hint, nothing is written, and the same batch is next."""
    real = store._connection
    real.execute("PRAGMA synchronous = OFF")  # for the sake of the test's time
    batch = Batch([Persist(jobs=(JOB,), rings=RINGS, hold=StoredHold("p"))], events(1, 3))
    statement, failed = 0, True
    while failed:
        statement += 1
        failing = store._connection = Failing(real, statement, code)
        trouble = await trouble_of(store.write(batch))
        failed = failing.left <= 0
        assert bool(trouble) == failed
        if trouble:
            assert trouble.hint
            assert isinstance(trouble, StoreDamagedError) == (code & 0xFF in DAMAGE)
            assert not real.in_transaction
    assert statement == 10, "one more than BEGIN, whose term it is, job, two rings, hold, term, events, COMMIT"
    store._connection = real
    restored = await reopened(store)
    assert (restored.jobs, restored.rings, restored.hold) == ((JOB,), RINGS, StoredHold("p"))


@pytest.mark.parametrize("code", CODES)
async def test_pitfall_16_no_error_code_ends_the_writer_or_keeps_anything_from_the_file(
    tmp_path, make_wiring, monkeypatch, code
):
    """The real engine, writer and file, and one error at each statement in turn."""
    monkeypatch.setattr(runtime_module, "_STORE_RETRY", 0.0)
    store = make_store(tmp_path)
    async with running(Runtime(Engine(make_wiring(8), Settings()), store, SystemClock())) as runtime:
        await at_rest(runtime)
        for statement in range(1, 7):  # BEGIN, whose term it is, overlay, term, events, COMMIT
            store._connection.execute("PRAGMA synchronous = OFF")  # for the sake of the test's time
            store._connection = Failing(store._connection, statement, code)
            with contextlib.suppress(StoreError):  # "done, but not on record": it is soon
                await runtime.ask(Cordon("", (f"n{statement}",), "dust"))
            await at_rest(runtime)
            assert store._connection.left <= 0 if isinstance(store._connection, Failing) else code & 0xFF in DAMAGE
        known, _ = runtime.feed_of_events.recent(0)
        assert await store.events(after=0, limit=1000) == known
        kinds = [logged.event.kind for logged in known]
        assert kinds.count("store-begun-anew") == (6 if code & 0xFF in DAMAGE else 0)
    restored = await reopened(store)
    assert [(laid.node, laid.reason) for laid in restored.overlays] == [(f"n{n}", "dust") for n in range(1, 7)]
    assert restored.epoch == 2


@contextlib.asynccontextmanager
async def running(runtime):
    """The runtime of a controller with its writer at work."""
    runtime.feed(await runtime.store.open())
    writer = asyncio.create_task(runtime.write_forever())
    try:
        yield runtime
        assert not writer.done()
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        await runtime.stop()


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is awaited are plain attributes
            await asyncio.sleep(0.001)


async def at_rest(runtime):
    """Wait until everything that was decided is in the file."""
    await until(lambda: not runtime.store_trouble and not runtime._something_to_write.is_set())
    await runtime.store.events(after=0, limit=1)  # the store's thread has done what it was at


async def test_a_rollback_that_fails_too_is_made_up_for(store):
    real = store._connection
    store._connection = Failing(real, 3, sqlite3.SQLITE_IOERR)
    store._connection.__dict__["in_transaction"] = False  # so that nobody rolls back
    with pytest.raises(StoreError):
        await store.write(EVERYTHING)
    assert real.in_transaction
    store._connection = real
    await store.write(EVERYTHING)
    assert (await reopened(store)).jobs == (JOB,)


async def test_a_store_that_cannot_be_marked_as_closed_is_closed_all_the_same(store, caplog):
    await store.write(Batch([Persist(jobs=(JOB,))], events(1, 7)))
    store._connection = Failing(store._connection, 1, sqlite3.SQLITE_IOERR_WRITE)
    restored = await reopened(store)
    assert "could not be marked as closed" in caplog.text
    assert restored.jobs == (JOB,)
    assert restored.sequence > 7  # as after a crash


async def test_an_idle_store_is_tried_so_that_readiness_speaks_of_now(tmp_path, make_wiring, monkeypatch):
    """Pitfall 13: nothing is written in a quiet night, and a disk may fail in it."""
    monkeypatch.setattr(runtime_module, "_STORE_RETRY", 0.01)
    monkeypatch.setattr(runtime_module, "_STORE_CHECK", 0.01)
    store = make_store(tmp_path)
    async with running(Runtime(Engine(make_wiring(8), Settings()), store, SystemClock())) as runtime:
        await at_rest(runtime)
        real = store._connection
        store._connection = Failing(real, 1, sqlite3.SQLITE_IOERR_FSYNC)
        await until(lambda: runtime.store_trouble)
        assert "error" in runtime.why_not_ready()
        await until(lambda: not runtime.store_trouble)
        assert runtime.why_not_ready() == ""
        (tmp_path / FILE_NAME).unlink()
        await until(lambda: runtime.feed_of_events.recent(0)[0][-1].event.kind == "store-begun-anew")
        await until(lambda: (tmp_path / FILE_NAME).exists() and not runtime.store_trouble)


# -- real disks --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "ringlight-test", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=False)


def fill(place):
    """Leave no byte free; returns what to remove to have some again."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


async def test_pitfall_16_a_disk_that_is_full_is_got_over_when_there_is_room(small_disk):
    store = make_store(small_disk)
    await store.open()
    ballast = fill(small_disk)
    for _ in range(2):
        with pytest.raises(StoreError, match="full") as told:
            await store.write(Batch([Persist(jobs=(JOB,))], events(1, 200, "x" * 400)))
        assert not isinstance(told.value, StoreDamagedError)
        assert "free space" in told.value.hint
    ballast.unlink()
    await store.write(Batch([Persist(jobs=(JOB,))], events(1, 200, "x" * 400)))
    assert len(await store.events(after=0, limit=1000)) == 200
    assert (await reopened(store)).jobs == (JOB,)


async def test_a_store_that_is_lost_while_the_disk_is_full_is_begun_anew_when_there_is_room(small_disk):
    """And until then it litters the disk with nothing."""
    store = make_store(small_disk)
    await store.open()
    large = Batch(EVERYTHING.persist, events(1, 200, "x" * 400))
    replaced = small_disk / "replaced"
    replaced.write_bytes(b"a stranger's file")
    replaced.rename(small_disk / FILE_NAME)
    ballast = fill(small_disk)
    for _ in range(5):
        with pytest.raises(StoreDamagedError):
            await store.write(large)
        with pytest.raises(StoreError, match="full"):
            await store.begin_anew(large)
        with pytest.raises(StoreDamagedError):
            await store.events(after=0, limit=1)
    assert not list(small_disk.glob("*.damaged-*"))
    ballast.unlink()
    with pytest.raises(StoreDamagedError):
        await store.write(large)
    aside = await store.begin_anew(large)
    assert (small_disk / f"{FILE_NAME}.damaged-1").read_bytes() == b"a stranger's file"
    assert aside == str(small_disk / f"{FILE_NAME}.damaged-1")
    assert sorted(file.name for file in small_disk.iterdir() if not file.name.endswith(("-wal", "-shm"))) == [
        FILE_NAME,
        f"{FILE_NAME}.damaged-1",
    ]
    restored = await reopened(store)
    assert (restored.jobs, restored.rings, restored.epoch, restored.sequence) == ((JOB,), RINGS, 8, 200)


async def test_a_limit_on_the_size_of_files_is_trouble_and_no_end(store):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = Batch([Persist(jobs=(JOB,))], events(1, 2000, "x" * 400))
    size = sum(file.stat().st_size for file in store._path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, hard))
    try:
        for _ in range(2):
            with pytest.raises(StoreError) as told:
                await store.write(large)
            assert not isinstance(told.value, StoreDamagedError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await store.write(large)
    assert len(await store.events(after=0, limit=10_000)) == 2000


@pytest.fixture
def closed_directory():
    """Makes a directory unwritable and writable again; root may write anywhere, so it is somebody else for a while."""
    directory = Path(tempfile.mkdtemp(prefix="ringlight-test-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(directory, NOBODY, NOBODY)

    @contextlib.contextmanager
    def close():
        directory.chmod(0o500)
        if is_root:
            os.seteuid(NOBODY)
        try:
            yield
        finally:
            if is_root:
                os.seteuid(0)
            directory.chmod(0o700)

    yield directory, close
    shutil.rmtree(directory)


async def test_a_directory_that_may_not_be_written_is_told_at_the_start(closed_directory):
    directory, close = closed_directory
    store = make_store(directory)
    with close(), pytest.raises(StoreError, match="unable to open") as told:
        await store.open()
    assert "writable" in told.value.hint
    assert (await reopened(store)).epoch == 1


async def test_a_store_that_is_lost_while_nothing_may_be_made_is_begun_anew_when_it_may(closed_directory):
    directory, close = closed_directory
    store = make_store(directory)
    await store.open()
    await store.write(EVERYTHING)
    (directory / FILE_NAME).rename(directory / "gone")
    with close():
        for _ in range(3):
            with pytest.raises(StoreDamagedError):
                await store.write(EVERYTHING)
            with pytest.raises(StoreError, match="unable to open"):
                await store.begin_anew(EVERYTHING)
    assert await store.begin_anew(EVERYTHING) == ""
    assert (await reopened(store)).rings == RINGS


@pytest.mark.parametrize("step", ["_write_new", "_move_aside", "_connect"])
async def test_a_new_store_that_could_be_begun_but_half_is_begun_by_the_next_attempt(store, monkeypatch, step):
    """Whatever step fails, the next attempt to write says what to do, and nothing is left of the failure."""
    await store.write(Batch(EVERYTHING.persist, events(1, 3)))
    store._path.unlink()

    def full(*_):
        raise error_of(sqlite3.SQLITE_FULL)

    with monkeypatch.context() as patch:
        patch.setattr(store, step, full)
        with pytest.raises(StoreError, match="error 13"):
            await store.begin_anew(EVERYTHING)
        with pytest.raises(StoreError):
            await store.write(Batch())
    try:
        await store.write(Batch(events=events(4, 5)))
        assert step == "_connect", "it was whole, and needed only to be opened"
    except StoreDamagedError:
        await store.begin_anew(Batch(EVERYTHING.persist, events(1, 5)))
    restored = await reopened(store)
    assert (restored.rings, restored.sequence) == (RINGS, 5)
    left = {file.name for file in store._path.parent.iterdir()} - {f"{FILE_NAME}.damaged-1-wal"}
    assert left == {FILE_NAME}


async def test_two_controllers_do_not_take_the_file_from_each_other_in_turns(store):
    """Somebody removed the file and started a second controller: the first one must see that it is not alone."""
    for file in store._path.parent.iterdir():
        file.unlink()
    second = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SECOND, str(store._path.parent), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE):
            assert await second.stdout.readline() == b"epoch 1\n"
            for _ in range(2):
                with pytest.raises(StoreDamagedError, match="removed or replaced"):
                    await store.write(Batch())
                with pytest.raises(StoreTakenError, match="in use") as told:
                    await store.begin_anew(EVERYTHING)
                assert "another controller" in told.value.hint
            assert not list(store._path.parent.glob("*.damaged-*"))
    finally:
        output, _ = await second.communicate(b"")
    assert output == b"written\n"
    assert second.returncode == 0
    await store.begin_anew(EVERYTHING)
    assert (await reopened(store)).rings == RINGS


SECOND = """
import asyncio, pathlib, sys
from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.sqlite import SqliteStore
from ringlight.controller.ports import Batch

async def main():
    store = SqliteStore(pathlib.Path(sys.argv[1]), SystemClock(), events_kept=100, block=50)
    print("epoch", (await store.open()).epoch, flush=True)
    sys.stdin.read()
    await store.write(Batch())
    print("written")
    await store.close()

asyncio.run(main())
"""


async def test_a_file_that_was_taken_away_is_noticed_and_begun_anew(store):
    store._path.unlink()
    with pytest.raises(StoreDamagedError, match="removed or replaced"):
        await store.write(Batch([Persist(jobs=(JOB,))]))
    assert await store.begin_anew(EVERYTHING) == ""
    restored = await reopened(store)
    assert (restored.jobs, restored.rings) == ((JOB,), RINGS)
    assert (restored.epoch, restored.generation) == (8, 900)


async def overwrite(store):
    """Have all be in the main file, nothing of it in memory, and then most of the file be nonsense."""
    await store.write(Batch([Persist(jobs=(JOB,), rings=RINGS)], events(1, 500)))
    await store._run(lambda: store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    await store._run(lambda: store._connection.execute("PRAGMA cache_size = 1").fetchall())
    size = store._path.stat().st_size
    with store._path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


async def test_a_file_that_is_overwritten_while_it_is_open_is_kept_aside(store):
    await overwrite(store)
    with pytest.raises(StoreDamagedError, match="malformed"):
        await store.write(Batch([Persist(jobs=(JOB,), rings=RINGS)], events(1, 500)))
    aside = store._path.with_name(f"{FILE_NAME}.damaged-1")
    assert await store.begin_anew(EVERYTHING) == str(aside)
    assert b"\xff" * 4096 in aside.read_bytes()
    assert (await reopened(store)).jobs == (JOB,)


async def test_a_second_damage_is_kept_under_another_name(store):
    for number in (1, 2):
        await overwrite(store)
        assert (await store.begin_anew(EVERYTHING)).endswith(f".damaged-{number}")


# -- at a start --------------------------------------------------------------------------------------------------------


async def refused(store):
    """Why a start is refused. The file stays as it is: it is left to a person."""
    before = store._path.read_bytes()
    again = make_store(store._path.parent)
    with pytest.raises(StoreDamagedError) as told:
        await again.open()
    await again.close()
    assert store._path.read_bytes() == before
    assert "move it away" in told.value.hint
    assert str(store._path) in str(told.value)
    return str(told.value)


async def test_a_file_whose_pages_are_damaged_is_refused_at_the_start(store):
    """Also where nothing is read at the start: the log."""
    await store.write(Batch(EVERYTHING.persist, events(1, 2000)))
    await store.close()
    with store._path.open("r+b") as file:
        file.seek(store._path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    assert FILE_NAME in await refused(store)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("""UPDATE jobs SET record = '{"name": "tra'""", "jobs of 'train'"),
        ("UPDATE jobs SET record = replace(record, '\"tp\": 16', '\"tp\": []')", "jobs of 'train'"),
        ("UPDATE rings SET record = replace(record, 'chain', 'chaim')", "rings of 'train/0'"),
        ("UPDATE rings SET record = replace(record, '/0', '-0')", "'train-0' has no rank"),
        ("""INSERT INTO overlays VALUES ('n1', '{"node": "n1", "overlay": "cordonad"}')""", "'cordonad'"),
        ("INSERT INTO conduct VALUES ('n1', 'null')", "conduct of 'n1'"),
        ("UPDATE term SET hold = '{'", "what is held"),
        ("DELETE FROM term", "0 terms"),
        ("DROP TABLE rings", "no such table"),
    ],
)
async def test_records_that_cannot_be_read_are_refused_at_the_start_and_named(store, damage, words):
    await store.write(EVERYTHING)
    await store.close()
    with contextlib.closing(sqlite3.connect(store._path)) as connection, connection:
        connection.execute(damage)
    assert words in await refused(store)


async def test_a_file_that_is_no_database_is_refused_at_the_start(store):
    await store.close()
    store._path.write_text("this is not a database, but long enough to be taken for one" * 20)
    assert "not a database" in await refused(store)
