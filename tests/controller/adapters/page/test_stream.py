"""The event stream: what was missed, a marker, live events; bounded; resumed without a gap or a repetition."""

import asyncio

import pytest

from ringlight.controller.adapters.page import stream as streams
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.feed import _QUEUE
from ringlight.controller.ports import LoggedEvent


def publish(site, number, **changes):
    """Events that the engine would have told, straight to the feed."""
    state = site.runtime.engine.state
    for _ in range(number):
        state.sequence += 1
        fields = {"kind": "verdict", "subject": "n1", "text": "well", **changes}
        site.runtime.feed_of_events.publish(LoggedEvent(FabricEvent(state.sequence, **fields), 1.0))


async def test_a_new_watcher_gets_the_newest_events_a_marker_and_live_ones(site):
    stream = await site.watch()
    *old, marker = await stream.until("synced")
    assert [int(identity) for identity, _, _ in old] == [event.sequence for event in site.world.told]
    assert marker == (str(len(old)), "synced", {"sequence": len(old)})
    publish(site, 1, text="a <b>\nline: x")
    identity, kind, event = await stream.next()
    assert (identity, kind, event["text"]) == (str(len(old) + 1), "message", "a <b>\nline: x")


@pytest.mark.parametrize("how", ["query", "header"])
async def test_it_is_resumed_after_the_last_event_seen(site, how):
    publish(site, 5)
    after = site.runtime.engine.state.sequence - 3
    stream = await (site.watch(f"?after={after}") if how == "query" else site.watch(**{"Last-Event-ID": str(after)}))
    *missed, _ = await stream.until("synced")
    assert [event["sequence"] for _, _, event in missed] == [after + 1, after + 2, after + 3]


async def test_a_browsers_own_word_counts_more_than_the_address(site):
    until = site.runtime.engine.state.sequence
    stream = await site.watch("?after=0", **{"Last-Event-ID": str(until)})
    assert (await stream.next())[1] == "synced"


async def test_what_is_too_much_to_catch_up_with_is_said(site, monkeypatch):
    monkeypatch.setattr(streams, "_MOST_MISSED", 10)
    publish(site, 50)
    until = site.runtime.engine.state.sequence
    stream = await site.watch("?after=5")
    blocks = await stream.until("synced")
    assert blocks[0][1:] == ("skipped", {"from": 6, "to": until - 10})
    assert [event["sequence"] for _, _, event in blocks[1:-1]] == list(range(until - 9, until + 1))


async def test_numbers_that_a_start_leaves_out_are_not_called_skipped(site):
    after = site.runtime.engine.state.sequence
    site.runtime.engine.state.sequence += 10_000
    publish(site, 2)
    stream = await site.watch(f"?after={after}")
    assert [kind for _, kind, _ in await stream.until("synced")] == ["message", "message", "synced"]


async def test_a_watcher_of_another_log_is_told_to_begin_anew(site):
    stream = await site.watch("?after=1000000")
    first, *_ = blocks = await stream.until("synced")
    assert first[1] == "reset"
    assert len(blocks) == 2 + len(site.world.told)


async def test_events_that_come_while_it_catches_up_are_told_once(site, store):
    """The store is asked for what memory does not hold; meanwhile life goes on."""
    feed = site.runtime.feed_of_events
    old, _ = feed.recent(0)
    feed._recent.clear()
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(**_):
        asked.set()
        await goes_on.wait()
        return old

    store.events = slow
    watching = asyncio.create_task(site.watch("?after=0"))
    await asked.wait()
    publish(site, 3)
    goes_on.set()
    stream = await watching
    blocks = await stream.until("synced")
    publish(site, 1)
    blocks += [await stream.next() for _ in range(4)]
    told = [event["sequence"] for _, kind, event in blocks if kind == "message"]
    assert told == list(range(1, len(old) + 5))


async def test_a_sign_of_life_is_sent_when_nothing_happens(site, monkeypatch):
    monkeypatch.setattr(streams, "_BEAT", 0.01)
    stream = await site.watch()
    blocks = await stream.until("beat")
    assert blocks[-1] == (None, "beat", {"sequence": site.runtime.engine.state.sequence})


async def test_a_watcher_that_lags_is_told_so_and_resumes(site):
    stream = await site.watch()
    *_, (seen, _, _) = await stream.until("synced")
    publish(site, _QUEUE + 1)  # at once: the stream has no turn in between
    blocks = await stream.until("ended")
    assert "fell too far behind" in blocks[-1][2]["error"]
    assert await stream.next() is None  # it is over
    last = int(blocks[-2][0]) if len(blocks) > 1 else int(seen)
    again = await site.watch(f"?after={last}")
    *missed, _ = await again.until("synced")
    assert [int(identity) for identity, _, _ in missed][-1] == site.runtime.engine.state.sequence
    assert int(missed[0][0]) == last + 1 or missed[0][1] == "skipped"


async def test_a_log_that_cannot_be_read_ends_the_stream_in_words(site, store):
    site.runtime.feed_of_events._recent.clear()
    store.refuse()
    stream = await site.watch("?after=0")
    assert await stream.next() == (None, "ended", {"error": "disk full"})
    assert await stream.next() is None


async def test_a_stream_has_no_head(site):
    assert (await site.get("/api/events", "HEAD")).status == 405
    assert (await site.get("/api/fabric", "HEAD")).status == 200


async def test_only_so_many_watch_and_one_more_is_told(site):
    site.page._streams._most = 2
    first, second = await site.watch(), await site.watch()
    refused = await site.get("/api/events")
    assert refused.status == 503
    assert "2 watchers" in refused.json["error"]
    assert "page.watchers" in refused.json["hint"]
    for stream in (first, second):
        await stream.until("synced")
        stream.reply.close()
    while site.page._streams.watching:
        publish(site, 1)  # it notices when it writes
        await asyncio.sleep(0.001)
    await (await site.watch()).until("synced")


async def test_a_watcher_that_takes_nothing_is_let_go(site, monkeypatch):
    monkeypatch.setattr(streams, "_LONGEST_WRITE", 0.05)
    host, port = site.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    reader._transport.pause_reading()
    writer.write(f"GET /api/events HTTP/1.1\r\nHost: {site.address}\r\n\r\n".encode())
    async with asyncio.timeout(20):
        while not site.page._streams.watching:  # noqa: ASYNC110 - nothing tells when another socket is served
            await asyncio.sleep(0.001)
        while site.page._streams.watching:
            publish(site, 20, text="x" * 10_000)
            await asyncio.sleep(0.001)
    writer.close()


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "%D9%A1", "9" * 40])
async def test_nonsense_to_resume_from_is_refused(site, after):
    reply = await site.get(f"/api/events?after={after}")
    assert reply.status == 400
    assert "cannot resume" in reply.json["error"]


async def test_streams_end_when_the_controller_stops(site):
    stream = await site.watch()
    await stream.until("synced")
    site.page._streams.close()
    while block := await stream.next():
        assert block[1] == "beat"
