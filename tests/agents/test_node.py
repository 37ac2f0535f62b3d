"""One served node over model hardware."""

import asyncio

import pytest

from ringlight.agents.obedience import Command
from ringlight.fabric.circuits import Fault, FaultClass, OpticalPower, Path
from ringlight.fabric.errors import UnavailableError
from ringlight.protos import codec
from ringlight.protos.v1 import agent_pb2 as pb

PORT = (0, Path.PATH_1)
FAULT = Fault("xid-1", "gpu3", FaultClass.FATAL, "xid:79")


async def test_opening_writes_nothing_and_reads_everything(run_node, hardware, paths):
    hardware.light[PORT] = True
    hardware.open_fault(FAULT)
    running = await run_node(hardware)
    assert running.node.identity == hardware.identity
    assert running.node.seen.circuits == paths.home
    assert running.node.seen.light[PORT]
    assert running.node.seen.faults == {"xid-1": FAULT}
    assert hardware.writes == []


async def test_what_the_hardware_tells_is_reported(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.shine(PORT, lit=True)
    await eventually(lambda: running.reports)
    hardware.open_fault(FAULT)
    await eventually(lambda: len(running.reports) == 2)
    hardware.close_fault("xid-1")
    await eventually(lambda: len(running.reports) == 3)
    light, opened, closed = running.reports
    assert light.light.changed[0].lit
    assert (opened.health.opened.id, closed.health.closed) == ("xid-1", "xid-1")
    assert running.node.seen.faults == {}


async def test_light_that_changed_while_it_was_read_is_not_undone_by_the_reading(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.may_read.clear()
    hardware.reading.clear()
    refreshing = asyncio.create_task(running.node.refresh_all())
    await hardware.reading.wait()
    hardware.shine(PORT, lit=True)
    await eventually(lambda: running.reports)
    hardware.may_read.set()
    await refreshing
    assert running.node.seen.light[PORT]
    assert running.lights() == [True]


async def test_light_found_by_a_reading_is_reported(run_node, hardware):
    running = await run_node(hardware)
    hardware.light[PORT] = True
    await running.node.refresh(within=1)
    assert running.lights() == [True]


async def test_a_fault_that_opens_while_the_hello_is_read_is_in_it(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.may_read.clear()
    hardware.reading.clear()
    refreshing = asyncio.create_task(running.node.refresh_all())
    await hardware.reading.wait()
    dead = Fault("m-1", "b0.m2", FaultClass.FATAL, "module-dead")
    hardware.open_fault(dead, gpu=False)
    await eventually(lambda: running.reports)
    hardware.may_read.set()
    await refreshing
    assert running.node.seen.faults == {"m-1": dead}


async def test_a_command_is_answered_with_what_was_read(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, epoch=4, transaction="t"))
    answer = await running.answer()
    assert (answer.node, answer.transaction, answer.code) == ("n0", "t", pb.APPLY_CODE_APPLIED)
    assert list(answer.circuits.paths) == list(paths.ring)
    assert answer.highest_epoch == 4
    assert len(answer.light) == len(hardware.light)


async def test_the_latest_command_wins(run_node, hardware, order, paths):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.half, generation=1))
    await hardware.switching.wait()
    running.node.command(order(paths.ring, generation=2))
    running.node.command(order(paths.other, generation=3))
    hardware.may_switch.set()
    await running.answer(2)
    assert [answer.generation for answer in running.answers()] == [1, 3]
    assert hardware.table == list(paths.other)


async def test_an_unconfirmed_change_goes_back_when_its_time_is_over(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, transaction="t", revert_after=0.02))
    await running.answer(2)
    assert [answer.code for answer in running.answers()] == [pb.APPLY_CODE_APPLIED, pb.APPLY_CODE_REVERTED]
    assert hardware.table == list(paths.home)
    assert running.node.unconfirmed == ""


async def test_a_confirmed_change_stands_beyond_its_time(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, transaction="t", revert_after=0.05))
    await running.answer()
    assert running.node.unconfirmed == "t"
    running.node.confirm(epoch=1, transaction="t")
    running.node._time_is_over()  # what the timer does
    running.node.command(order(paths.ring, generation=2))
    await running.answer(2)
    assert running.answers()[1].code == pb.APPLY_CODE_UNCHANGED
    assert hardware.table == list(paths.ring)


