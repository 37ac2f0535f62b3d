"""The driver against an emulated switch, over real TCP."""

import asyncio
import logging

import pytest

from ringlight.agents.drivers.polatis import live, metrics, shared
from ringlight.agents.drivers.polatis.readings import BOOT_MODE_DARK, EGRESS_TAKEN, PORT_DISABLED, PORT_FAILED
from ringlight.agents.ports import FaultClosed, FaultOpened, LightChanged
from ringlight.agents.settings import AgentSettings
from ringlight.emulator.polatis.errors import ScpiError
from ringlight.emulator.polatis.matrix import MOVE_SECONDS, BootMode, PortState
from ringlight.fabric.circuits import FaultClass, Path
from ringlight.fabric.errors import InvalidError, UnavailableError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.rings import chain_hops, chain_tables

L, P1, P2, DARK = Path.LOOPBACK, Path.PATH_1, Path.PATH_2, Path.DARK
PATIENCE = 10.0  # seconds; reached only when something is broken


async def _switch_all(drivers, tables):
    """Every bundle of every node at once, as a transaction does; what each selects then."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            (node, bundle): group.create_task(drivers[node].switch(bundle, path))
            for node, table in tables.items()
            for bundle, path in enumerate(table)
        }
    return {place: task.result() for place, task in tasks.items()}


def _ring(lab, chain):
    return {lab.wiring.name(position): table for position, table in chain_tables(lab.wiring, chain).items()}


async def _until(events, wanted):
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            if wanted(event):
                return event
    raise AssertionError("the events ended")


async def _no_answer(awaitable):
    with pytest.raises(UnavailableError) as caught:
        await awaitable
    return str(caught.value)


async def test_opening_identifies_and_opening_reading_and_closing_move_nothing(lab):
    lab.matrix.connect({1: 18, 5: 30}, asyncio.get_running_loop().time() - 1.0)
    driver = lab.drivers()("n3")
    identity = await driver.open()
    assert (identity.fabric, identity.boot) == ("lab", "4711")
    assert identity.inventory == inventory_of(lab.wiring, 3)
    assert (await driver.read()).circuits == (DARK, DARK)
    await driver.close()
    assert lab.matrix.moves == 1
    assert lab.connections() == {1: 18, 5: 30}


async def test_loopback_is_a_bundles_own_ingress_on_its_own_egress(lab):
    drivers = await lab.open_all()
    outcome = await drivers["n2"].switch(1, L)
    assert outcome.path is L
    assert 0.025 <= outcome.seconds < 0.5
    assert lab.connections() == {6: 22}
    assert (await drivers["n2"].read()).circuits == (DARK, L)


async def test_both_ends_together_light_a_ring_and_one_command_moves_it(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, dict.fromkeys(drivers, (L, L)))
    assert lab.matrix.moves == 1, "sixteen bundles are one command"
    tables = _ring(lab, (0, 1, 3, 4))
    outcomes = await _switch_all(drivers, tables)
    assert {place: outcome.path for place, outcome in outcomes.items()} == {
        (node, bundle): path for node, table in tables.items() for bundle, path in enumerate(table)
    }
    assert lab.matrix.moves == 3, "one to let go, one to make"
    for hop in chain_hops(lab.wiring, (0, 1, 3, 4)):
        for end in (hop.low, hop.high):
            assert (await drivers[lab.wiring.name(end.position)].read()).light[end.bundle, end.path]
    assert all(lab.connections()[i] == 16 + i for i in (5, 6, 11, 12, 13, 14, 15, 16)), "the others never moved"


async def test_one_end_alone_lights_nothing_and_takes_nothing(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, dict.fromkeys(drivers, (L, L)))
    outcome = await drivers["n0"].switch(0, P1)
    assert outcome.path is DARK, "its neighbour is in loopback, which may be the end of somebody's ring"
    assert lab.connections()[4] == 20, "n1/b1 is as it was"
    readout = await drivers["n0"].read()
    assert not any(readout.light.values())
    (fault,) = readout.faults
    assert (fault.code, fault.component, fault.fault_class) == (EGRESS_TAKEN, "b0", FaultClass.INFO)
    assert "n1/b1 selects LOOPBACK" in fault.text
    await drivers["n0"].switch(0, L)
    assert (await drivers["n0"].read()).faults == ()


async def test_a_neighbour_that_is_told_a_little_later_is_waited_for(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, {"n0": (L, L), "n1": (L, L)})
    first = asyncio.create_task(drivers["n0"].switch(0, P1))
    async with asyncio.timeout(PATIENCE):
        while lab.connections().get(1):  # until it has let go
            await drivers["n5"].read()
    second = await drivers["n1"].switch(1, P1)
    assert ((await first).path, second.path) == (P1, P1)
    assert (await drivers["n0"].read()).light[0, P1]


async def test_a_neighbour_of_another_agent_is_waited_for_too(lab):
    ours, theirs = await lab.open_all(), await lab.open_all()
    await _switch_all(ours, {"n0": (L, L), "n1": (L, L)})
    async with asyncio.TaskGroup() as group:
        one = group.create_task(ours["n0"].switch(0, P1))
        other = group.create_task(theirs["n1"].switch(1, P1))
    assert (one.result().path, other.result().path) == (P1, P1)


async def test_a_bundle_may_refuse_the_light_of_a_node_that_is_led_around(lab):
    """The node in the middle is dead and gets no command: its light must not be in the way of its neighbours."""
    drivers = await lab.open_all()
    await _switch_all(drivers, _ring(lab, (0, 1, 2)))
    tables = _ring(lab, (0, 2))
    outcomes = await _switch_all(drivers, tables)
    assert all(outcome.path is tables[node][bundle] for (node, bundle), outcome in outcomes.items())
    assert (await drivers["n1"].read()).circuits == (DARK, DARK)
    assert (await drivers["n0"].read()).light[0, P2]


async def test_a_path_that_leads_nowhere_is_refused_and_nothing_moves(lab):
    driver = await lab.open(lab.drivers()("n0"))
    with pytest.raises(InvalidError, match="leads nowhere"):
        await driver.switch(0, Path.UNKNOWN)
    assert lab.matrix.moves == 0


async def test_a_set_that_was_ignored_in_silence_is_found_out_and_tried_again(lab):
    driver = await lab.open(lab.drivers()("n0"))
    lab.matrix.deaf_for = 1
    assert (await driver.switch(0, L)).path is L
    lab.matrix.deaf_for = 2
    assert (await driver.switch(1, L)).path is DARK
    values = {m.family: m.value for m in driver.measurements()}
    assert (values[metrics.MOVES], values[metrics.REFUSALS]) == (1, 1)


async def test_a_failed_port_is_a_fault_and_keeps_nobody_else_from_moving(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, {"n0": (L, L)})
    events = drivers["n0"].events()
    lab.matrix.set_state([17], PortState.FAILED)
    opened = await _until(events, lambda event: isinstance(event, FaultOpened))
    assert (opened.fault.code, opened.fault.component) == (PORT_FAILED, "b0.m0")
    assert opened.fault.fault_class is FaultClass.FATAL
    moves = lab.matrix.moves
    outcomes = await _switch_all(drivers, {"n1": (L, P1), "n2": (L, L)})
    assert {place: outcome.path for place, outcome in outcomes.items()} == {
        ("n1", 0): L,
        ("n1", 1): DARK,  # whose path leads to the broken port
        ("n2", 0): L,
        ("n2", 1): L,
    }
    assert lab.matrix.moves == moves + 1
    assert not lab.instrument.errors, "the switch was not even asked for what it cannot do"
    (fault,) = (await drivers["n0"].read()).faults
    assert fault == opened.fault
    lab.matrix.mend([17])
    assert await _until(events, lambda event: isinstance(event, FaultClosed)) == FaultClosed(opened.fault.id)


async def test_a_refusal_of_the_switch_is_counted_and_tried_again(lab):
    """Somebody else takes the port between our look and our command."""
    driver = await lab.open(lab.drivers()("n0"))
    connect = lab.matrix.connect

    def too_late(pairs, now):
        lab.matrix.connect = connect
        connect({9: 17}, now - 1.0)
        connect(pairs, now)

    lab.matrix.connect = too_late
    assert (await driver.switch(0, L)).path is L, "and its own receiver it may take back"
    assert {m.family: m.value for m in driver.measurements()}[metrics.ERRORS] == 1
    assert 9 not in lab.connections()


async def test_a_disabled_port_is_a_fault_that_kills_nothing(lab):
    driver = await lab.open(lab.drivers()("n0"))
    lab.matrix.set_state([2], PortState.DISABLED)
    (fault,) = (await driver.read()).faults
    assert (fault.code, fault.component, fault.fault_class) == (PORT_DISABLED, "b1.m0", FaultClass.DEGRADED)


async def test_what_another_client_moves_is_reported_as_light(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, _ring(lab, (0, 1)))
    events = drivers["n0"].events()
    lab.matrix.disconnect([4], [], asyncio.get_running_loop().time())  # n1/b1 sends nowhere
    wanted = LightChanged((0, P1), False)
    assert await _until(events, lambda event: event == wanted)
    assert (await drivers["n1"].read()).circuits == (L, DARK)


async def test_monitors_tell_light_from_a_cross_connect(lab):
    drivers = await lab.open_all(light_above=-20.0)
    await _switch_all(drivers, _ring(lab, (0, 1)))
    events = drivers["n0"].events()
    assert (await drivers["n0"].read()).light[0, P1]
    powers = await drivers["n0"].powers()
    assert set(powers) == {(0, P1)}, "the other bundle is in loopback"
    assert powers[0, P1].sent == 0.0
    assert -2.0 < powers[0, P1].received < -0.5
    lab.matrix.send([4], None)  # the transceiver of n1/b1 is off
    await _until(events, lambda event: event == LightChanged((0, P1), False))
    assert (await drivers["n0"].read()).circuits == (P1, L)
    lab.matrix.send([4], -25.0)
    assert not (await drivers["n0"].read()).light[0, P1], "too weak is no light"
    lab.matrix.send([4], -5.0)
    await _until(events, lambda event: event == LightChanged((0, P1), True))


async def test_without_monitors_nothing_is_measured(lab):
    driver = await lab.open(lab.drivers()("n0"))
    await driver.switch(0, L)
    assert await driver.powers() == {}
    assert {m.family for m in driver.measurements()}.isdisjoint({metrics.POWER})


async def test_measurements_are_of_declared_families_with_their_labels(lab):
    drivers = await lab.open_all(light_above=-20.0)
    await drivers["n1"].switch(0, L)
    families = {family.name: family for family in metrics.FAMILIES}
    measured = drivers["n1"].measurements()
    assert {m.family for m in measured} == set(families)
    for measurement in measured:
        assert set(measurement.labels) == set(families[measurement.family].labels)
    ports = {m.labels["port"] for m in measured if m.family == metrics.POWER}
    assert ports == {"3", "4", "19", "20"}


async def test_a_boot_mode_that_forgets_is_a_word_of_warning_once(lab, caplog):
    caplog.set_level(logging.WARNING)
    lab.matrix.boot_mode = BootMode.DARK
    drivers = await lab.open_all()
    (fault,) = (await drivers["n4"].read()).faults
    assert (fault.code, fault.fault_class) == (BOOT_MODE_DARK, FaultClass.INFO)
    assert len([record for record in caplog.records if "boot mode DARK" in record.message]) == 1


async def test_a_boot_mode_that_was_corrected_closes_the_fault(lab, monkeypatch):
    monkeypatch.setattr(live, "BOOT_MODE_EVERY", 0.1)
    lab.matrix.boot_mode = BootMode.DARK
    driver = await lab.open(lab.drivers()("n4"))
    events = driver.events()
    assert len((await driver.read()).faults) == 1
    lab.matrix.boot_mode = BootMode.AUTOMATIC
    assert await _until(events, lambda event: isinstance(event, FaultClosed)) == FaultClosed(BOOT_MODE_DARK)


# -- connections that break --------------------------------------------------------------------------------------------


async def test_all_nodes_share_one_connection(lab):
    drivers = await lab.open_all()
    (serving,) = lab.server._clients.values()
    for driver in drivers.values():
        assert not serving.done()
        await driver.close()
    async with asyncio.timeout(PATIENCE):
        await serving
    assert not lab.server._clients


async def test_a_dropped_connection_ends_the_events_and_can_be_opened_again(lab):
    drivers = await lab.open_all()
    await drivers["n0"].switch(0, L)
    lab.server._drop_all()
    for driver in drivers.values():
        assert "connection" in await _no_answer(_until(driver.events(), lambda _event: False))
        await driver.close()
    async with asyncio.TaskGroup() as group:
        for driver in drivers.values():
            group.create_task(driver.open())
    assert (await drivers["n0"].read()).circuits == (L, DARK)
    assert {m.family: m.value for m in drivers["n7"].measurements()}[metrics.CONNECTIONS] == 2


async def test_a_switch_that_says_nothing_is_gone_in_time_and_nobody_waits_for_ever(lab):
    drivers = await lab.open_all(answer_within=0.1)
    connect = lab.matrix.connect

    def and_then_silence(pairs, now):
        connect(pairs, now)
        lab.instrument.silent_until = float("inf")

    lab.matrix.connect = and_then_silence
    async with asyncio.timeout(PATIENCE):
        async with asyncio.TaskGroup() as group:
            for driver in drivers.values():
                group.create_task(_no_answer(driver.switch(0, L)))
        for driver in drivers.values():
            await _no_answer(driver.read())
    assert lab.connections()[1] == 17, "it obeyed all the same: nobody may think that nothing happened"
    with pytest.raises(UnavailableError, match="did not answer"):
        await lab.drivers(answer_within=0.1)("n0").open()


async def test_a_switch_that_was_there_is_waited_for_and_all_nodes_are_back_at_the_same_moment(lab):
    drivers = await lab.open_all()
    address = lab.server.address
    await lab.server.stop()
    for driver in drivers.values():
        await driver.close()
    loop, opened_at = asyncio.get_running_loop(), []

    async def come_back(driver, pause):
        await asyncio.sleep(pause)
        await driver.open()
        opened_at.append(loop.time())

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for number, driver in enumerate(drivers.values()):  # each after a pause of its own, as nodes do
            group.create_task(come_back(driver, AgentSettings().backoff_first * number / 8))
        while not drivers["n0"]._switch._failures:  # noqa: ASYNC110 - nobody tells of an attempt that failed
            await asyncio.sleep(0.001)
        await lab.server.start(address)
    assert max(opened_at) - min(opened_at) < AgentSettings().backoff_first / 4
    assert drivers["n0"]._switch.tally.connections == 2
    assert len({driver._live for driver in drivers.values()}) == 1


async def test_a_switch_that_stays_away_is_given_up_before_the_agent_gives_up(lab):
    assert AgentSettings().open_timeout > shared.REGAIN_SECONDS + shared._BACKOFF_CAP + 0.4
    driver = lab.drivers(answer_within=0.1)("n0")
    await driver.open()
    await lab.server.stop()
    await driver.close()
    async with asyncio.timeout(AgentSettings().open_timeout):
        assert "does not answer" in await _no_answer(driver.open())


async def test_nodes_that_read_before_they_select_still_move_together(lab):
    """As agents do: each reads first, and the first one to be answered must not move alone."""
    drivers = await lab.open_all()

    async def obey(driver):
        await driver.read()
        async with asyncio.TaskGroup() as group:
            for bundle in (0, 1):
                group.create_task(driver.switch(bundle, L))

    async with asyncio.TaskGroup() as group:
        for driver in drivers.values():
            group.create_task(obey(driver))
            await asyncio.sleep(0)  # messages of a stream come one a turn
    assert lab.matrix.moves == 1


async def test_a_mistake_of_ours_is_logged_and_leaves_nobody_waiting(lab, monkeypatch, caplog):
    driver = await lab.open(lab.drivers()("n0"))
    monkeypatch.setattr(live, "plan_moves", lambda *_args, **_more: 1 / 0)
    assert "ended" in await _no_answer(driver.switch(0, L))
    await driver.close()
    assert "ZeroDivisionError" in caplog.text


async def test_a_slow_switch_is_not_gone(lab):
    drivers = await lab.open_all(answer_within=0.1)
    lab.matrix.slower = 0.3
    outcome = await drivers["n0"].switch(0, L)
    assert (outcome.path, outcome.seconds > 0.3) == (L, True)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.15):  # an agent has less patience than we
            await drivers["n2"].switch(0, L)
    assert (await drivers["n2"].read()).circuits == (L, DARK), "and reads what came of it"
    assert drivers["n0"]._switch.tally.connections == 1


async def test_nodes_that_come_back_at_once_share_an_attempt(lab):
    made = lab.drivers(address="127.0.0.1:1", answer_within=0.2)
    drivers = [made(f"n{i}") for i in range(8)]
    troubles = await asyncio.gather(*(driver.open() for driver in drivers), return_exceptions=True)
    assert all(isinstance(trouble, UnavailableError) for trouble in troubles)
    assert drivers[0]._switch._failures == 1
    for driver in drivers:
        await driver.close()


async def test_a_power_cycle_in_boot_mode_dark_is_read_as_it_is(lab):
    lab.matrix.boot_mode = BootMode.DARK
    driver = lab.drivers()("n0")
    await driver.open()
    await driver.switch(0, L)
    lab.matrix.lose_power()
    assert (await driver.read()).circuits == (DARK, DARK)
    await driver.close()


async def test_a_wish_that_nobody_waits_for_any_more_is_not_carried_out(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, {"n0": (L, L), "n1": (L, L)})
    waiting = asyncio.create_task(drivers["n0"].switch(0, P1))
    async with asyncio.timeout(PATIENCE):
        while lab.connections().get(1):
            await drivers["n5"].read()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await drivers["n1"].switch(1, P1)).path is P1
    await drivers["n5"].read()
    assert 1 not in lab.connections(), "who gave up does not move later"


async def test_who_is_told_something_else_meanwhile_hears_so(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, {"n0": (L, L), "n1": (L, L)})
    waiting = asyncio.create_task(drivers["n0"].switch(0, P1))
    async with asyncio.timeout(PATIENCE):
        while lab.connections().get(1):
            await drivers["n5"].read()
    assert (await drivers["n0"].switch(0, L)).path is L
    assert "something else" in await _no_answer(waiting)


async def test_waiting_ends_before_the_agent_gives_up(lab):
    drivers = await lab.open_all()
    await _switch_all(drivers, dict.fromkeys(drivers, (L, L)))
    async with asyncio.timeout(AgentSettings().switch_timeout):
        assert (await drivers["n0"].switch(0, P1)).path is DARK
    moves = 2 * MOVE_SECONDS[1]  # one to let go, one to make
    assert live.PATIENCE + live.MOST_GATHER + moves + live.RECHECK < AgentSettings().switch_timeout


# -- strangers ---------------------------------------------------------------------------------------------------------


async def test_another_serial_number_is_left_alone(lab):
    assert "4711, not 42" in await _no_answer(lab.drivers(serial="42")("n0").open())


async def test_a_smaller_switch_than_the_file_says_is_left_alone(lab):
    lab.instrument.matrix.inputs = 15
    text = await _no_answer(lab.drivers()("n0").open())
    assert "ingresses 1..15" in text
    assert "port 16, 32" in text


async def test_a_switch_without_monitors_cannot_be_asked_for_light(lab):
    lab.instrument.model = "I-OST-16x16-LA1"
    assert "no power monitors" in await _no_answer(lab.drivers(light_above=-20.0)("n0").open())
    await (await lab.open(lab.drivers()("n0"))).read()


async def test_errors_of_other_clients_are_not_ours(lab):
    lab.instrument.errors.put(ScpiError(-113, "Undefined header"))
    driver = await lab.open(lab.drivers()("n0"))
    assert {m.family: m.value for m in driver.measurements()}[metrics.ERRORS] == 0
