"""Effects carried out in order, records written by one writer, and everything going on while the store cannot write."""

import asyncio
import logging
from types import SimpleNamespace

import pytest

from ringlight.controller import runtime as module
from ringlight.controller.engine.effects import (
    Admit,
    Answer,
    Close,
    Persist,
    PlannedChange,
    Refuse,
    RingChange,
    SendCircuits,
    SendConfirm,
    StoredJob,
    StoredRing,
    WakeAt,
)
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import (
    Drain,
    ReleaseJob,
    Restored,
    SessionLost,
    StoreBegunAnew,
    StoreTaken,
    SubmitJob,
    Tick,
)
from ringlight.controller.ports import StoreDamagedError, StoreError, StoreTakenError
from ringlight.controller.runtime import Runtime
from ringlight.controller.settings import Settings
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ConflictError, InvalidError, NotFoundError

PATIENCE = 30.0
PLANNED = PlannedChange((RingChange("train/0", ("n1", "n2"), ("n2", "n3")),), ("a reason",))


class ScriptedEngine:
    """Decides what the test says: each event takes the next list of effects, an operator's request gets an answer."""

    def __init__(self):
        self.state = SimpleNamespace(sequence=0)
        self.script = []
        self.heard = []
        self.error = None
        self.ticks = asyncio.Event()

    def handle(self, event, now):
        self.heard.append((event, now))
        if isinstance(event, Tick):
            self.ticks.set()
        effects = self.script.pop(0) if self.script else []
        for effect in effects:
            if hasattr(effect, "event"):
                self.state.sequence = effect.event.sequence
        if hasattr(event, "request"):
            effects = [*effects, Answer(event.request, self.error, PLANNED, dry=getattr(event, "dry_run", False))]
        return effects


class RecordingLink:
    """Writes down what an agent is told."""

    def __init__(self):
        self.told = []

    def admit(self, epoch, heartbeat_interval):
        self.told.append(("admit", epoch, heartbeat_interval))

    def refuse(self, error):
        self.told.append(("refuse", error))

    def close(self, reason):
        self.told.append(("close", reason))

    def send(self, command):
        self.told.append(("send", command.generation))

    def confirm(self, confirmation):
        self.told.append(("confirm", confirmation.transaction))


def circuits(generation, session="s1"):
    return SendCircuits(session, "n1", 1, generation, f"t{generation}", (Path.PATH_1, Path.LOOPBACK))


def job(name="train"):
    return Persist(jobs=(StoredJob(name, 1, 16, 1, 0, 1),))


@pytest.fixture
async def engine():
    return ScriptedEngine()


@pytest.fixture
async def runtime(engine, store, clock, monkeypatch):
    monkeypatch.setattr(module, "_STORE_RETRY", 0.01)
    return Runtime(engine, store, clock)


@pytest.fixture
async def writing(runtime):
    """The runtime, with its writer at work."""
    writer = asyncio.create_task(runtime.write_forever())
    yield runtime
    writer.cancel()
    await asyncio.gather(writer, return_exceptions=True)


def play(runtime, *effects):
    """Let the engine decide on these effects."""
    runtime.engine.script.append(list(effects))
    runtime.feed(SessionLost("nobody", "a reason to decide something"))


# -- effects ---------------------------------------------------------------------------------------------------------


async def test_effects_are_carried_out_at_once_and_in_order(runtime, told):
    link = RecordingLink()
    seen = []
    runtime.observers.append(lambda event: seen.append(event.sequence))
    runtime.attach("s1", link)
    play(runtime, Admit("s1", 7, 0.5), circuits(3), SendConfirm("s1", "n1", 1, "t2"), told(1), circuits(4), told(2))
    assert link.told == [("admit", 7, 0.5), ("send", 3), ("confirm", "t2"), ("send", 4)]
    assert seen == [1, 2]
    assert [logged.event.sequence for logged in runtime.feed_of_events.recent(0)[0]] == [1, 2]
    assert runtime.feed_of_events.recent(0)[0][0].time == 1_700_000_000.0


async def test_the_engine_gets_the_time_of_the_clock(runtime, engine, clock):
    clock.now = 123.5
    runtime.feed(Tick())
    assert engine.heard == [(Tick(), 123.5)]


