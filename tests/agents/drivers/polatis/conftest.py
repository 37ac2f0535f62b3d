"""Eight nodes on one emulated 16x16 switch: node i, bundle b sends into port 2i+b+1 and listens at port 16+2i+b+1."""

import asyncio
from collections.abc import AsyncIterator, Callable
from random import Random

import pytest

from ringlight.agents.drivers.polatis.backend import polatis_drivers
from ringlight.agents.drivers.polatis.driver import PolatisDriver
from ringlight.agents.drivers.polatis.file import PolatisNode, PolatisSwitch
from ringlight.agents.drivers.polatis.patch import Patch, patch_of
from ringlight.emulator.polatis.instrument import Instrument
from ringlight.emulator.polatis.matrix import Matrix
from ringlight.emulator.polatis.server import PolatisServer
from ringlight.fabric.file import parse_fabric
from ringlight.fabric.wiring import Wiring

FABRIC = """
name: lab
k: 2
gpus: 4
bundles: [{edge: 0, modules: 1}, {edge: 2, modules: 1}]
nodes: {count: 8}
"""
PATIENCE = 10.0  # seconds; reached only when something is broken


def ports_of(nodes: int = 8) -> dict[str, list[dict[str, int]]]:
    return {f"n{i}": [{"in": 2 * i + b + 1, "out": 16 + 2 * i + b + 1} for b in (0, 1)] for i in range(nodes)}


@pytest.fixture(scope="session")
def wiring() -> Wiring:
    return Wiring(parse_fabric(FABRIC, source="test"))


@pytest.fixture(scope="session")
def patch(wiring: Wiring) -> Patch:
    file = PolatisSwitch(address="here:5025", ports=ports_of())
    found, problems = patch_of(file.plugs(), served=[f"n{i}" for i in range(8)], wiring=wiring, path="ports")
    assert not problems
    return found


class Lab:
    """A running emulated switch, and drivers on it."""

    def __init__(self, instrument: Instrument, server: PolatisServer, wiring: Wiring) -> None:
        self.instrument = instrument
        self.matrix = instrument.matrix
        self.server = server
        self.wiring = wiring
        self.opened: list[PolatisDriver] = []

    def drivers(self, **file) -> Callable[[str], PolatisDriver]:
        """Another agent's drivers: it has a connection of its own."""
        switch = PolatisSwitch(**{"address": self.server.address, "ports": ports_of(), "poll": 0.05, **file})
        nodes = {f"n{i}": PolatisNode(switch="lab") for i in range(8)}
        return polatis_drivers({"lab": switch}, nodes, self.wiring, Random(1))

    async def open(self, driver: PolatisDriver) -> PolatisDriver:
        self.opened.append(driver)
        await driver.open()
        return driver

    async def open_all(self, **file) -> dict[str, PolatisDriver]:
        made = self.drivers(**file)
        return {f"n{i}": await self.open(made(f"n{i}")) for i in range(8)}

    def connections(self) -> dict[int, int]:
        return self.matrix.connections(asyncio.get_running_loop().time())


@pytest.fixture
async def lab(wiring: Wiring) -> AsyncIterator[Lab]:
    instrument = Instrument(Matrix(16, 16, seed=3), "N-OST-16x16-LA1-DMHNS", "4711")
    server = PolatisServer(instrument)
    await server.start("127.0.0.1:0")
    running = Lab(instrument, server, wiring)
    try:
        yield running
    finally:
        for driver in running.opened:
            await driver.close()
        await server.stop()
