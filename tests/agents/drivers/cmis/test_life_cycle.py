"""Opening, losing, replacing and closing: what is the same afterwards, and what is not."""

import asyncio

import pytest

from ringlight.agents.drivers.cmis.driver import CmisSettings
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.fabric.circuits import FaultClass, Path
from ringlight.fabric.errors import UnavailableError
from tests.agents.drivers.cmis.world import Wires, World
from tests.virtual_time import in_virtual_time

K = ModuleFaultKind


async def to_the_end(events) -> None:
    async with asyncio.timeout(60):
        async for _ in events:
            pass


async def ended(events) -> str:
    with pytest.raises(UnavailableError) as caught:
        await to_the_end(events)
    return str(caught.value)


@in_virtual_time
async def test_opening_twice_without_a_restart_is_the_same_node():
    world = World(bundles=2)
    first = await world.driver.open()
    await world.driver.switch(0, Path.PATH_1)
    await world.driver.close()
    second = await world.driver.open()

    assert first == second
    assert (await world.driver.read()).circuits == (Path.PATH_1, Path.LOOPBACK), "opening changes no circuit"
    await world.driver.close()


@in_virtual_time
async def test_a_module_that_was_restarted_meanwhile_makes_it_another():
    world = World(bundles=2)
    first = await world.driver.open()
    await world.driver.close()
    world.module(1, 1).restart(asyncio.get_running_loop().time())
    second = await world.driver.open()

    assert second.boot != first.boot
    await world.driver.close()


@in_virtual_time
async def test_one_dead_module_is_a_fault_and_the_rest_is_served():
    world = World(bundles=2)
    world.module(0, 1).break_with(ModuleFault(K.DEAD))
    await world.driver.open()

    readout = await world.driver.read()
    assert readout.circuits == (Path.UNKNOWN, Path.LOOPBACK)
    (fault,) = readout.faults
    assert (fault.component, fault.code, fault.fault_class) == ("b0.m1", "module-dead", FaultClass.FATAL)
    assert (await world.driver.switch(1, Path.PATH_1)).path is Path.PATH_1
    assert (await world.driver.switch(0, Path.PATH_1)).path is Path.UNKNOWN
    await world.driver.close()


@in_virtual_time
async def test_a_module_that_comes_up_later_has_the_node_opened_anew():
    world = World(settings=CmisSettings(telemetry=60))
    world.module(0, 1).break_with(ModuleFault(K.DEAD))
    first = await world.driver.open()
    world.module(0, 1).mend(K.DEAD)

    assert "came up" in await ended(world.driver.events())
    await world.driver.close()
    second = await world.driver.open()
    assert second.boot != first.boot
    assert (await world.driver.read()).circuits == (Path.LOOPBACK,)
    await world.driver.close()


@in_virtual_time
async def test_a_module_that_restarts_ends_the_events():
    world = World(settings=CmisSettings(telemetry=1.0))
    await world.driver.open()
    await world.driver.switch(0, Path.PATH_2)
    world.module().restart(asyncio.get_running_loop().time())

    assert "was restarted or replaced" in await ended(world.driver.events())
    await world.driver.close()


@in_virtual_time
async def test_without_any_way_to_a_module_the_node_is_gone():
    world = World()
    for wires in world.wires[0]:
        wires.gone = True
    with pytest.raises(UnavailableError, match="the bus is gone"):
        await world.driver.open()
    await world.driver.close()


@in_virtual_time
async def test_a_bus_that_goes_ends_everything_that_waits_on_it():
    world = World(settings=CmisSettings(poll=0.1))
    await world.driver.open()
    events = world.driver.events()
    for wires in world.wires[0]:
        wires.gone = True

    assert "the bus is gone" in await ended(events)
    with pytest.raises(UnavailableError):
        await world.driver.read()
    with pytest.raises(UnavailableError):
        await world.driver.switch(0, Path.PATH_1)
    await world.driver.close()


@in_virtual_time
async def test_closing_while_it_opens_leaves_nothing_running():
    world = World()
    opening = asyncio.create_task(world.driver.open())
    await asyncio.sleep(0.001)
    opening.cancel()
    await asyncio.wait([opening])
    await world.driver.close()

    assert not any(wires.opened for wires in world.wires[0])
    assert len(asyncio.all_tasks()) == 1


@in_virtual_time
async def test_closing_ends_the_events_and_every_task():
    world = World(bundles=2)
    await world.driver.open()
    events = world.driver.events()
    await world.driver.close()

    assert "were let go" in await ended(events)
    assert len(asyncio.all_tasks()) == 1


@in_virtual_time
async def test_a_module_that_asks_is_looked_at_at_once():
    world = World(settings=CmisSettings(poll=1000.0, telemetry=1000.0))
    await world.driver.open()
    await world.driver.switch(0, Path.PATH_1)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for wires in world.wires[0]:
        wires.module.receive(Path.PATH_1, (-2.0,) * 8, loop.time())
        wires.asked.set()

    event = await anext(world.driver.events())

    assert (event.port, event.lit) == ((0, Path.PATH_1), True)
    assert loop.time() - begun < 0.01
    await world.driver.close()


@in_virtual_time
async def test_powers_are_those_at_the_port():
    world = World()
    await world.driver.open()
    await world.driver.switch(0, Path.PATH_1)
    for wires in world.wires[0]:
        wires.module.receive(Path.PATH_1, (-2.5,) * 8, asyncio.get_running_loop().time())

    powers = await world.driver.powers()

    assert set(powers) == {(0, Path.PATH_1)}
    sent = min(min(wires.module.emitted(Path.PATH_1)) for wires in world.wires[0])
    assert powers[0, Path.PATH_1].sent == pytest.approx(sent, abs=0.02)
    assert powers[0, Path.PATH_1].received == pytest.approx(-2.5, abs=0.02)
    families = {measurement.family for measurement in world.driver.measurements()}
    assert "ringlight_module_temperature_celsius" in families
    await world.driver.close()


class SlowWires(Wires):
    """Wires on which a transfer takes a while."""

    seconds = 0.0

    async def transfer(self, data: bytes, length: int) -> bytes:
        await asyncio.sleep(self.seconds)
        return await super().transfer(data, length)


@in_virtual_time
async def test_a_look_that_was_overtaken_by_a_later_one_undoes_nothing():
    world = World(settings=CmisSettings(poll=1000.0, telemetry=1000.0), wires=SlowWires)
    await world.driver.open()
    await world.driver.switch(0, Path.PATH_1)
    await asyncio.sleep(1.0)
    quick, slow = world.wires[0]
    slow.seconds = 0.01
    reading = asyncio.create_task(world.driver.read())
    await asyncio.sleep(0.005)  # the quick one was looked at, in the dark; the slow one was not yet
    for wires in (quick, slow):
        wires.module.receive(Path.PATH_1, (-2.0,) * 8, asyncio.get_running_loop().time())
    quick.asked.set()

    assert (await reading).light[0, Path.PATH_1] is True
    await world.driver.close()
