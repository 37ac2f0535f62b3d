"""Events to those who watch: what is remembered, what is queued, and who lags."""

import asyncio

import pytest

from ringlight.controller import feed as module
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.feed import EventFeed, LaggingWatcherError
from ringlight.controller.ports import LoggedEvent
from ringlight.fabric.errors import ErrorCode


@pytest.fixture
def feed(monkeypatch):
    """Remembers ten events, and queues five a watcher."""
    monkeypatch.setattr(module, "_REMEMBERED", 10)
    monkeypatch.setattr(module, "_QUEUE", 5)
    return EventFeed()


def publish(feed, first, last):
    for sequence in range(first, last + 1):
        feed.publish(LoggedEvent(FabricEvent(sequence, "verdict", "n1", "text"), 1.0))


def numbers(events):
    return [event.event.sequence for event in events]


async def test_a_watcher_gets_what_is_published_from_then_on_in_order(feed):
    publish(feed, 1, 3)
    with feed.subscribe() as subscription:
        publish(feed, 4, 6)
        assert numbers([await subscription.get() for _ in range(3)]) == [4, 5, 6]


async def test_a_watcher_waits_for_the_next_event(feed):
    with feed.subscribe() as subscription:
        waiting = asyncio.create_task(subscription.get())
        await asyncio.sleep(0)
        assert not waiting.done()
        publish(feed, 1, 1)
        assert (await waiting).event.sequence == 1


async def test_a_watcher_that_fell_behind_is_told_and_nobody_else_is(feed):
    with feed.subscribe() as slow, feed.subscribe() as quick:
        for sequence in range(1, 7):
            publish(feed, sequence, sequence)
            assert (await quick.get()).event.sequence == sequence
        with pytest.raises(LaggingWatcherError) as told:
            await slow.get()
        assert told.value.code is ErrorCode.UNAVAILABLE
        assert "resume" in told.value.hint
        with pytest.raises(LaggingWatcherError):
            await slow.get()
        publish(feed, 7, 7)
        assert (await quick.get()).event.sequence == 7


async def test_a_full_queue_is_not_yet_too_far_behind(feed):
    with feed.subscribe() as subscription:
        publish(feed, 1, 5)
        assert numbers([await subscription.get() for _ in range(5)]) == [1, 2, 3, 4, 5]


async def test_nothing_is_queued_for_a_watcher_that_left(feed):
    with feed.subscribe() as subscription:
        pass
    publish(feed, 1, 9)
    waiting = asyncio.create_task(subscription.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize(
    ("after", "remembered", "complete"),
    [
        (0, range(6, 16), False),
        (4, range(6, 16), False),
        (5, range(6, 16), True),
        (9, range(10, 16), True),
        (15, (), True),
        (99, (), True),
    ],
)
def test_the_newest_events_are_remembered_and_it_is_known_whether_they_are_all(feed, after, remembered, complete):
    publish(feed, 1, 15)
    events, is_all = feed.recent(after)
    assert numbers(events) == list(remembered)
    assert is_all is complete


def test_a_feed_that_saw_nothing_knows_that_it_may_lack_something(feed):
    assert feed.recent(0) == ([], False)