async def test_a_refused_or_closed_session_is_told_once_and_reachable_no_more(runtime):
    first, second = RecordingLink(), RecordingLink()
    runtime.attach("s1", first)
    runtime.attach("s2", second)
    error = InvalidError("no")
    play(runtime, Refuse("s1", error), Close("s2", "dialled again"))
    play(runtime, circuits(1, "s1"), circuits(1, "s2"), Close("s2", "again"), SendConfirm("s1", "n1", 1, "t"))
    assert first.told == [("refuse", error)]
    assert second.told == [("close", "dialled again")]


async def test_commands_for_a_session_that_ended_go_nowhere(runtime):
    link = RecordingLink()
    runtime.attach("s1", link)
    runtime.detach("s1")
    runtime.detach("s1")
    play(runtime, circuits(1), SendConfirm("s1", "n1", 1, "t"), Close("s1", "late"))
    assert link.told == []


async def test_grave_events_are_logged_louder(runtime, told, caplog):
    caplog.set_level(logging.INFO)
    play(runtime, told(1), told(2, kind="ring-broken"), told(3, kind="invariant-violation"))
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "ERROR"]


# -- timers ----------------------------------------------------------------------------------------------------------


async def test_a_tick_comes_when_it_was_asked_for(runtime, engine, clock):
    play(runtime, WakeAt(clock.now - 5))  # overdue
    async with asyncio.timeout(PATIENCE):
        await engine.ticks.wait()
    assert [event for event, _ in engine.heard[1:]] == [Tick()]


async def test_no_tick_comes_before_its_time_by_the_clock(runtime, engine, clock):
    """The event loop's timer may be early by our clock; a tick that is early does nothing, and none would follow."""
    loop = asyncio.get_running_loop()
    play(runtime, WakeAt(clock.now + 0.005))
    passed = asyncio.Event()
    loop.call_later(0.05, passed.set)
    await passed.wait()
    assert not engine.ticks.is_set()
    clock.now += 0.005
    async with asyncio.timeout(PATIENCE):
        await engine.ticks.wait()
    assert engine.heard[-1] == (Tick(), clock.now)


async def test_a_later_wish_replaces_the_former_and_none_takes_it_back(runtime, engine, clock):
    passed = asyncio.Event()
    play(runtime, WakeAt(clock.now))
    play(runtime, WakeAt(clock.now + 3600))
    play(runtime, WakeAt(clock.now))
    play(runtime, WakeAt(None))
    asyncio.get_running_loop().call_later(0.02, passed.set)
    await passed.wait()
    assert not engine.ticks.is_set()


async def test_no_tick_comes_after_the_stop(runtime, engine, clock):
    passed = asyncio.Event()
    play(runtime, WakeAt(clock.now))
    await runtime.stop()
    asyncio.get_running_loop().call_later(0.02, passed.set)
    await passed.wait()
    assert not engine.ticks.is_set()


# -- answers ---------------------------------------------------------------------------------------------------------


async def submit(runtime, name="train"):
    await runtime.ask(SubmitJob("", name, 1, 16, 0, 2, pinned=True))


async def test_an_answer_comes_only_after_its_record_is_written(writing, engine, store):
    store.may_write.clear()
    engine.script.append([job()])
    asked = asyncio.create_task(submit(writing))
    await store.until_tried(1)
    assert not asked.done()
    store.may_write.set()
    await asked
    assert store.jobs() == ["train"]
    assert engine.heard[0][0] == SubmitJob("request-1", "train", 1, 16, 0, 2, pinned=True)


async def test_what_is_asked_during_a_write_waits_for_the_next_one(writing, engine, store):
    store.may_write.clear()
    engine.script = [[job("first")], [job("second")]]
    first = asyncio.create_task(submit(writing, "first"))
    await store.until_tried(1)
    second = asyncio.create_task(submit(writing, "second"))
    await asyncio.sleep(0)
    store.may_write.set()
    await asyncio.gather(first, second)
    assert [[one.name for one in batch.persist[0].jobs] for batch in store.batches] == [["first"], ["second"]]


async def test_a_refusal_waits_for_no_disk(runtime, engine, store):
    engine.error = ConflictError("exists already", hint="another name")
    with pytest.raises(ConflictError, match="exists already"):
        await submit(runtime)
    with pytest.raises(ConflictError, match="exists already"):
        await runtime.ask(ReleaseJob("", "train"))
    assert store.attempts == 0


async def test_an_answer_tells_what_follows(writing):
    assert await writing.ask(Drain("", ("n1",))) == PLANNED


async def test_a_dry_run_waits_for_no_disk(runtime, store):
    assert await runtime.ask(Drain("", ("n1",), dry_run=True)) == PLANNED
    assert store.attempts == 0


