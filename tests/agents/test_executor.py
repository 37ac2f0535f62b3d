"""One command, applied and read back."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringlight.agents.executor import Executor
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.outcomes import ApplyCode, BundleCode


def codes(outcome):
    return [outcome.bundles[bundle] for bundle in sorted(outcome.bundles)]


async def test_only_bundles_that_differ_are_written(executor, hardware, order, paths):
    outcome = await executor.apply(order(paths.half))
    assert hardware.writes == [(0, Path.PATH_1)]
    assert outcome.code is ApplyCode.APPLIED
    assert codes(outcome) == [BundleCode.SWITCHED, BundleCode.UNCHANGED]
    assert outcome.readout.circuits == paths.half
    assert outcome.switch_seconds > 0


async def test_an_equal_table_writes_nothing(executor, hardware, order, paths):
    hardware.table = list(paths.ring)
    outcome = await executor.apply(order(paths.ring))
    assert hardware.writes == []
    assert (outcome.code, set(codes(outcome))) == (ApplyCode.UNCHANGED, {BundleCode.UNCHANGED})


async def test_the_same_command_again_writes_nothing_more(executor, hardware, order, paths):
    await executor.apply(order(paths.ring))
    outcome = await executor.apply(order(paths.ring))
    assert len(hardware.writes) == 2
    assert outcome.code is ApplyCode.UNCHANGED


async def test_a_stuck_bundle_fails_by_name_and_the_others_switch(executor, hardware, order, paths):
    hardware.stuck.add(1)
    outcome = await executor.apply(order(paths.ring))
    assert outcome.code is ApplyCode.FAILED
    assert codes(outcome) == [BundleCode.SWITCHED, BundleCode.STUCK]
    assert outcome.reason == "not as told: b1 stuck"
    assert outcome.readout.circuits == paths.half


async def test_a_bundle_that_does_not_answer_in_time(executor, hardware, order, paths):
    hardware.may_switch.clear()
    outcome = await executor.apply(order(paths.half))
    assert (outcome.code, codes(outcome)) == (ApplyCode.FAILED, [BundleCode.TIMEOUT, BundleCode.UNCHANGED])


async def test_a_bundle_that_switched_without_an_answer_is_as_it_is_read(executor, hardware, order, paths, monkeypatch):
    async def silent(bundle, path):
        hardware.table[bundle] = path
        raise UnavailableError("lost the reply")

    monkeypatch.setattr(hardware.driver, "switch", silent)
    outcome = await executor.apply(order(paths.ring))
    assert (outcome.code, set(codes(outcome))) == (ApplyCode.APPLIED, {BundleCode.SWITCHED})


async def test_hardware_that_cannot_be_read_is_not_written(executor, hardware, fences, order, paths):
    hardware.away = True
    outcome = await executor.apply(order(paths.ring))
    assert (outcome.code, set(codes(outcome)), outcome.readout) == (ApplyCode.FAILED, {BundleCode.TIMEOUT}, None)
    assert hardware.writes == []
    assert fences.fence.generations == {}


async def test_hardware_that_answers_too_slowly_is_not_written(executor, hardware, order, paths):
    hardware.may_read.clear()
    assert (await executor.apply(order(paths.ring))).readout is None
    assert hardware.writes == []


async def test_hardware_lost_before_the_read_back_is_no_success(executor, hardware, order, paths, monkeypatch):
    async def switch_and_go(bundle, path):
        outcome = await hardware._switch(bundle, path)
        hardware.away = True
        return outcome

    monkeypatch.setattr(hardware.driver, "switch", switch_and_go)
    outcome = await executor.apply(order(paths.half))
    assert (outcome.code, outcome.readout) == (ApplyCode.FAILED, None)


@pytest.mark.parametrize("table", [(), (Path.LOOPBACK,), (Path.LOOPBACK,) * 3, (Path.DARK, Path.LOOPBACK)])
async def test_a_table_that_does_not_fit_is_refused_untried(executor, hardware, fences, order, table):
    outcome = await executor.apply(order(table))
    assert (outcome.code, set(codes(outcome))) == (ApplyCode.BAD_TABLE, {BundleCode.NOT_TRIED})
    assert outcome.reason
    assert hardware.writes == []
    assert fences.fence.generations == {}


async def test_a_path_we_cannot_name_is_refused(executor, hardware, order):
    assert (await executor.apply(order((Path.UNKNOWN, Path.LOOPBACK)))).code is ApplyCode.BAD_TABLE
    assert hardware.writes == []


async def test_a_path_that_is_not_cabled_is_refused(hardware, fences, fast, order, paths):
    inventory = hardware.identity.inventory
    cut = replace(inventory, bundles=(replace(inventory.bundles[0], peers={Path.PATH_1: "n9/b1.p1"}),) * 2)
    executor = Executor(hardware.driver, cut, fences, fast)
    assert (await executor.apply(order(paths.other))).code is ApplyCode.BAD_TABLE
    assert (await executor.apply(order(paths.ring))).code is ApplyCode.APPLIED


async def test_a_stale_epoch_is_refused_with_what_is_read(executor, hardware, fences, order, paths):
    await fences.see(5)
    outcome = await executor.apply(order(paths.ring, epoch=4, generation=99))
    assert (outcome.code, outcome.readout.circuits) == (ApplyCode.STALE_EPOCH, paths.home)
    assert "epoch 5" in outcome.reason
    assert hardware.writes == []


async def test_a_stale_generation_is_refused(executor, hardware, order, paths):
    await executor.apply(order(paths.ring, generation=5))
    outcome = await executor.apply(order(paths.home, generation=4))
    assert outcome.code is ApplyCode.STALE_GENERATION
    assert hardware.table == list(paths.ring)


async def test_a_controller_that_is_outranked_while_its_command_begins_is_not_obeyed(
    executor, hardware, fences, order, paths
):
    hardware.may_read.clear()
    applying = asyncio.create_task(executor.apply(order(paths.ring, epoch=1)))
    await hardware.reading.wait()
    await fences.see(2)
    hardware.may_read.set()
    assert (await applying).code is ApplyCode.STALE_EPOCH
    assert hardware.writes == []


async def test_an_epoch_is_durable_before_the_first_write(*, executor, hardware, order, paths, tmp_path, monkeypatch):
    on_disk = []

    async def look(bundle, path):
        file = FenceFile(tmp_path, "a1")
        file.load()
        on_disk.append(file.fence.epoch)
        return await hardware._switch(bundle, path)

    monkeypatch.setattr(hardware.driver, "switch", look)
    await executor.apply(order(paths.half, epoch=8))
    assert on_disk == [8]


async def test_a_command_is_not_obeyed_when_the_fence_cannot_be_written(
    *, executor, hardware, fences, order, paths, monkeypatch
):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fences, "_replace", full)
    outcome = await executor.apply(order(paths.ring))
    assert outcome.code is ApplyCode.FAILED
    assert "No space left" in outcome.reason
    assert hardware.writes == []


async def test_an_unconfirmed_change_goes_back(executor, order, paths):
    await executor.apply(order(paths.ring, revert_after=5))
    assert executor.unconfirmed is not None
    outcome = await executor.revert()
    assert (outcome.code, outcome.readout.circuits) == (ApplyCode.REVERTED, paths.home)
    assert executor.unconfirmed is None
    assert await executor.revert() is None


async def test_a_confirmed_change_stands(executor, hardware, order, paths):
    await executor.apply(order(paths.ring, transaction="t", revert_after=5))
    executor.confirm(epoch=1, transaction="t")
    assert await executor.revert() is None
    assert hardware.table == list(paths.ring)


async def test_a_confirmation_of_something_else_means_nothing(executor, order, paths):
    await executor.apply(order(paths.ring, transaction="t", revert_after=5, epoch=3))
    executor.confirm(epoch=3, transaction="other")
    executor.confirm(epoch=2, transaction="t")
    assert executor.unconfirmed is not None


async def test_stacked_unconfirmed_changes_go_back_to_the_last_confirmed_table(executor, hardware, order, paths):
    await executor.apply(order(paths.half, generation=1, transaction="a", revert_after=5))
    executor.confirm(epoch=1, transaction="a")
    await executor.apply(order(paths.ring, generation=2, revert_after=5))
    await executor.apply(order(paths.other, generation=3, revert_after=5))
    await executor.revert()
    assert hardware.table == list(paths.half)


async def test_a_change_driven_by_a_fault_stands_and_ends_the_waiting(executor, hardware, order, paths):
    await executor.apply(order(paths.half, generation=1, revert_after=5))
    await executor.apply(order(paths.ring, generation=2))
    assert await executor.revert() is None
    assert hardware.table == list(paths.ring)


async def test_a_refused_command_leaves_a_change_waiting(executor, order, paths):
    waiting = order(paths.ring, generation=5, revert_after=5)
    await executor.apply(waiting)
    await executor.apply(order(paths.home, generation=4))
    await executor.apply(order((), generation=6))
    assert executor.unconfirmed is waiting


async def test_a_change_that_cannot_be_undone_now_waits_on(executor, hardware, order, paths):
    await executor.apply(order(paths.ring, revert_after=5))
    hardware.away = True
    assert (await executor.revert()).code is ApplyCode.FAILED
    hardware.come_back()
    assert (await executor.revert()).code is ApplyCode.REVERTED
    assert hardware.table == list(paths.home)


async def test_an_undoing_that_could_not_be_read_back_waits_on(executor, hardware, order, paths, monkeypatch):
    await executor.apply(order(paths.ring, revert_after=5))

    async def go(_bundle, _path):
        hardware.away = True
        raise UnavailableError("gone")

    with monkeypatch.context() as gone:
        gone.setattr(hardware.driver, "switch", go)
        assert (await executor.revert()).code is ApplyCode.FAILED
    hardware.come_back()
    await executor.revert()
    assert hardware.table == list(paths.home)


async def test_an_undoing_that_is_cancelled_waits_on(executor, hardware, order, paths):
    await executor.apply(order(paths.ring, revert_after=5))
    hardware.may_switch.clear()
    hardware.switching.clear()
    undoing = asyncio.create_task(executor.revert())
    await hardware.switching.wait()
    undoing.cancel()
    await asyncio.wait({undoing})
    hardware.may_switch.set()
    await executor.revert()
    assert hardware.table == list(paths.home)


TABLES = st.tuples(*[st.sampled_from([Path.LOOPBACK, Path.PATH_1, Path.PATH_2])] * 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), TABLES), max_size=12))
async def test_the_hardware_holds_the_last_command_that_was_not_stale(make_hardware, fast, order, tmp_path, commands):
    hardware, fences = make_hardware(), FenceFile(tmp_path, "a1")
    executor = Executor(hardware.driver, hardware.identity.inventory, fences, fast)
    epoch, generation, table = 0, 0, tuple(hardware.table)
    for new_epoch, new_generation, new_table in commands:
        writes = len(hardware.writes)
        outcome = await executor.apply(order(new_table, epoch=new_epoch, generation=new_generation))
        if new_epoch < epoch or new_generation < generation:
            assert outcome.code in (ApplyCode.STALE_EPOCH, ApplyCode.STALE_GENERATION)
            assert len(hardware.writes) == writes
        else:
            assert len(hardware.writes) - writes == sum(a is not b for a, b in zip(table, new_table, strict=True))
            generation, table = new_generation, new_table
        epoch = max(epoch, new_epoch)  # a refused command shows, too, which controllers there are
        assert outcome.readout.circuits == tuple(hardware.table) == table
