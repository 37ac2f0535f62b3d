"""Sessions of agents over real connections: how they begin, what travels on them, and every way in which they end."""

import asyncio
import contextlib

import grpc
import grpc.aio
import pytest

from ringlight.controller.adapters import southbound as module
from ringlight.controller.adapters.southbound import SessionLink
from ringlight.controller.engine.effects import SendCircuits, SendConfirm
from ringlight.controller.metrics.session_end import SessionEnd
from ringlight.controller.settings import SessionSettings
from ringlight.fabric.circuits import Path
from ringlight.protos.status import HINT_KEY
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

PATIENCE = 30.0


def hint_of(error):
    return dict(error.trailing_metadata())[HINT_KEY]


def command(node="n0", generation=1, bundles=8):
    return SendCircuits("s1", node, 1, generation, f"t{generation}", (Path.PATH_1,) * bundles)


# -- how a session begins --------------------------------------------------------------------------------------------


async def test_a_hello_is_welcomed(serve):
    async with serve(interval=7.5) as controller:
        agent = await controller.dial()
        welcome = await agent.enter()
        assert (welcome.epoch, welcome.heartbeat_interval) == (1, 7.5)
        assert welcome.session in controller.state.sessions
        assert controller.state.node("n0").session == welcome.session
        assert (await controller.told("agent-connected")).subject == "agent-0"


@pytest.mark.parametrize("body", [{"heartbeat": pb.Heartbeat()}, {"goodbye": pb.Goodbye()}, {}])
async def test_an_agent_that_does_not_begin_with_a_hello_is_refused(serve, body):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.say(**body)
        error = await agent.ended()
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "first message" in error.details()
        assert "same release" in hint_of(error)
        assert not controller.state.sessions


async def test_an_agent_that_says_nothing_is_sent_away(serve, monkeypatch):
    monkeypatch.setattr(module, "_HELLO_SECONDS", 0.05)
    async with serve() as controller:
        silent, hung_up = await controller.dial(), await controller.dial()
        await hung_up.call.done_writing()
        for agent in (silent, hung_up):
            error = await agent.ended()
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert "no hello" in error.details()


async def test_a_hello_that_took_its_time_begins_the_count_of_silence(serve, clock):
    """However late the hello, the session is as fresh as its hello."""
    async with serve(clock=clock, interval=1.0) as controller:
        agent = await controller.dial()
        await agent.call.wait_for_connection()
        clock.now += 9.0
        welcome = await agent.enter()
        assert controller.service._links[welcome.session].last_heard == clock.now


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ({"protocol": 2}, "speaks protocol 2", "same release"),
        ({"fabric": "elsewhere"}, "serves fabric 'elsewhere'", "address"),
        ({"nodes": []}, "at least one node", "--node"),
        ({"nodes": [pb.NodeHello(node="n99")]}, "n99", "fabric file"),
        ({"nodes": [pb.NodeHello(node="n0")]}, "differs from the fabric file", "cabling"),
    ],
)
async def test_a_refusal_keeps_its_status_message_and_hint(serve, changes, words, hint):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.say(hello=agent.hello(**changes))
        error = await agent.ended()
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert words in error.details()
        assert hint in hint_of(error)
        assert not controller.state.sessions
        assert not controller.service._links
        assert (await controller.told("agent-refused")).data["code"] == "invalid"


async def test_a_second_agent_of_the_same_id_is_told_to_wait(serve):
    async with serve() as controller:
        first, second = await controller.dial(), await controller.dial()
        welcome = await first.enter()
        await second.say(hello=second.hello(agent_boot="boot-2"))
        error = await second.ended()
        assert error.code() is grpc.StatusCode.ALREADY_EXISTS
        assert "live session" in error.details()
        assert list(controller.state.sessions) == [welcome.session]


async def test_the_same_agent_that_dials_again_takes_its_session_over(serve):
    async with serve() as controller:
        first, again = await controller.dial(), await controller.dial()
        old = await first.enter()
        new = await again.enter()
        error = await first.ended()
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "dialled again" in error.details()
        assert old.session != new.session
        assert list(controller.state.sessions) == [new.session]
        assert controller.state.node("n0").session == new.session


async def test_agents_are_let_in_at_a_rate_in_the_order_in_which_they_came(serve):
    """The first at once, the others a fifth of a second apart."""
    async with serve(sessions=SessionSettings(rate=5.0, burst=1, longest_wait=5.0)) as controller:
        agents = [await controller.dial(number) for number in range(4)]
        for agent in agents:
            await agent.call.wait_for_connection()
        loop, began, turns = asyncio.get_running_loop(), 0.0, []
        turnstile = controller.service._turnstile
        turn = turnstile.turn
        turnstile.turn = lambda now: turns.append(turn(now)) or turns[-1]
        began = loop.time()
        for number, agent in enumerate(agents, start=1):
            await agent.say(hello=agent.hello())
            async with asyncio.timeout(PATIENCE):
                while len(turns) < number:  # noqa: ASYNC110 - a plain list
                    await asyncio.sleep(0.001)
        welcomes = await asyncio.gather(*(agent.next("welcome") for agent in agents))
        assert loop.time() - began >= 0.5
        assert [welcome.session for welcome in welcomes] == ["s1", "s2", "s3", "s4"]
        connected = [event.subject for event in controller.events if event.kind == "agent-connected"]
        assert connected == [agent.name for agent in agents]


