"""An agent through the failures of its controller, over real gRPC."""

import asyncio
import json
from dataclasses import replace

import pytest

from ringlight.agents.session import AgentRefusedError, DuplicateAgentError
from ringlight.fabric.errors import ConflictError, InvalidError, UnavailableError
from ringlight.protos import codec


async def test_an_agent_comes_back_after_the_controller_restarts(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.command(paths.ring, generation=3, transaction="t")
    await controller.applied("t")
    await controller.stop()
    controller.epoch = 2
    await controller.start()
    hello = await controller.hello(2)
    assert (hello.highest_epoch, hello.nodes[0].applied_generation) == (1, 3)
    assert codec.table_from(hello.nodes[0].circuits) == paths.ring
    assert len(hardware.writes) == 2


async def test_a_hello_is_read_from_the_hardware_and_not_remembered(controller, run_agent, hardware, paths):
    controller.interval = 600.0  # no heartbeat reads in between
    run_agent({"n0": hardware})
    await controller.hello()
    await controller.stop()
    hardware.table = list(paths.ring)
    await controller.start()
    assert codec.table_from((await controller.hello(2)).nodes[0].circuits) == paths.ring


async def test_a_controller_that_is_not_there_yet_is_awaited(controller, run_agent, hardware):
    await controller.stop()
    agent = run_agent({"n0": hardware})
    await asyncio.wait({agent}, timeout=0.1)
    assert not agent.done()
    await controller.start()
    await controller.hello()


async def test_a_refusal_for_good_ends_the_agent_with_the_hint(controller, run_agent, hardware):
    controller.refusal = InvalidError("no such node", hint="correct its --node")
    with pytest.raises(AgentRefusedError, match="no such node") as refused:
        await run_agent({"n0": hardware})
    assert refused.value.hint == "correct its --node"
    assert len(controller.hellos) == 1
    assert hardware.writes == []


async def test_a_live_twin_is_waited_for(controller, run_agent, hardware):
    controller.refusals.extend([ConflictError("has a live session already")] * 2)
    run_agent({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    assert len(controller.hellos) == 3


async def test_a_twin_that_stays_ends_the_agent(controller, run_agent, hardware):
    controller.refusal = ConflictError("has a live session already", hint="give each agent its own id")
    with pytest.raises(DuplicateAgentError, match="live session") as refused:
        await run_agent({"n0": hardware})
    assert refused.value.hint
    assert len(controller.hellos) > 1


async def test_a_controller_that_is_busy_is_dialled_again(controller, run_agent, hardware):
    controller.refusals.extend([UnavailableError("come later", hint="dial again")] * 3)
    run_agent({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    assert len(controller.hellos) == 4


async def test_a_restarted_agent_writes_nothing_and_remembers_whom_it_obeyed(
    controller, run_agent, hardware, paths, tmp_path
):
    first = run_agent({"n0": hardware})
    await controller.command(paths.ring, generation=3, transaction="t", revert_after=600)
    await controller.applied("t")
    first.cancel()
    await asyncio.wait({first})
    assert json.loads((tmp_path / "agent-a1.json").read_text()) == {"epoch": 1, "generations": {"n0": 3}}
    writes = list(hardware.writes)
    run_agent({"n0": hardware}, boot="boot-2")
    hello = await controller.hello(2)
    assert (hello.agent_boot, hello.highest_epoch) == ("boot-2", 1)
    assert (hello.nodes[0].applied_generation, hello.nodes[0].unconfirmed) == (3, "")
    await controller.until(lambda: controller.heartbeats)
    assert hardware.writes == writes


async def test_an_unconfirmed_change_goes_back_while_the_controller_is_gone(
    controller, run_agent, hardware, paths, eventually
):
    run_agent({"n0": hardware})
    await controller.command(paths.ring, transaction="t", revert_after=0.2)
    await controller.applied("t")
    await controller.stop()
    await eventually(lambda: tuple(hardware.table) == paths.home)


async def test_a_hello_tells_of_a_change_that_waits(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.command(paths.ring, transaction="t", revert_after=600)
    await controller.applied("t")
    await controller.stop()
    await controller.start()
    assert (await controller.hello(2)).nodes[0].unconfirmed == "t"


async def test_an_agent_that_is_stopped_while_it_dials_ends(controller, run_agent, hardware):
    async def never():
        await asyncio.get_running_loop().create_future()

    agent = run_agent({"n0": hardware}, dial=never)
    await asyncio.wait({agent}, timeout=0.05)
    agent.cancel()
    await asyncio.wait({agent})
    assert agent.cancelled()
    assert controller.hellos == []


async def test_a_bug_in_a_driver_ends_the_agent_instead_of_hiding(run_agent, hardware, monkeypatch):
    async def broken():
        raise ZeroDivisionError

    monkeypatch.setattr(hardware.driver, "open", broken)
    with pytest.raises(ZeroDivisionError):
        await run_agent({"n0": hardware})


async def test_hardware_that_hangs_when_it_is_opened_does_not_hold_up_the_others(
    controller, run_agent, make_hardware, fast, monkeypatch
):
    nodes = {"n0": make_hardware(), "n1": make_hardware()}

    async def hang():
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(nodes["n0"].driver, "open", hang)
    run_agent(nodes, settings=replace(fast, open_timeout=0.05))
    assert [node.node for node in (await controller.hello()).nodes] == ["n1"]
