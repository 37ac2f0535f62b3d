"""Bugs that hosts of such modules have had, each by the number of its row in our list: this driver has none of them."""

import asyncio

import pytest

from ringlight.agents.drivers.cmis.driver import CmisSettings
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.profile import CdbMode, Durations, ModuleProfile
from ringlight.fabric.circuits import FaultClass, Path
from ringlight.fabric.errors import UnavailableError
from tests.agents.drivers.cmis.world import World
from tests.virtual_time import in_virtual_time

K = ModuleFaultKind
COMMANDS_ONLY = ModuleProfile(vendor_page=False, lane_switching=False)


def codes(readout):
    return {(fault.component, fault.code) for fault in readout.faults}


async def to_the_end(events):
    """Until hardware that is gone ends them."""
    async with asyncio.timeout(5):
        async for _ in events:
            pass


async def opened(world):
    """The driver, over modules that are up."""
    await world.driver.open()
    return world.driver


@in_virtual_time
async def test_row_01_a_page_that_was_left_selected_is_never_trusted():
    world = World()
    driver = await opened(world)
    for wires in world.wires[0]:
        wires.module.break_with(ModuleFault(K.NACK_RESTORE))
        await wires.transfer(bytes((126, 0, 0x11)), 0)  # somebody else's page

    assert (await driver.read()).circuits == (Path.LOOPBACK,)
    assert (await driver.switch(0, Path.PATH_1)).path is Path.PATH_1
    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_row_02_a_module_that_is_silent_while_it_executes_is_waited_for():
    world = World(profile=ModuleProfile(vendor_page=False, lane_switching=False, cdb=CdbMode.FOREGROUND))
    driver = await opened(world)
    for wires in world.wires[0]:
        wires.module.break_with(ModuleFault(K.CDB_SLOW, seconds=0.3))

    outcome, readout = await asyncio.gather(driver.switch(0, Path.PATH_2), driver.read())

    assert outcome.path is Path.PATH_2
    assert codes(readout) == set(), "what waited for its turn was not refused"
    await driver.close()


@in_virtual_time
async def test_row_03_commands_have_as_long_as_the_module_says():
    profile = ModuleProfile(vendor_page=False, lane_switching=False, durations=Durations(command=300))
    world = World(profile=profile)
    driver = await opened(world)
    world.module().break_with(ModuleFault(K.CDB_SLOW, seconds=0.3))
    assert (await driver.switch(0, Path.PATH_1)).path is Path.PATH_1

    world.module().break_with(ModuleFault(K.CDB_SLOW, seconds=2.0))
    assert (await driver.switch(0, Path.PATH_2)).path is Path.UNKNOWN
    await driver.close()


@in_virtual_time
async def test_row_04_one_lane_that_takes_longer_to_be_configured_is_waited_for():
    world = World()
    for wires in world.wires[0]:
        wires.module.break_with(ModuleFault(K.LANE_IN_PROGRESS, lanes=0x08, seconds=0.3))
    world.settle()
    now = asyncio.get_running_loop().time()
    world.module().write(bytes((126, 0, 0x10)), now)
    world.module().write(bytes((145, *[0] * 8)), now)  # nothing is configured
    world.module().write(bytes((143, 0xFF)), now)

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_row_05_deactivated_may_come_late():
    world = World()
    world.settle()
    world.module().break_with(ModuleFault(K.DEACTIVATED_LATE, seconds=0.2))
    now = asyncio.get_running_loop().time()
    world.module().write(bytes((126, 0, 0x10)), now)
    world.module().write(bytes((128, 0xFF)), now)

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    await driver.close()