async def test_an_agent_whose_turn_would_come_too_late_is_sent_away_at_once(serve):
    """And not left waiting until its own patience ends; it comes back after a pause, and is let in."""
    async with serve(sessions=SessionSettings(rate=2.0, burst=1, longest_wait=0.4)) as controller:
        first, second = await controller.dial(0), await controller.dial(1)
        await first.enter()
        began = asyncio.get_running_loop().time()
        await second.say(hello=second.hello())
        error = await second.ended()
        assert asyncio.get_running_loop().time() - began < 0.4
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "too many agents dial at once" in error.details()
        assert hint_of(error) == "dial again in a moment"
        assert len(controller.state.sessions) == 1
        async with asyncio.timeout(PATIENCE):
            while len(controller.state.sessions) < 2:
                again = await controller.dial(1)
                await again.say(hello=again.hello())
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await again.next("welcome")


async def test_one_that_leaves_while_it_waits_for_its_turn_leaves_nothing(serve):
    async with serve(sessions=SessionSettings(rate=2.0, burst=1, longest_wait=5.0)) as controller:
        first, second = await controller.dial(0), await controller.dial(1)
        await first.enter()
        await second.say(hello=second.hello())
        second.call.cancel()
        third = await controller.dial(2)
        await third.enter()
        assert {session.agent for session in controller.state.sessions.values()} == {"agent-0", "agent-2"}
        assert len(controller.service._links) == 2


# -- what travels ----------------------------------------------------------------------------------------------------


async def test_commands_and_confirmations_reach_the_stream_of_their_agent(serve):
    async with serve() as controller:
        agents = [await controller.dial(number) for number in range(8)]
        for agent in agents:
            await agent.enter()
        fabric = await controller.fabric()
        await fabric.SubmitJob(fabric_pb2.SubmitJobRequest(name="train", rings=1, tp=16))
        chain = [controller.state.wiring.name(p) for p in controller.state.rings["train/0"].chain]
        members = [agent for agent in agents if agent.node in chain]
        assert len(members) == 4
        for agent in members:
            order = await agent.next("set_circuits")
            assert (order.node, order.epoch) == (agent.node, 1)
            await agent.apply(order)
        for agent in members:
            confirm = await agent.next("confirm")
            assert confirm.node == agent.node
        assert (await controller.told("ring-active")).subject == "train/0"


async def test_what_agents_say_reaches_the_engine_in_order(serve):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.enter()
        for number in range(50):
            opened = {"id": f"f{number}", "component": "gpu1", "fault_class": 1, "code": "xid:43"}
            await agent.say(health=pb.HealthReport(node="n0", opened=opened))
            if number % 2:
                await agent.say(health=pb.HealthReport(node="n0", closed=f"f{number - 1}"))
        await agent.say(health=pb.HealthReport(node="n0"))  # says nothing
        await agent.say()  # of a newer release
        await agent.say(health=pb.HealthReport(node="n0", closed="f49"))

        def closed():
            return [event.data["id"] for event in controller.events if event.kind == "fault-closed"]

        async with asyncio.timeout(PATIENCE):
            while len(closed()) < 26:  # noqa: ASYNC110 - a plain list that observers fill
                await asyncio.sleep(0.001)
        assert closed() == [f"f{number}" for number in range(0, 50, 2)] + ["f49"]
        assert [e.data["id"] for e in controller.events if e.kind == "fault-opened"] == [f"f{n}" for n in range(50)]


async def test_each_heartbeat_is_answered_with_a_sign_of_life(serve):
    async with serve(interval=0.3) as controller:
        agent = await controller.dial()
        await agent.enter()
        for _ in range(3):
            await agent.beat()
            heard = await agent.next("heard")
            assert heard.epoch == 1