async def test_whoever_asked_may_leave(writing, engine, store):
    store.may_write.clear()
    engine.script.append([job()])
    asked = asyncio.create_task(submit(writing))
    await store.until_tried(1)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    store.may_write.set()
    await submit(writing, "next")
    assert store.jobs() == ["train"]


async def test_the_real_engine_refuses_what_cannot_be(make_wiring, store, clock):
    runtime = Runtime(Engine(make_wiring(8), Settings()), store, clock)
    runtime.feed(Restored(epoch=1))
    with pytest.raises(NotFoundError, match="no job 'train'"):
        await runtime.ask(ReleaseJob("", "train"))
    with pytest.raises(InvalidError, match="not a multiple"):
        await runtime.ask(SubmitJob("", "train", 1, 15))
    with pytest.raises(InvalidError, match="does not fit"):
        await runtime.ask(SubmitJob("", "train", 1, 16))


# -- a store in trouble ----------------------------------------------------------------------------------------------


async def test_while_the_store_fails_healing_goes_on_and_nothing_is_lost_or_reordered(writing, store, told, caplog):
    link = RecordingLink()
    writing.attach("s1", link)
    store.refuse()
    for number in range(1, 6):
        ring = StoredRing("train/0", "train", (f"n{number}",), "ACTIVE", "", number)
        play(writing, circuits(number), Persist(rings=(ring,), reserved=1000 + number), told(number))
        await store.until_tried(number)
    assert [generation for _, generation in link.told] == [1, 2, 3, 4, 5]
    assert writing.store_trouble == "disk full"
    assert store.batches == []
    store.trouble = None
    await store.until_written(5)
    assert store.sequences() == [1, 2, 3, 4, 5]
    (record,) = store.batches[0].persist
    assert (record.reserved, record.rings[0].generation) == (1005, 5)
    play(writing, told(6))
    await store.until_written(6)
    assert writing.store_trouble == ""
    assert [r.message for r in caplog.records if "store" in r.message] == [
        "the store cannot be written, going on from memory: disk full",
        "the store can be written again",
    ]


async def test_a_store_that_lost_everything_is_written_anew_from_memory(writing, engine, store, told):
    """The engine is asked for all of it; what waited is written too."""
    store.trouble = StoreDamagedError("the file was removed", hint="nothing to do")
    engine.script = [[job("from-memory"), told(2)]]
    play(writing, job("waiting"))
    await store.until_written(2)
    assert store.begun_anew == 1
    assert sorted(store.jobs()) == ["from-memory", "waiting"]
    assert engine.heard[-1][0] == StoreBegunAnew("the file was removed", "the old one")
    assert writing.store_trouble == ""


async def test_a_controller_whose_store_was_taken_is_told_so(writing, engine, store, told):
    store.trouble = StoreTakenError("another controller began epoch 9")
    play(writing, told(1))
    await store.until_tried(1)
    store.trouble = None
    await store.until_written(1)
    assert StoreTaken("another controller began epoch 9") in [event for event, _ in engine.heard]


async def test_a_request_is_answered_when_it_is_on_record_in_the_new_store(writing, engine, store):
    store.trouble = StoreDamagedError("the file was removed", hint="nothing to do")
    engine.script = [[job()]]
    await submit(writing)
    assert store.begun_anew == 1
    assert store.jobs() == ["train"]


def ready_state(**changes):
    settings = Settings()
    return SimpleNamespace(**{"epoch": 3, "deposed": "", "now": 100.0, "settings": settings, "sequence": 0, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"epoch": 0}, "not read yet"),
        ({"deposed": "a later controller took over"}, "a later controller"),
        ({"now": 90.0}, "nothing was decided for 10.0 s"),
    ],
)
async def test_pitfall_13_ready_means_that_it_works_not_that_it_listens(runtime, engine, changes, words):
    engine.state = ready_state(**changes)
    assert words in runtime.why_not_ready()
    assert bool(words) == bool(runtime.why_not_ready())


async def test_pitfall_13_a_store_that_cannot_be_written_is_not_ready(writing, engine, store, told):
    engine.state = ready_state()
    store.refuse()
    play(writing, told(1))
    await store.until_tried(2)
    assert "disk full" in writing.why_not_ready()
    store.trouble = None
    await store.until_written(1)
    play(writing, told(2))
    await store.until_written(2)
    assert writing.why_not_ready() == ""