@pytest.mark.parametrize("seed", range(3))
@in_virtual_time
async def test_row_06_init_pending_is_not_looked_at(seed):
    world = World(seed=seed)
    for wires in world.wires[0]:
        wires.module.break_with(ModuleFault(K.PENDING_AT_RANDOM))

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_row_07_a_module_that_cannot_leave_lanes_unused_comes_up():
    world = World()
    world.module().break_with(ModuleFault(K.REFUSES_UNUSED))
    world.settle()
    now = asyncio.get_running_loop().time()
    world.module().write(bytes((126, 0, 0x10)), now)
    world.module().write(bytes((145, *[0] * 8)), now)
    world.module().write(bytes((143, 0xFF)), now)
    world.settle()

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_row_08_a_module_that_is_found_on_its_way_down_is_given_its_time():
    world = World()
    world.settle()
    world.module().break_with(ModuleFault(K.DEACTIVATED_LATE, seconds=0.1))
    now = asyncio.get_running_loop().time()
    world.module().write(bytes((126, 0, 0x10)), now)
    world.module().write(bytes((128, 0xFF)), now)
    world.module().advance(now + 0.002)
    world.module().write(bytes((128, 0x00)), now + 0.002)  # whoever began it changed his mind

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_row_09_a_module_may_be_busy_after_each_write():
    world = World(modules=1)
    driver = await opened(world)
    world.module().break_with(ModuleFault(K.SLOW_WRITE, seconds=0.02))

    assert (await driver.switch(0, Path.PATH_1)).path is Path.PATH_1
    assert codes(await driver.read()) == set()
    await driver.close()


@pytest.mark.parametrize("kind", [K.BOOT_NACK, K.BOOT_GARBAGE])
@in_virtual_time
async def test_row_10_a_module_that_does_not_answer_yet_is_waited_for(kind):
    world = World()
    world.module().break_with(ModuleFault(kind, seconds=0.5))

    driver = await opened(world)

    assert (await driver.read()).circuits == (Path.LOOPBACK,)
    await driver.close()


@in_virtual_time
async def test_row_11_nothing_is_lost_by_flags_that_were_read_by_the_wrong_reader():
    world = World(settings=CmisSettings(poll=0.01, telemetry=0.02))
    driver = await opened(world)
    await driver.switch(0, Path.PATH_1)
    events = driver.events()

    for power, lit in ((-2.0, True), (-40.0, False), (-2.0, True)):
        for wires in world.wires[0]:
            wires.module.receive(Path.PATH_1, (power,) * 8, asyncio.get_running_loop().time())
        async with asyncio.timeout(5):
            event = await anext(events)
        assert (event.port, event.lit) == ((0, Path.PATH_1), lit)
    await driver.close()


@in_virtual_time
async def test_row_12_a_module_that_shows_page_00h_everywhere_is_foreign_and_never_written():
    world = World()
    world.module().break_with(ModuleFault(K.PAGE_00_ONLY))

    driver = await opened(world)

    readout = await driver.read()
    assert ("b0.m0", "module-foreign") in codes(readout)
    assert readout.circuits == (Path.UNKNOWN,)
    await driver.close()


@in_virtual_time
async def test_row_13_a_name_that_is_no_text_is_no_crash():
    world = World()
    world.module().break_with(ModuleFault(K.BAD_VENDOR))

    driver = await opened(world)

    fault = next(fault for fault in (await driver.read()).faults if fault.component == "b0.m0")
    assert fault.code == "module-foreign"
    assert "RING??LIGHT?" in fault.text
    await driver.close()


@in_virtual_time
async def test_row_14_a_module_that_was_replaced_is_identified_anew():
    world = World(settings=CmisSettings(telemetry=0.05))
    first = await world.driver.open()
    await world.driver.switch(0, Path.PATH_1)
    other = world.make("SN-other", 77, asyncio.get_running_loop().time())
    world.wires[0][1].module = other

    with pytest.raises(UnavailableError, match=r"b0\.m1 .* was restarted or replaced"):
        await to_the_end(world.driver.events())
    assert (await world.driver.read()).circuits == (Path.UNKNOWN,), "one on path 1, the new one on loopback"
    await world.driver.close()

    second = await world.driver.open()
    assert second.boot != first.boot
    await world.driver.close()


