"""A lost health feed is not a lost GPU: circuits are served, open faults stay open, and the feed is opened again."""

import asyncio

import pytest

from ringlight.agents.health_feed import FEED_LOST
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import UnavailableError
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
def fast(fast):
    return type(fast)(**{**{name: getattr(fast, name) for name in fast.__slots__}, "open_timeout": 0.1})


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
    told = [(report.opened.id, report.closed) for report in health(running)]
    assert told == [("health-feed", ""), ("", "health-feed"), ("", "xid-1"), ("xid-2", "")]


async def test_news_comes_again_after_the_feed_was_away(run_node, hardware, unwell, eventually):
    running = await run_node(hardware)
    unwell("fails")
    hardware._gpu_news.put_nowait(None)
    await eventually(lambda: health(running))
    unwell("works")
    await eventually(lambda: running.node.seen.faults == {})
    hardware.open_fault(FAULT)
    await eventually(lambda: running.node.seen.faults == {"xid-1": FAULT})