async def test_a_refused_command_does_not_stop_the_time_of_a_change(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, generation=5, revert_after=0.05))
    await running.answer(1)
    running.node.command(order(paths.home, generation=4))
    await running.answer(3)
    assert [a.code for a in running.answers()] == [
        pb.APPLY_CODE_APPLIED,
        pb.APPLY_CODE_STALE_GENERATION,
        pb.APPLY_CODE_REVERTED,
    ]


async def test_a_refused_command_does_not_shorten_the_time_of_a_change(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, generation=5, revert_after=600))
    await running.answer(1)
    running.node.command(order(paths.home, generation=4))
    await running.answer(2)
    running.node.command(order(paths.ring, generation=6))
    assert (await running.answer(3)).code == pb.APPLY_CODE_UNCHANGED


async def test_a_refused_command_at_the_very_end_of_the_time_does_not_swallow_the_undoing(
    run_node, hardware, order, paths
):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, generation=5, revert_after=600))
    await running.answer(1)
    running.node._time_is_over()
    running.node.command(order(paths.other, generation=4))
    await running.answer(3)
    assert running.answers()[2].code == pb.APPLY_CODE_REVERTED
    assert hardware.table == list(paths.home)


async def test_a_superseding_command_is_not_undone_by_the_time_of_the_former(run_node, hardware, order, paths):
    running = await run_node(hardware)
    running.node.command(order(paths.half, generation=1, revert_after=600))
    await running.answer(1)
    running.node._time_is_over()
    running.node.command(order(paths.ring, generation=2))
    await running.answer(2)
    running.node.command(order(paths.ring, generation=3))
    assert (await running.answer(3)).code == pb.APPLY_CODE_UNCHANGED
    assert hardware.table == list(paths.ring)


async def test_hardware_that_goes_and_comes_back_is_served_again(run_node, hardware, order, paths, eventually):
    running = await run_node(hardware)
    hardware.go()
    await eventually(lambda: running.node.identity is None)
    assert not running.node.answers
    hardware.table = list(paths.half)
    hardware.come_back(boot="power-2")
    await eventually(lambda: running.node.identity is not None)
    assert running.node.identity.boot == "power-2"
    assert running.node.seen.circuits == paths.half
    assert running.changes >= 3
    assert hardware.writes == []
    running.node.command(order(paths.ring))
    assert (await running.answer()).code == pb.APPLY_CODE_APPLIED


async def test_hardware_that_was_away_at_first_is_found(run_node, hardware, eventually):
    hardware.away = True
    running = await run_node(hardware)
    assert running.node.identity is None
    hardware.come_back()
    await eventually(lambda: running.node.identity is not None)


async def test_a_change_whose_time_ends_while_the_hardware_is_away_is_undone_on_its_return(
    run_node, hardware, order, paths, eventually
):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, transaction="t", revert_after=600))
    await running.answer(1)
    hardware.go()
    await eventually(lambda: running.node.identity is None)
    running.node._time_is_over()
    hardware.come_back()
    assert (await running.answer(2)).code == pb.APPLY_CODE_REVERTED
    assert hardware.table == list(paths.home)


async def test_a_change_is_forgotten_when_the_hardware_lost_power(run_node, hardware, order, paths, eventually):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, revert_after=600))
    await running.answer(1)
    hardware.go()
    await eventually(lambda: running.node.identity is None)
    running.node._time_is_over()
    writes = len(hardware.writes)
    hardware.come_back(boot="power-2")
    await eventually(lambda: running.node.identity is not None)
    assert running.node.unconfirmed == ""
    await running.node.refresh_all()
    assert len(running.answers()) == 1
    assert len(hardware.writes) == writes


async def test_a_command_that_had_not_begun_is_forgotten_when_the_hardware_goes(
    run_node, hardware, order, paths, eventually
):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.half, generation=1))
    await hardware.switching.wait()
    running.node.command(order(paths.other, generation=2))
    hardware.go()
    await eventually(lambda: running.node.identity is None)
    hardware.may_switch.set()
    hardware.come_back()
    await eventually(lambda: running.node.identity is not None)
    await running.node.refresh_all()  # waits for any command under way
    assert running.answers() == []
    running.node.command(order(paths.ring, generation=3))
    assert (await running.answer(1)).generation == 3
    assert (0, Path.PATH_2) not in hardware.writes


async def test_the_hello_waits_for_the_command_under_way(run_node, hardware, order, paths):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.ring))
    await hardware.switching.wait()
    reading = asyncio.create_task(running.node.refresh_all())
    await asyncio.sleep(0)
    assert not reading.done()
    hardware.may_switch.set()
    await reading
    assert running.node.seen.circuits == paths.ring