async def test_what_comes_during_a_failing_write_stays_behind_what_failed(writing, store, told):
    store.may_write.clear()
    play(writing, told(1), told(2), job("a"))
    await store.until_tried(1)
    play(writing, told(3), job("b"))
    store.refuse()
    store.may_write.set()
    await store.until_tried(2)
    store.trouble = None
    await store.until_written(3)
    assert store.sequences() == [1, 2, 3]
    assert store.jobs() == ["a", "b"]


async def test_an_answer_says_that_it_is_not_on_record(writing, engine, store):
    store.refuse()
    engine.script = [[job()], [job("other")]]
    with pytest.raises(StoreError, match="done, but not on record: disk full") as told:
        await submit(writing)
    assert told.value.hint == "free some space"
    store.trouble = None
    await submit(writing, "other")
    assert store.jobs() == ["train", "other"]


async def test_unwritten_events_are_bounded_and_the_dropped_ones_counted(engine, store, clock, told, monkeypatch):
    monkeypatch.setattr(module, "_UNWRITTEN_EVENTS", 10)
    runtime = Runtime(engine, store, clock)
    store.refuse()
    for number in range(1, 26):
        play(runtime, told(number))
        if number % 7 == 0:
            await runtime.stop()  # an attempt to write that fails
    assert runtime.events_dropped == 15
    store.trouble = None
    await runtime.stop()
    assert store.sequences() == list(range(16, 26))


async def test_a_stop_in_the_middle_of_a_write_loses_nothing(runtime, engine, store, told):
    """A cancelled write may be written or not: it is written again."""
    writer = asyncio.create_task(runtime.write_forever())
    store.may_write.clear()
    engine.script.append([job(), told(1)])
    asked = asyncio.create_task(submit(runtime))
    await store.until_tried(1)
    play(runtime, told(2))
    writer.cancel()
    await asyncio.gather(writer, return_exceptions=True)
    assert not asked.done()
    store.may_write.set()
    await runtime.stop()
    await asked
    assert store.sequences() == [1, 2]
    assert store.jobs() == ["train"]


async def test_a_stop_says_what_could_not_be_written(runtime, store, told, caplog):
    await runtime.stop()
    assert not caplog.records
    assert store.attempts == 0
    store.refuse()
    play(runtime, told(1, kind="ring-broken"))
    await runtime.stop()
    assert "never took" in caplog.records[-1].message


async def test_an_error_that_is_no_trouble_of_the_store_is_a_bug_and_ends_the_writer(runtime, store, told):
    async def write(_batch):
        raise ZeroDivisionError

    store.write = write
    play(runtime, told(1))
    with pytest.raises(ZeroDivisionError):
        await runtime.write_forever()


# -- the log ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def long_log(engine, store, clock, told, monkeypatch):
    """Events 1..20, of which memory keeps the last eight and the store has all but the last three."""
    monkeypatch.setattr("ringlight.controller.feed._REMEMBERED", 8)
    runtime = Runtime(engine, store, clock)
    for number in range(1, 18):
        play(runtime, told(number, subject=f"n{number % 3}"))
    await runtime.stop()
    for number in range(18, 21):
        play(runtime, told(number, subject=f"n{number % 3}"))
    return runtime


@pytest.mark.parametrize(
    ("question", "sequences", "reads"),
    [
        ((0, 100, ""), range(1, 21), 1),
        ((0, 10, ""), range(11, 21), 1),
        ((5, 100, ""), range(6, 21), 1),
        ((12, 100, ""), range(13, 21), 0),
        ((18, 100, ""), [19, 20], 0),
        ((20, 100, ""), [], 0),
        ((2**64 - 1, 100, ""), [], 0),
        ((0, 100, "n1"), range(1, 21, 3), 1),
        ((0, 4, "n1"), [10, 13, 16, 19], 1),
        ((0, 100, "n9"), [], 1),
    ],
)
async def test_the_log_is_read_from_memory_and_only_beyond_it_from_the_store(
    long_log, store, question, sequences, reads
):
    events = await long_log.logged_events(*question)
    assert [logged.event.sequence for logged in events] == list(sequences)
    assert store.reads == reads


async def test_a_log_beyond_memory_needs_the_store(long_log, store):
    store.refuse("unreadable")
    assert len(await long_log.logged_events(12, 100, "")) == 8
    with pytest.raises(StoreError, match="unreadable"):
        await long_log.logged_events(0, 100, "")
