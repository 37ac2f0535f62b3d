"""A lost health feed is not a lost GPU: circuits are served, open faults stay open, and the feed is opened again."""

import asyncio
import logging
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.agents.gpu.none import NoGpuHealth
from ringlight.agents.health_feed import FEED_LOST, HealthFeed
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.agents.settings import AgentSettings
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import UnavailableError
from ringlight.protos.backoff import Backoff
from ringlight.protos.v1 import agent_pb2 as pb

FAULT = Fault("xid-1", "gpu3", FaultClass.DEGRADED, "xid:79")
OTHER = Fault("xid-2", "gpu1", FaultClass.DEGRADED, "xid:63")


def health(running):
    return [message.health for message in running.reports if message.WhichOneof("body") == "health"]


@pytest.fixture
def unwell(hardware):
    """Makes the GPU side of the hardware fail, hang, or work again."""
    real_open, real_read = hardware.gpus.open, hardware.gpus.read

    async def fail():
        raise UnavailableError("no driver")

    async def hang():
        await asyncio.Event().wait()

    def make(how):
        hardware.gpus.open, hardware.gpus.read = {
            "fails": (fail, fail),
            "hangs": (hang, hang),
            "works": (real_open, real_read),
        }[how]

    return make


@pytest.fixture
def patience(request):
    """How long the hardware may take: not long, unless a test says otherwise."""
    return getattr(request, "param", {"open_timeout": 0.1})


@pytest.fixture
def fast(fast, patience):
    return replace(fast, **patience)


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_a_node_whose_gpus_cannot_be_asked_is_served(  # noqa: PLR0917 - fixtures
    run_node, hardware, unwell, how, order, paths
):
    unwell(how)
    running = await run_node(hardware)
    assert running.node.identity == hardware.identity
    assert running.node.seen.faults == {FEED_LOST.id: FEED_LOST}
    running.node.command(order(paths.ring))
    assert (await running.answer()).code == pb.APPLY_CODE_APPLIED


async def test_what_was_open_stays_open_while_the_feed_is_away(run_node, hardware, unwell, eventually):
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: health(running))
    assert running.node.identity == hardware.identity
    assert running.node.seen.faults == {"xid-1": FAULT, FEED_LOST.id: FEED_LOST}
    await running.node.refresh_all()
    assert running.node.seen.faults == {"xid-1": FAULT, FEED_LOST.id: FEED_LOST}
    assert health(running)[0].opened.fault_class == int(FaultClass.INFO)


async def test_when_the_feed_is_back_what_changed_meanwhile_is_told(run_node, hardware, unwell, eventually):
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: health(running))
    del hardware.gpu_faults["xid-1"]
    hardware.gpu_faults["xid-2"] = OTHER
    unwell("works")
    await eventually(lambda: running.node.seen.faults == {"xid-2": OTHER})
    await eventually(lambda: len(health(running)) == 4)
    told = [(report.opened.id, report.closed) for report in health(running)]
    assert told == [("health-feed", ""), ("xid-2", ""), ("", "xid-1"), ("", "health-feed")]


async def test_news_comes_again_after_the_feed_was_away(run_node, hardware, unwell, eventually):
    running = await run_node(hardware)
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: health(running))
    unwell("works")
    await eventually(lambda: running.node.seen.faults == {})
    hardware.open_fault(FAULT)
    await eventually(lambda: running.node.seen.faults == {"xid-1": FAULT})


@pytest.mark.parametrize("patience", [{"open_timeout": 3_600.0}], indirect=True)
async def test_circuits_are_served_while_the_gpus_are_still_being_opened(run_node, hardware, unwell, order, paths):
    unwell("hangs")
    running = await run_node(hardware)
    assert running.node.seen.faults == {FEED_LOST.id: FEED_LOST}
    running.node.command(order(paths.ring))
    assert (await running.answer()).code == pb.APPLY_CODE_APPLIED


@pytest.mark.parametrize("patience", [{"read_timeout": 3_600.0}], indirect=True)
async def test_no_command_waits_for_a_reading_of_the_gpus(run_node, hardware, order, paths):
    running = await run_node(hardware)
    begun, never = asyncio.Event(), asyncio.Event()

    async def hang():
        begun.set()
        await never.wait()

    hardware.gpus.read = hang
    refreshing = asyncio.create_task(running.node.refresh_all())
    await begun.wait()
    running.node.command(order(paths.ring))
    assert (await running.answer()).code == pb.APPLY_CODE_APPLIED
    assert not refreshing.done()
    refreshing.cancel()
    await asyncio.wait([refreshing])


