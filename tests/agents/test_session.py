"""What is said on a session, over real gRPC."""

import asyncio
from dataclasses import replace

from ringlight.fabric.circuits import Fault, FaultClass, OpticalPower, Path, digest
from ringlight.protos import codec
from ringlight.protos.v1 import agent_pb2 as pb

PORT = (0, Path.PATH_1)
FAULT = Fault("xid-1", "gpu3", FaultClass.FATAL, "xid:79")


async def test_a_hello_says_what_the_hardware_says(controller, run_agent, hardware, paths):
    hardware.table = list(paths.half)
    hardware.light[PORT] = True
    hardware.open_fault(FAULT)
    run_agent({"n0": hardware})
    hello = await controller.hello()
    assert (hello.agent, hello.agent_boot, hello.protocol, hello.fabric) == ("a1", "boot-1", 1, "lab")
    assert (hello.highest_epoch, bool(hello.version)) == (0, True)
    (node,) = hello.nodes
    assert (node.node, node.hardware_boot, node.applied_generation, node.unconfirmed) == ("n0", "power-1", 0, "")
    assert codec.inventory_from(node.inventory) == hardware.identity.inventory
    assert codec.table_from(node.circuits) == paths.half
    assert codec.light_from(node.light) == hardware.light
    assert [codec.fault_from(fault) for fault in node.faults] == [FAULT]


