"""What is told over MQTT: events, and how jobs are, by a controller that is in charge."""

import asyncio
import json

import pytest

from ringlight.controller.adapters.announcer import Announcer
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.events import AgentHello
from ringlight.controller.runtime import Runtime
from ringlight.protos.bus.bus import Message
from ringlight.protos.bus.topics import Topics
from tests.controller.conftest import MemoryStore
from tests.virtual_time import in_virtual_time

TOPICS = Topics("test")


class Speaker:
    """Writes down what it is to say."""

    def __init__(self):
        self.notes = []
        self.states = {}
        self.acknowledge = {}

    def note(self, message):
        self.notes.append(json.loads(message.payload))

    def state(self, message, on_acknowledged=lambda: None):
        self.states[message.topic] = message.payload
        self.acknowledge[message.topic] = on_acknowledged

    def withdraw(self):
        self.states.clear()

    def job(self, name):
        return json.loads(self.states[TOPICS.job(name)])


class Clock:
    def monotonic(self):
        return asyncio.get_running_loop().time() + 1_000

    def wall(self):
        return 1_700_000_000.25


class Telling:
    """A world whose engine a runtime has, and what is told of it."""

    def __init__(self, world):
        self.world = world
        self.speaker = Speaker()
        self.runtime = Runtime(world.engine, MemoryStore(), Clock())
        self.announcer = Announcer(self.runtime, TOPICS, self.speaker)

    async def happens(self, kind, subject, text="", **data):
        self.announcer.take_event(FabricEvent(7, kind, subject, text, data))
        await asyncio.sleep(1)

    def retained(self, name, payload):
        self.announcer.take_message(Message(TOPICS.job(name), payload, retained=True))


@pytest.fixture
def make(world):
    return lambda: Telling(world)


@in_virtual_time
async def test_an_event_is_told_as_it_is(make):
    telling = make()
    await telling.happens("drift", "n3", "selects something else", bundle="b1")
    assert telling.speaker.notes == [
        {
            "fabric": "test",
            "sequence": 7,
            "time": 1_700_000_000.25,
            "kind": "drift",
            "subject": "n3",
            "text": "selects something else",
            "data": {"bundle": "b1"},
        }
    ]
    assert telling.speaker.states == {}


@in_virtual_time
async def test_a_job_is_told_when_it_or_a_ring_of_it_changes(make):
    telling = make()
    await telling.happens("ring-active", "train/0")
    job = telling.speaker.job("train")
    assert (job["fabric"], job["job"], job["epoch"], job["state"], job["tp"]) == ("test", "train", 1, "RUNNING", 16)
    assert (job["rings_wanted"], job["rings_active"]) == (2, 2)
    assert [ring["nodes"] for ring in job["rings"]] == [telling.world.chain("train/0"), telling.world.chain("train/1")]
    assert [len(set(ring["gpus"])) for ring in job["rings"]] == [16, 16]


@in_virtual_time
async def test_many_changes_at_once_are_one_message(make):
    telling = make()
    told = []
    telling.speaker.state = lambda message, *_: told.append(message.topic)
    for number in range(50):
        telling.announcer.take_event(FabricEvent(number, "ring-active", f"train/{number % 2}", ""))
    await asyncio.sleep(1)
    assert told == [TOPICS.job("train")]


@in_virtual_time
async def test_only_what_was_acknowledged_counts_as_exported(make):
    telling = make()
    await telling.happens("ring-active", "train/0")
    assert telling.runtime.tally.exported == {}
    telling.speaker.acknowledge[TOPICS.job("train")]()
    assert telling.runtime.tally.exported == {"train": telling.speaker.job("train")["generation"]}


@in_virtual_time
async def test_a_job_that_is_over_is_cleared(make):
    telling = make()
    telling.world.release("train")
    await telling.happens("job-released", "train")
    assert telling.speaker.states == {TOPICS.job("train"): b""}
    telling.speaker.acknowledge[TOPICS.job("train")]()
    assert telling.runtime.tally.exported == {}


@in_virtual_time
async def test_with_a_connection_everything_retained_is_said_again(make):
    telling = make()
    telling.announcer.connected()
    await asyncio.sleep(1)
    assert telling.speaker.states[TOPICS.controller] == b"online"
    assert telling.speaker.job("train")["state"] == "RUNNING"


@in_virtual_time
async def test_what_stands_there_of_a_job_that_is_over_is_cleared_unless_a_later_term_said_it(make):
    telling = make()
    for name, payload in (
        ("old", b'{"epoch": 1}'),
        ("later", b'{"epoch": 2}'),
        ("broken", b"{"),
        ("strange", b"[1]"),
        ("wordy", b'{"epoch": "9"}'),
        ("deep", b"[" * 100_000),
        ("true", b'{"epoch": true}'),
        ("train", b'{"epoch": 0}'),
        ("cleared", b""),
    ):
        telling.retained(name, payload)
    telling.announcer.take_message(Message(TOPICS.job("live"), b'{"epoch": 1}'))
    telling.announcer.take_message(Message(TOPICS.events, b"{}", retained=True))
    assert telling.speaker.states == {
        TOPICS.job(name): b"" for name in ("old", "broken", "strange", "wordy", "deep", "true")
    }


@in_virtual_time
async def test_a_controller_that_was_deposed_says_nothing_of_jobs(make):
    telling = make()
    state = telling.world.engine.state
    hello = AgentHello("s99", "agent-x", "boot", 1, "test", highest_epoch=9, nodes=())
    telling.world.handle(hello)
    assert state.deposed
    await telling.happens("ring-active", "train/0")
    telling.retained("old", b'{"epoch": 1}')
    assert telling.speaker.states == {}
    assert telling.speaker.notes


@in_virtual_time
async def test_what_a_deposed_controller_had_not_said_yet_is_withdrawn(make):
    """Without a broker it waits, and would be retained in place of what the later term said."""
    telling = make()
    await telling.happens("ring-active", "train/0")
    assert TOPICS.job("train") in telling.speaker.states
    before = len(telling.world.told)
    telling.world.handle(AgentHello("s99", "agent-x", "boot", 1, "test", highest_epoch=9, nodes=()))
    for event in telling.world.told[before:]:
        telling.announcer.take_event(event)
    await asyncio.sleep(1)
    assert telling.speaker.states == {TOPICS.controller: b"online"}


@in_virtual_time
async def test_a_job_whose_name_is_no_level_of_a_topic_is_left_out(make):
    telling = make()
    telling.world.engine.state.jobs["a#b"] = telling.world.engine.state.jobs["train"]
    await telling.happens("job-submitted", "a#b")
    await telling.happens("job-resized", "train")
    assert set(telling.speaker.states) == {TOPICS.job("train")}