async def test_a_feed_that_hung_while_it_was_read_is_opened_again(run_node, hardware, unwell, eventually):
    """Although its events, which say nothing, never end."""
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    unwell("hangs")
    await running.node.refresh_all()
    assert running.node.seen.faults == {"xid-1": FAULT, FEED_LOST.id: FEED_LOST}
    unwell("works")
    await eventually(lambda: running.node.seen.faults == {"xid-1": FAULT})


async def test_a_fault_that_got_worse_while_the_feed_was_away_is_told(run_node, hardware, unwell, eventually):
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: health(running))
    hardware.gpu_faults["xid-1"] = replace(FAULT, recovery="node-reboot")
    unwell("works")
    await eventually(lambda: FEED_LOST.id not in running.node.seen.faults)
    assert running.node.seen.faults["xid-1"].recovery == "node-reboot"
    assert "node-reboot" in [report.opened.recovery for report in health(running)]


@pytest.mark.parametrize("patience", [{"read_timeout": 3_600.0}], indirect=True)
async def test_news_that_comes_during_a_reading_is_not_forgotten(run_node, hardware, unwell, eventually):
    running = await run_node(hardware)
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow():
        before = tuple(hardware.gpu_faults.values())
        begun.set()
        await may_end.wait()
        return before

    hardware.gpus.read = slow
    refreshing = asyncio.create_task(running.node.refresh_all())
    await begun.wait()
    hardware.open_fault(FAULT)
    await eventually(lambda: "xid-1" in running.node.seen.faults)
    may_end.set()
    await refreshing
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: FEED_LOST.id in running.node.seen.faults)
    await running.node.refresh_all()
    assert running.node.seen.faults == {"xid-1": FAULT, FEED_LOST.id: FEED_LOST}


@pytest.mark.parametrize("patience", [{"read_timeout": 3_600.0}], indirect=True)
async def test_a_reading_that_began_earlier_opens_nothing_again(run_node, hardware, eventually):
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow():
        before = tuple(hardware.gpu_faults.values())
        begun.set()
        await may_end.wait()
        return before

    hardware.gpus.read = slow
    refreshing = asyncio.create_task(running.node.refresh_all())
    await begun.wait()
    hardware.close_fault("xid-1")
    await eventually(lambda: not running.node.seen.faults)
    may_end.set()
    await refreshing
    assert running.node.seen.faults == {}
    assert [report.closed for report in health(running)] == ["xid-1"]


async def test_pitfall_11_a_service_that_is_absent_is_no_fault(run_node, hardware, order, paths):
    hardware.gpus = NoGpuHealth()
    running = await run_node(hardware)
    await running.node.refresh_all()
    assert running.node.seen.faults == {}
    assert health(running) == []
    running.node.command(order(paths.ring))
    assert (await running.answer()).code == pb.APPLY_CODE_APPLIED


async def test_the_same_trouble_is_logged_once_however_often_it_is_tried(run_node, hardware, eventually, caplog):
    tries = 0

    async def fail():
        nonlocal tries
        tries += 1
        raise UnavailableError("no driver")

    hardware.gpus.open = fail
    with caplog.at_level(logging.WARNING):
        await run_node(hardware)
        await eventually(lambda: tries > 4)
    assert [record.message for record in caplog.records] == ["node n0: GPU health is lost: no driver"]


class Source:
    """GPU health that does as a script says."""

    def __init__(self):
        self.faults = {}
        self.works = True
        self.hangs = False
        self.news = asyncio.Queue()
        self.closed = 0

    async def open(self):
        if not self.works:
            raise UnavailableError("away")
        self.news = asyncio.Queue()

    async def read(self):
        if self.hangs:
            await asyncio.Event().wait()
        if not self.works:
            raise UnavailableError("away")
        return tuple(self.faults.values())

    def measurements(self):
        return ()

    async def events(self):
        while (event := await self.news.get()) is not None:
            yield event
        raise UnavailableError("gone")

    async def close(self):
        self.closed += 1


