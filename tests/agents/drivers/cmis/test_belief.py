"""A fault in the middle of a switch never leaves the driver telling a path that the modules do not have.

Every transfer of a switch is struck once, in every way, for every way to move a switch. Whatever `switch` returned and
`read` says afterwards: it is what all modules of the bundle really select, or it is UNKNOWN.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis.driver import CmisSettings
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import CdbMode, ModuleProfile
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import UnavailableError
from tests.agents.drivers.cmis.world import Wires, World
from tests.virtual_time import in_virtual_time, run_in_virtual_time

K = ModuleFaultKind
_NO_PAGES = ModuleProfile(vendor_page=False, lane_switching=False)
PROFILES = {
    "ocstrx-b0": ModuleProfile(),
    "cmis-6d": ModuleProfile(vendor_page=False),
    "cdb background": _NO_PAGES,
    "cdb foreground": replace(_NO_PAGES, cdb=CdbMode.FOREGROUND),
}
STRIKES: dict[str, Callable[[Module], None]] = {
    "dead": lambda module: module.break_with(ModuleFault(K.DEAD)),
    "restart": lambda module: module.restart(_now()),
    "stuck": lambda module: module.break_with(ModuleFault(K.STUCK)),
    "stuck silently": lambda module: module.break_with(ModuleFault(K.STUCK_SILENTLY)),
    "partial": lambda module: module.break_with(ModuleFault(K.PARTIAL, lanes=0x0F)),
    "slow": lambda module: module.break_with(ModuleFault(K.SLOW, seconds=0.03)),
    "page stuck": lambda module: module.break_with(ModuleFault(K.PAGE_STUCK)),
    "page moved": lambda module: module.write(bytes((126, 0, 0x10)), _now()),
}


def _now() -> float:
    return asyncio.get_running_loop().time()


class Struck(Wires):
    """Wires on which something happens just before a transfer."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.strike_at = -1
        self.strike: Callable[[Module], None] = lambda _: None
        self.gone_at = -1

    async def transfer(self, data: bytes, length: int) -> bytes:
        if self.transfers == self.gone_at:
            self.gone = True
        if self.transfers == self.strike_at:
            try:
                self.strike(self.module)
            except Exception:  # noqa: BLE001 - a module that does not answer cannot have its page moved
                self.strike_at += 1
        return await super().transfer(data, length)


def truth(world: World, bundle: int = 0) -> Path:
    """What the modules of a bundle really select once they have come to rest."""
    world.settle()
    paths = {wires.module.path() for wires in world.wires[bundle]}
    return paths.pop() if len(paths) == 1 else Path.UNKNOWN


async def outcome(world: World, path: Path) -> Path:
    """What the driver says of a switch."""
    try:
        return (await world.driver.switch(0, path)).path
    except UnavailableError:
        return Path.UNKNOWN


async def believed(world: World) -> Path:
    """What the driver says when it is asked."""
    try:
        return (await world.driver.read()).circuits[0]
    except UnavailableError:
        return Path.UNKNOWN


async def opened(profile: ModuleProfile, seed: int = 1) -> World:
    """Two modules and their driver, which has measured them and will not look at them again by itself.

    So whatever strikes a module strikes it before what is said of it, and not between that and the assertion.
    """
    quiet = CmisSettings(poll=1000.0, telemetry=1000.0)
    world = World(modules=2, profile=profile, seed=seed, settings=quiet, wires=Struck)
    await world.driver.open()
    await asyncio.sleep(1.0)
    return world


async def length_of_a_switch(profile: ModuleProfile) -> tuple[int, int]:
    """Numbers of the first transfer of a switch, and of the one after its last."""
    world = await opened(profile)
    first = world.wires[0][0].transfers
    await world.driver.switch(0, Path.PATH_1)
    await world.driver.close()
    return first, world.wires[0][0].transfers