async def test_in_the_outbox_the_latest_command_of_a_node_wins():
    link = SessionLink("s1", 0.0)
    link.admit(1, 1.0)
    link.send(command("n0", 1))
    link.send(command("n1", 1))
    link.confirm(SendConfirm("s1", "n0", 1, "t0"))
    link.send(command("n0", 2))
    for _ in range(1000):
        link.beat(1)
        link.send(command("n1", 5))
    messages = [await link.take() for _ in range(5)]
    assert [message.WhichOneof("body") for message in messages] == [
        "welcome",
        "set_circuits",
        "set_circuits",
        "confirm",
        "heard",
    ]
    assert [(m.set_circuits.node, m.set_circuits.generation) for m in messages[1:3]] == [("n0", 2), ("n1", 5)]
    waiting = asyncio.create_task(link.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    link.send(command("n0", 3))
    assert (await waiting).set_circuits.generation == 3


# -- how a session ends ----------------------------------------------------------------------------------------------


async def test_a_goodbye_ends_the_session_in_order(serve):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.enter()
        await agent.say(goodbye=pb.Goodbye(reason="stopped"))
        assert await agent.read() is grpc.aio.EOF
        assert await agent.call.code() is grpc.StatusCode.OK
        assert (await controller.told("agent-lost")).text == "goodbye: stopped"
        assert controller.runtime.tally.session_ends == {SessionEnd.GOODBYE: 1}
        assert not controller.state.sessions
        assert not controller.service._links


@pytest.mark.parametrize("how", ["cancel", "disconnect", "half-close"])
async def test_an_agent_that_vanishes_loses_its_session(serve, how):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.enter()
        match how:
            case "cancel":
                agent.call.cancel()
            case "disconnect":
                await controller.close()
            case "half-close":
                await agent.call.done_writing()
        assert (await controller.told("agent-lost")).subject == "agent-0"
        assert controller.runtime.tally.session_ends == {SessionEnd.BROKEN: 1}
        assert not controller.state.sessions
        assert not controller.service._links
        assert not controller.runtime._links


async def test_a_silent_session_is_ended_after_three_intervals_and_one_that_speaks_is_not(serve):
    async with serve(interval=0.3) as controller:
        silent, alive = await controller.dial(0), await controller.dial(1)
        await alive.enter()
        await silent.enter()
        began = asyncio.get_running_loop().time()

        async def live():
            while True:
                await alive.beat()
                await alive.next("heard")

        living = asyncio.create_task(live())
        error = await silent.ended()
        assert asyncio.get_running_loop().time() - began >= 0.89
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "three heartbeat intervals" in error.details()
        assert hint_of(error) == "dial again"
        assert not living.done()
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
        assert "three heartbeat intervals" in (await controller.told("agent-lost", "agent-0")).text
        tally = controller.runtime.tally
        assert tally.session_ends == {SessionEnd.SILENT: 1}
        assert tally.sessions_opened == 2
        assert tally.heartbeats - 1 == tally.gaps.cumulative()[-1][1] >= 1, "the silent one never beat"


async def test_a_controller_that_stood_still_blames_nobody_for_it(serve, clock):
    """After a pause of this process, what agents sent meanwhile is still to be read: their sessions go on."""
    async with serve(clock=clock, interval=0.3) as controller:
        agent = await controller.dial()
        await agent.enter()
        clock.now += 3600.0
        for _ in range(3):
            await asyncio.sleep(0.3)  # the watchman makes his round, which nobody can see
            await agent.beat()
            await agent.next("heard")
        assert controller.state.sessions


async def test_an_agent_that_does_not_take_what_it_is_sent_is_ended(serve):
    """It speaks, but never reads: the stream's window fills up, and the outbox stays bounded."""
    async with serve(interval=0.1) as controller:
        agent = await controller.dial()
        welcome = await agent.enter()
        link = controller.service._links[welcome.session]
        async with asyncio.timeout(PATIENCE):
            while not link.ended.is_set():
                await agent.beat()
                for node in range(20):
                    link.send(command(f"n{node}", 1, bundles=10_000))
                assert len(link._outbox) <= 22
                await asyncio.sleep(0.01)
        assert "did not take" in str(link.error)
        assert "did not take" in (await controller.told("agent-lost")).text
        assert controller.runtime.tally.session_ends == {SessionEnd.SLOW: 1}
        assert not controller.service._links


async def test_closing_all_tells_every_agent_to_dial_again(serve):
    async with serve() as controller:
        agents = [await controller.dial(number) for number in range(5)]
        for agent in agents:
            await agent.enter()
        controller.service.close_all("the controller is stopping")
        for agent in agents:
            error = await agent.ended()
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert error.details() == "the controller is stopping"
        assert not controller.service._links


async def test_two_hundred_sessions_at_once_and_a_quick_end(serve):
    async with serve(nodes=200) as controller:
        agents = [await controller.dial(number) for number in range(200)]
        welcomes = await asyncio.gather(*(agent.enter() for agent in agents))
        assert len({welcome.session for welcome in welcomes}) == 200
        assert len(controller.state.sessions) == 200
        await asyncio.gather(*(agent.beat() for agent in agents))
        began = asyncio.get_running_loop().time()
        controller.service.close_all("the controller is stopping")
        await controller.server.stop(5.0)
        assert asyncio.get_running_loop().time() - began < 4.0, "nothing waits for the grace period to pass"
        assert not controller.state.sessions
        assert not controller.service._links


async def test_a_stop_ends_streams_that_never_said_hello(serve):
    async with serve() as controller:
        agent = await controller.dial()
        await agent.call.wait_for_connection()
        await controller.server.stop(0.1)
        assert (await agent.ended()).code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