QUICK = AgentSettings(open_timeout=0.01, read_timeout=0.01, backoff_first=0.001, backoff_cap=0.001)


PATIENT = replace(QUICK, open_timeout=10.0, read_timeout=10.0)


class Listener:
    """What somebody believes who hears what a feed tells."""

    def __init__(self, source, options=QUICK, backoff=None):
        self.open = {}
        self.blind = []  # whether the feed was lost, after each piece of news
        pauses = backoff or Backoff(Random(1), first=options.backoff_first, cap=options.backoff_cap)
        self.feed = HealthFeed("n0", source, options, pauses, self._hear)

    def _hear(self, event):
        match event:
            case FaultOpened():
                self.open[event.fault.id] = event.fault
            case FaultClosed():
                self.open.pop(event.fault_id, None)
        self.blind.append(FEED_LOST.id in self.open)


async def play(script):
    """Run a feed through a script; at the end its source works, and what is told must be what is true."""
    source = Source()
    listener = Listener(source)
    running = asyncio.create_task(listener.feed.run())
    async with asyncio.timeout(30):
        await listener.feed.settle()
        for step, number in script:
            fault = Fault(f"f{number}", f"gpu{number}", FaultClass.DEGRADED, f"xid:{len(listener.blind) + 1}")
            match step:
                case "opens":
                    source.faults[fault.id] = fault
                    source.news.put_nowait(FaultOpened(fault))
                case "closes":
                    source.faults.pop(fault.id, None)
                    source.news.put_nowait(FaultClosed(fault.id))
                case "goes":
                    source.works = False
                    source.news.put_nowait(None)
                case "comes back":
                    source.works = True
                case "hangs":
                    source.hangs = True
                    await listener.feed.refresh()
                    source.hangs = False
                case "is read":
                    await listener.feed.refresh()
                case "passes":
                    await asyncio.sleep(0)
        source.works = True
        while listener.open != source.faults:
            await listener.feed.settle()
            await asyncio.sleep(0)
        assert {fault.id: fault for fault in listener.feed.faults} == source.faults
    running.cancel()
    await asyncio.wait([running])
    assert source.closed >= 1


STEPS = ["opens", "closes", "goes", "comes back", "hangs", "is read", "passes"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), max_size=12))
def test_whatever_happens_to_the_feed_in_the_end_what_was_told_is_what_is_true(script):
    asyncio.run(play(script))


class Pauses:
    """A backoff that notes how it was asked."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.asked = 0
        self.resets = 0

    def next(self):
        self.asked += 1
        return self.seconds

    def reset(self):
        self.resets += 1


@pytest.mark.parametrize(("cap", "resets"), [(0.0, 1), (3_600.0, 0)])
async def test_a_feed_that_lasted_is_tried_again_at_once_and_one_that_comes_and_goes_is_not(cap, resets, eventually):
    source, pauses = Source(), Pauses(0.0)
    listener = Listener(source, replace(PATIENT, backoff_cap=cap), pauses)
    running = asyncio.create_task(listener.feed.run())
    await listener.feed.settle()
    source.news.put_nowait(None)
    await eventually(lambda: pauses.asked)
    assert pauses.resets == resets
    running.cancel()
    await asyncio.wait([running])


async def test_a_feed_that_never_opens_is_tried_more_and_more_rarely(eventually):
    source, pauses = Source(), Pauses(0.0)
    source.works = False
    running = asyncio.create_task(Listener(source, replace(PATIENT, backoff_cap=0.0), pauses).feed.run())
    await eventually(lambda: pauses.asked > 3)
    assert pauses.resets == 0
    running.cancel()
    await asyncio.wait([running])


async def test_a_feed_that_waits_for_its_next_try_is_tried_at_once_when_it_is_wanted(eventually):
    """When a node has its power again, its hello need not go without what the GPUs say."""
    source, pauses = Source(), Pauses(3_600.0)
    source.works = False
    listener = Listener(source, PATIENT, pauses)
    running = asyncio.create_task(listener.feed.run())
    await eventually(lambda: pauses.asked)
    source.works = True
    await listener.feed.settle()
    assert listener.feed.faults == ()
    running.cancel()
    await asyncio.wait([running])