@in_virtual_time
async def test_row_15_what_a_host_left_behind_is_cleared_away():
    world = World()
    world.settle()
    now = asyncio.get_running_loop().time()
    for wires in world.wires[0]:
        wires.module.write(bytes((126, 0, 0x10)), now)
        wires.module.write(bytes((128, 0xFF)), now)
        wires.module.write(bytes((130, 0xFF)), now)
    world.settle()

    driver = await opened(world)

    assert codes(await driver.read()) == set()
    assert world.module().read(1, asyncio.get_running_loop().time(), 3)[0] >> 1 & 7 == 3
    await driver.switch(0, Path.PATH_1)
    assert max(world.module().emitted(Path.PATH_1)) > -5
    await driver.close()


@in_virtual_time
async def test_row_16_a_module_of_cmis_3_is_refused():
    world = World()
    world.module().break_with(ModuleFault(K.OLD_REVISION))

    driver = await opened(world)

    fault = next(fault for fault in (await driver.read()).faults if fault.component == "b0.m0")
    assert fault.code == "module-foreign"
    assert "CMIS 3.0" in fault.text
    await driver.close()


@in_virtual_time
async def test_a_page_that_is_stuck_is_that_modules_trouble_and_no_other():
    world = World(bundles=2)
    driver = await opened(world)
    await world.wires[0][0].transfer(bytes((126, 0, 0x11)), 0)
    world.module().break_with(ModuleFault(K.PAGE_STUCK))

    readout = await driver.read()

    assert readout.circuits == (Path.UNKNOWN, Path.LOOPBACK)
    assert codes(readout) == {("b0.m0", "module-page")}
    await driver.close()


@in_virtual_time
async def test_a_storm_of_refusals_is_weathered():
    world = World()
    for wires in world.wires[0]:
        wires.module.break_with(ModuleFault(K.NACK_STORM, amount=0.3))

    driver = await opened(world)

    for path in (Path.PATH_1, Path.PATH_2, Path.LOOPBACK):
        assert (await driver.switch(0, path)).path is path
    assert codes(await driver.read()) == set()
    await driver.close()


@pytest.mark.parametrize(
    ("kind", "code"), [(K.STUCK, "switch-failed"), (K.STUCK_SILENTLY, "switch-failed"), (K.HEATER_OPEN, "switch-stuck")]
)
@in_virtual_time
async def test_a_switch_that_does_not_move_is_told_until_it_does(kind, code):
    world = World()
    driver = await opened(world)
    world.module().break_with(ModuleFault(kind))

    outcome = await driver.switch(0, Path.PATH_1)
    assert outcome.path is Path.UNKNOWN, "one module moved, the other did not"
    faults = (await driver.read()).faults
    assert ("b0.m0", code) in {(fault.component, fault.code) for fault in faults}
    assert all(fault.fault_class is FaultClass.DEGRADED for fault in faults)

    world.module().mend(kind)
    assert (await driver.switch(0, Path.PATH_1)).path is Path.PATH_1
    await driver.read()
    assert codes(await driver.read()) == set()
    await driver.close()


@in_virtual_time
async def test_a_hot_module_is_told_and_told_to_be_well():
    world = World(settings=CmisSettings(poll=0.01, telemetry=60))
    driver = await opened(world)
    events = driver.events()
    world.module().break_with(ModuleFault(K.HOT, amount=45.0))

    async with asyncio.timeout(5):
        event = await anext(events)
        assert isinstance(event, FaultOpened)
        assert (event.fault.code, event.fault.fault_class) == ("module-hot", FaultClass.DEGRADED)
        world.module().mend(K.HOT)
        assert isinstance(await anext(events), FaultClosed)
    await driver.close()


@in_virtual_time
async def test_some_dark_lanes_are_no_light_and_are_named():
    world = World()
    driver = await opened(world)
    await driver.switch(0, Path.PATH_2)
    for wires in world.wires[0]:
        wires.module.receive(Path.PATH_2, (-2.0,) * 7 + (-40.0,), asyncio.get_running_loop().time())

    readout = await driver.read()

    assert readout.light[0, Path.PATH_2] is False
    fault = next(fault for fault in readout.faults if fault.component == "b0.m0")
    assert (fault.code, fault.fault_class) == ("lanes-dark", FaultClass.INFO)
    assert "lanes 8 see no light on PATH_2" in fault.text
    await driver.close()
