"""What waits to be sent."""

import asyncio

import pytest

from ringlight.agents.outbox import Outbox
from ringlight.fabric.errors import UnavailableError
from ringlight.protos.v1 import agent_pb2 as pb


def report(number):
    return pb.AgentMessage(light=pb.LightReport(node=f"n{number}"))


BEAT = pb.AgentMessage(heartbeat=pb.Heartbeat())
BYE = pb.AgentMessage(goodbye=pb.Goodbye())


@pytest.fixture
def outbox():
    return Outbox(3, lambda: BEAT)


async def test_reports_come_out_in_order(outbox):
    for number in range(3):
        outbox.put(report(number))
    assert [await outbox.take() for _ in range(3)] == [report(0), report(1), report(2)]


async def test_a_heartbeat_comes_after_what_waits_and_never_twice(outbox):
    outbox.beat()
    outbox.put(report(1))
    outbox.beat()
    assert [await outbox.take(), await outbox.take()] == [report(1), BEAT]
    taking = asyncio.create_task(outbox.take())
    await asyncio.sleep(0)
    assert not taking.done()
    outbox.put(report(2))
    assert await taking == report(2)


async def test_a_heartbeat_is_made_when_it_is_taken():
    made = []
    outbox = Outbox(3, lambda: made.append(1) or BEAT)
    outbox.beat()
    assert not made
    await outbox.take()
    assert made == [1]


async def test_an_overflow_ends_the_session_and_nothing_is_taken_after_the_gap(outbox):
    ended = asyncio.create_task(outbox.until_overflow())
    for number in range(4):
        outbox.put(report(number))
    with pytest.raises(UnavailableError, match="too much waits") as error:
        await outbox.take()
    assert error.value.hint
    with pytest.raises(UnavailableError):
        await ended


async def test_after_the_last_message_comes_nothing(outbox):
    outbox.put(report(1))
    outbox.beat()
    outbox.close(BYE)
    outbox.put(report(2))
    outbox.beat()
    assert [await outbox.take(), await outbox.take(), await outbox.take()] == [report(1), BYE, None]