async def test_heartbeats_tell_what_is_read_just_before(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    assert controller.heartbeats[0].nodes[0].digest == digest(paths.home)
    hardware.table = list(paths.ring)  # drift: nobody told it to
    await controller.until(lambda: controller.heartbeats[-1].nodes[0].digest == digest(paths.ring))


async def test_one_heartbeat_speaks_for_all_nodes_that_answer(controller, run_agent, make_hardware):
    nodes = {"n0": make_hardware(), "n1": make_hardware()}
    run_agent(nodes)
    await controller.until(
        lambda: controller.heartbeats and [n.node for n in controller.heartbeats[-1].nodes] == ["n0", "n1"]
    )
    nodes["n1"].may_read.clear()
    await controller.until(lambda: [n.node for n in controller.heartbeats[-1].nodes] == ["n0"])


async def test_reports_follow_the_hello(controller, run_agent, hardware):
    run_agent({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    hardware.shine(PORT, lit=True)
    (light,) = await controller.light()
    assert codec.light_from(light.changed) == {PORT: True}
    hardware.open_fault(FAULT)
    health = await controller.until(
        lambda: next((m.health for m in controller.messages if m.WhichOneof("body") == "health"), None)
    )
    assert codec.fault_from(health.opened) == FAULT


async def test_a_command_is_carried_out_and_answered(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.command(paths.ring, generation=7, transaction="t")
    applied = await controller.applied("t")
    assert (applied.code, applied.generation, applied.epoch) == (pb.APPLY_CODE_APPLIED, 7, 1)
    assert applied.digest == digest(paths.ring)
    await controller.until(lambda: controller.heartbeats and controller.heartbeats[-1].nodes[0].applied_generation == 7)


async def test_a_planned_change_is_confirmed_or_goes_back(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.command(paths.half, generation=1, transaction="kept", revert_after=600)
    await controller.applied("kept")
    await controller.confirm("kept")
    await controller.command(paths.ring, generation=2, transaction="lost", revert_after=0.02)
    await controller.until(lambda: any(m.applied.code == pb.APPLY_CODE_REVERTED for m in controller.messages))
    assert tuple(hardware.table) == paths.half


async def test_a_node_that_is_not_served_is_said_so(controller, run_agent, hardware, paths):
    run_agent({"n0": hardware})
    await controller.command(paths.ring, node="n7", transaction="t")
    assert (await controller.applied("t")).code == pb.APPLY_CODE_UNKNOWN_NODE


async def test_a_question_for_light_is_answered(controller, run_agent, hardware):
    hardware.light[PORT] = True
    hardware.powers = {PORT: OpticalPower(1.0, -2.5)}
    run_agent({"n0": hardware})
    answer = await controller.measure(3)
    assert (answer.node, answer.reason, codec.light_from(answer.light)) == ("n0", "", hardware.light)
    assert codec.powers_from(answer.powers) == hardware.powers


async def test_a_question_for_a_node_that_cannot_be_asked_is_answered_with_the_reason(
    controller, run_agent, make_hardware
):
    nodes = {"n0": make_hardware(), "n1": make_hardware()}
    run_agent(nodes)
    assert (await controller.measure(1, node="n7")).reason == "not served by this agent"
    nodes["n0"].go()
    await controller.until(
        lambda: controller.heartbeats and [n.node for n in controller.heartbeats[-1].nodes] == ["n1"]
    )
    assert (await controller.measure(2)).reason == "its hardware does not answer"


async def test_a_node_whose_hardware_went_away_cannot_be_commanded(controller, run_agent, make_hardware, paths):
    nodes = {"n0": make_hardware(), "n1": make_hardware()}
    run_agent(nodes)
    await controller.until(lambda: controller.heartbeats)
    nodes["n0"].go()
    await controller.until(lambda: [n.node for n in controller.heartbeats[-1].nodes] == ["n1"])
    await controller.command(paths.ring, transaction="t")
    applied = await controller.applied("t")
    assert (applied.code, bool(applied.reason), list(applied.circuits.paths)) == (pb.APPLY_CODE_FAILED, True, [])


async def test_hardware_that_comes_back_is_in_a_hello_of_its_own(controller, run_agent, make_hardware):
    nodes = {"n0": make_hardware(), "n1": make_hardware()}
    run_agent(nodes)
    await controller.until(lambda: controller.heartbeats)
    nodes["n0"].go()
    await controller.until(lambda: [n.node for n in controller.heartbeats[-1].nodes] == ["n1"])
    nodes["n0"].come_back(boot="power-2")
    hello = await controller.until(lambda: next((h for h in controller.hellos[1:] if len(h.nodes) == 2), None))
    assert [node.hardware_boot for node in hello.nodes] == ["power-2", "power-1"]
    assert controller.ends[0] is True


async def test_an_agent_without_hardware_says_nothing_and_comes_when_it_has_some(
    controller, run_agent, hardware, eventually
):
    hardware.away = True
    run_agent({"n0": hardware})
    await eventually(lambda: hardware.opened == 0)
    assert controller.hellos == []
    hardware.come_back()
    assert len((await controller.hello()).nodes) == 1


async def test_a_silent_controller_is_dialled_anew(controller, run_agent, hardware):
    controller.heard_every = None
    run_agent({"n0": hardware})
    await controller.hello(3)
    assert hardware.writes == []


async def test_an_overflow_ends_the_session_and_the_next_hello_carries_all(controller, run_agent, hardware, fast):
    run_agent({"n0": hardware}, settings=replace(fast, outbox=4))
    await controller.until(lambda: controller.heartbeats)
    for turn in range(41):
        hardware.shine(PORT, lit=turn % 2 == 0)
    hello = await controller.hello(2)
    assert codec.light_from(hello.nodes[0].light)[PORT]


async def test_an_epoch_that_was_outranked_is_not_obeyed(controller, run_agent, hardware, paths, tmp_path):
    (tmp_path / "agent-a1.json").write_text('{"epoch": 5, "generations": {}}')
    welcomes = []
    run_agent({"n0": hardware}, on_welcome=lambda: welcomes.append(1))
    assert (await controller.hello(2)).highest_epoch == 5
    assert welcomes == []
    controller.epoch = 6
    await controller.until(lambda: controller.heartbeats)
    await controller.command(paths.ring, epoch=5, transaction="old")
    assert (await controller.applied("old")).code == pb.APPLY_CODE_STALE_EPOCH
    assert hardware.writes == []


async def test_heartbeats_go_another_way_as_long_as_they_are_answered(controller, run_agent, hardware, eventually):
    elsewhere = []
    run_agent({"n0": hardware}, beat_elsewhere=lambda *beat: elsewhere.append(beat) or True)
    await eventually(lambda: len(elsewhere) >= 3)
    assert not controller.heartbeats
    session, heartbeat = elsewhere[0]
    assert (session, heartbeat.nodes[0].node) == ("s1", "n0")
    controller.heard_every = None
    seen = len(elsewhere)
    await controller.until(lambda: controller.heartbeats)
    assert len(elsewhere) <= seen + 2, "one that was not answered is the last"


async def test_heartbeats_go_over_the_stream_while_there_is_no_other_way(controller, run_agent, hardware):
    asked = []
    run_agent({"n0": hardware}, beat_elsewhere=lambda *_: asked.append(1) or False)
    await controller.until(lambda: len(controller.heartbeats) >= 3)
    assert asked


async def test_a_welcome_without_an_interval_is_none(controller, run_agent, hardware):
    controller.interval = 0.0
    welcomes = []
    run_agent({"n0": hardware}, on_welcome=lambda: welcomes.append(1))
    await controller.hello(3)
    assert welcomes == []


async def test_stopping_says_goodbye_and_writes_nothing(controller, run_agent, hardware):
    before = asyncio.all_tasks()
    agent = run_agent({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    agent.cancel()
    await asyncio.wait({agent})
    assert agent.cancelled()
    await controller.until(lambda: controller.ends)
    assert controller.ends == [True]
    assert controller.messages[-1].goodbye.reason == "the agent is stopping"
    assert hardware.writes == []
    ours = {
        task for task in asyncio.all_tasks() - before if "ringlight" in str(task.get_coro()) and "agents" in str(task)
    }
    assert ours == set()