async def check(profile: ModuleProfile, prepare: Callable[[Struck], None]) -> None:
    """Switch with a mishap; what is told must be true, at once and later."""
    world = await opened(profile)
    prepare(world.wires[0][0])
    told = await outcome(world, Path.PATH_1)
    # A slow commit may come after it was given up: then the next reading says so, and nothing before it said otherwise.
    assert told in (Path.UNKNOWN, Path.PATH_1, Path.LOOPBACK)
    if told is not Path.UNKNOWN:
        assert told is truth(world), "told while it was not so"
    now = await believed(world)
    assert now in (Path.UNKNOWN, truth(world))
    await world.driver.close()


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("strike", STRIKES)
@in_virtual_time
async def test_struck_before_any_transfer(name: str, strike: str) -> None:
    first, last = await length_of_a_switch(PROFILES[name])
    assert last - first > 8

    def before(number: int) -> Callable[[Struck], None]:
        def prepare(wires: Struck) -> None:
            wires.strike, wires.strike_at = STRIKES[strike], number

        return prepare

    step = 1 if strike in ("restart", "page moved", "page stuck") else 3
    await asyncio.gather(*(check(PROFILES[name], before(number)) for number in range(first, last, step)))


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("how", ["refuse", "lose", "gone"])
@in_virtual_time
async def test_a_transfer_that_fails(name: str, how: str) -> None:
    first, last = await length_of_a_switch(PROFILES[name])

    def at(number: int) -> Callable[[Struck], None]:
        def prepare(wires: Struck) -> None:
            if how == "gone":
                wires.gone_at = number
            else:
                getattr(wires, how).update(range(number, number + 3))

        return prepare

    await asyncio.gather(*(check(PROFILES[name], at(number)) for number in range(first, last)))


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(PROFILES)),
    seed=st.integers(0, 10_000),
    refuse=st.sets(st.integers(0, 400), max_size=40),
    lose=st.sets(st.integers(0, 400), max_size=40),
    strikes=st.lists(st.tuples(st.integers(0, 300), st.sampled_from(sorted(STRIKES))), max_size=2),
    paths=st.lists(st.sampled_from([Path.PATH_1, Path.PATH_2, Path.LOOPBACK]), min_size=1, max_size=3),
)
def test_whatever_happens(*, name, seed, refuse, lose, strikes, paths) -> None:
    async def run() -> None:
        world = await opened(PROFILES[name], seed)
        base = world.wires[0][0].transfers
        for wires, mishaps in zip(world.wires[0], strikes, strict=False):
            wires.strike_at, wires.strike = base + mishaps[0], STRIKES[mishaps[1]]
        world.wires[0][0].refuse = {base + number for number in refuse}
        world.wires[0][1].lose = {base + number for number in lose}
        for path in paths:
            told = await outcome(world, path)
            if told is not Path.UNKNOWN:
                assert told is truth(world)
            assert await believed(world) in (Path.UNKNOWN, truth(world))
        await world.driver.close()

    run_in_virtual_time(run())


@in_virtual_time
async def test_a_switch_that_is_given_up_leaves_nothing_locked_and_nothing_believed() -> None:
    for number in range(0, 40, 2):
        world = await opened(PROFILES["ocstrx-b0"])
        switching = asyncio.create_task(world.driver.switch(0, Path.PATH_1))
        for _ in range(number):
            await asyncio.sleep(0)
        switching.cancel()
        await asyncio.wait([switching])

        async with asyncio.timeout(2):
            assert await believed(world) in (Path.UNKNOWN, truth(world))
            assert (await world.driver.switch(0, Path.PATH_2)).path is Path.PATH_2
        assert truth(world) is Path.PATH_2
        await world.driver.close()


@in_virtual_time
async def test_two_bundles_at_once_do_not_disturb_each_other() -> None:
    world = World(bundles=2, modules=2)
    await world.driver.open()
    world.module(0, 1).break_with(ModuleFault(K.STUCK))

    outcomes = await asyncio.gather(world.driver.switch(0, Path.PATH_1), world.driver.switch(1, Path.PATH_2))

    assert [each.path for each in outcomes] == [Path.UNKNOWN, Path.PATH_2]
    assert (truth(world, 0), truth(world, 1)) == (Path.UNKNOWN, Path.PATH_2)
    await world.driver.close()
