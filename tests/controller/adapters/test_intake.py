"""Heartbeats that come over MQTT: only a live session of that very process can have said them."""

import pytest

from ringlight.controller.adapters.intake import Intake
from ringlight.controller.metrics.rejection import Rejection
from ringlight.protos.bus.bus import Message
from ringlight.protos.bus.topics import Topics
from ringlight.protos.v1 import agent_pb2 as pb


def published(session="s1", boot="boot-1", node="n0"):
    heartbeat = pb.Heartbeat(nodes=[pb.NodeHeartbeat(node=node)])
    return pb.PublishedHeartbeat(agent_boot=boot, session=session, heartbeat=heartbeat).SerializeToString()


class Hearing:
    """An intake beside a controller that serves."""

    def __init__(self, controller):
        self.topics = Topics(controller.state.wiring.spec.name)
        self.intake = Intake(controller.runtime, controller.service, self.topics)

    def take(self, payload, agent="agent-0", **more):
        self.intake.take(Message(self.topics.heartbeat(agent), payload, **more))


async def test_a_heartbeat_is_heard_and_answered_over_the_stream(serve):
    async with serve() as controller:
        agent = await controller.dial()
        welcome = await agent.enter()
        hearing = Hearing(controller)
        before = controller.state.node("n0").last_heard
        hearing.take(published(welcome.session))
        assert controller.state.node("n0").last_heard > before
        assert (await agent.next("heard")).epoch == 1
        assert controller.runtime.tally.heartbeats == 1
        assert hearing.intake.rejected == {}


@pytest.mark.parametrize(
    ("payload", "agent", "retained", "why"),
    [
        (published(), "agent-0", True, Rejection.RETAINED),
        (b"\xff\xff\xff", "agent-0", False, Rejection.MALFORMED),
        (published(session="s99"), "agent-0", False, Rejection.NO_SESSION),
        (published(boot="boot-0"), "agent-0", False, Rejection.NO_SESSION),
        (published(), "agent-7", False, Rejection.NO_SESSION),
        (b"", "agent-0", False, Rejection.NO_SESSION),
    ],
)
async def test_what_no_live_session_can_have_said_counts_for_nothing(serve, payload, agent, retained, why):
    async with serve() as controller:
        welcome = await (await controller.dial()).enter()
        assert welcome.session == "s1"
        hearing = Hearing(controller)
        before = controller.state.node("n0").last_heard
        hearing.take(payload, agent, retained=retained)
        assert controller.state.node("n0").last_heard == before
        assert hearing.intake.rejected == {why: 1}


async def test_nobody_speaks_for_a_node_that_is_not_his(serve):
    async with serve() as controller:
        first = await (await controller.dial(0)).enter()
        await (await controller.dial(1)).enter()
        hearing = Hearing(controller)
        before = controller.state.node("n1").last_heard
        hearing.take(published(first.session, node="n1"))
        assert controller.state.node("n1").last_heard == before


async def test_an_outage_is_a_reason_for_doubt_only_if_somebody_beats_there(serve):
    async with serve() as controller:
        welcome = await (await controller.dial()).enter()
        hearing = Hearing(controller)
        hearing.intake.lost("it ended")
        assert controller.state.bus_lost == ""
        hearing.take(published(welcome.session))
        hearing.intake.lost("it ended")
        assert controller.state.bus_lost == "it ended"
        hearing.intake.back()
        assert controller.state.bus_lost == ""


async def test_an_outage_after_they_are_gone_is_none(serve):
    async with serve() as controller:
        agent = await controller.dial()
        welcome = await agent.enter()
        hearing = Hearing(controller)
        hearing.take(published(welcome.session))
        await agent.say(goodbye=pb.Goodbye(reason="stopped"))
        await controller.told("agent-lost")
        hearing.intake.lost("it ended")
        assert controller.state.bus_lost == ""


async def test_other_topics_are_none_of_its_business(serve):
    async with serve() as controller:
        hearing = Hearing(controller)
        hearing.intake.take(Message(hearing.topics.job("train"), b"{}"))
        hearing.intake.take(Message("ringlight/other/agents/a/heartbeat", published()))
        assert hearing.intake.rejected == {}