async def test_a_heartbeat_does_not_wait_for_the_command_under_way(run_node, hardware, order, paths):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.ring))
    await hardware.switching.wait()
    hardware.may_read.clear()
    await running.node.refresh(within=600)
    assert not running.answers()


async def test_hardware_that_reads_too_slowly_is_silent_until_it_answers(run_node, hardware):
    running = await run_node(hardware)
    hardware.may_read.clear()
    with pytest.raises(UnavailableError, match="n0 does not answer"):
        await running.node.refresh(within=0.01)
    assert not running.node.answers
    hardware.may_read.set()
    await running.node.refresh(within=30)
    assert running.node.answers


async def test_hardware_that_fails_the_hello_is_opened_again(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.away = True
    with pytest.raises(UnavailableError):
        await running.node.refresh_all()
    assert running.node.identity is None
    hardware.come_back()
    await eventually(lambda: running.node.identity is not None)
    assert hardware.opened == 2


async def test_cancellation_leaves_no_task_and_writes_nothing(run_node, hardware):
    before = asyncio.all_tasks()
    running = await run_node(hardware)
    (serving,) = {task for task in asyncio.all_tasks() - before if "ServedNode.serve" in str(task.get_coro())}
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert asyncio.all_tasks() == before
    assert running.node.identity is None
    assert hardware.writes == []


async def test_applied_generations_reach_the_disk(*, run_node, hardware, order, paths, fences, eventually):
    running = await run_node(hardware)
    running.node.command(order(paths.ring, generation=9))
    await running.answer()
    await eventually(lambda: fences._saved.generations == {"n0": 9})


async def test_a_full_disk_stops_no_command_of_a_known_controller(run_node, hardware, paths, fences, monkeypatch):
    running = await run_node(hardware)
    await fences.see(1)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fences, "_replace", full)
    for generation, table in enumerate((paths.ring, paths.half, paths.other), start=1):
        running.node.command(Command("n0", 1, generation, f"t{generation}", table))
        assert (await running.answer(generation)).code == pb.APPLY_CODE_APPLIED
    assert hardware.opened == 1


async def test_a_question_is_answered_with_what_is_read_and_measured_from_then_on(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.light[PORT] = True  # and nobody told
    hardware.powers = {PORT: OpticalPower(1.0, None)}
    running.node.measure(7)
    await eventually(running.measured)
    (answer,) = running.measured()
    assert (answer.node, answer.question, answer.reason) == ("n0", 7, "")
    assert list(answer.circuits.paths) == list(hardware.table)
    assert codec.light_from(answer.light) == hardware.light
    assert codec.powers_from(answer.powers) == hardware.powers
    assert hardware.writes == []


async def test_a_question_waits_for_the_command_before_it(run_node, hardware, order, paths, eventually):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.ring))
    await hardware.switching.wait()
    running.node.measure(1)
    running.node.measure(2)
    assert running.measured() == []
    hardware.may_switch.set()
    await eventually(running.measured)
    assert [answer.question for answer in running.measured()] == [2], "the latest question wins"
    assert list(running.measured()[0].circuits.paths) == list(paths.ring)


async def test_light_that_cannot_be_measured_in_time_is_left_out_with_the_reason(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.may_measure.clear()
    running.node.measure(1)
    await eventually(running.measured)
    (answer,) = running.measured()
    assert "could not be measured" in answer.reason
    assert (len(answer.powers), len(answer.circuits.paths)) == (0, 2)


async def test_hardware_that_cannot_be_read_is_said_so_and_nothing_is_filled_in(run_node, hardware, eventually):
    running = await run_node(hardware)
    hardware.may_read.clear()
    running.node.measure(1)
    await eventually(running.measured)
    (answer,) = running.measured()
    assert "does not answer" in answer.reason
    assert (len(answer.circuits.paths), len(answer.light)) == (0, 0)
    hardware.may_read.set()
    running.node.measure(2)
    await eventually(lambda: len(running.measured()) == 2)
    assert running.measured()[1].reason == ""


async def test_a_question_that_was_not_begun_is_forgotten_with_its_session(
    run_node, hardware, order, paths, eventually
):
    running = await run_node(hardware)
    hardware.may_switch.clear()
    running.node.command(order(paths.ring))
    await hardware.switching.wait()
    running.node.measure(1)
    running.node.forget_command()
    hardware.may_switch.set()
    await running.answer()
    running.node.measure(2)
    await eventually(running.measured)
    assert [answer.question for answer in running.measured()] == [2]
