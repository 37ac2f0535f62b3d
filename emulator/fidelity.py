"""Emulated hardware in either fidelity: the plant, the sockets in front of it, and how agents reach it.

- *fast*: bundles are objects behind the hardware socket. Thousands of nodes fit into one process.
- *registers*: bundles are made of modules that answer on their buses as real ones do, register by register. Agents
  drive them with the very driver that real modules get. The hardware socket still tells of GPUs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from ringlight.agents.drivers.cmis.backend import cmis_drivers
from ringlight.agents.drivers.cmis.file import CmisNode, ModuleAddress
from ringlight.agents.drivers.emulator import emulator_hardware
from ringlight.agents.ports import CircuitDriver, GpuHealth
from ringlight.emulator.eeprom_files import eeprom_files
from ringlight.emulator.fibre_plant import FibrePlant
from ringlight.emulator.hardware import HardwareServer
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.emulator.plant import Plant, PlantEvent
from ringlight.emulator.register_plant import RegisterPlant
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import Wiring

# Emulated modules ask to be looked at without fail, and hundreds of them are watched from this one process.
_POLL = 5.0  # seconds between looks at a module that does not ask


class Fidelity(StrEnum):
    """How closely hardware is emulated."""

    FAST = "fast"
    REGISTERS = "registers"


@dataclass(frozen=True, slots=True)
class Sockets:
    """Where agents find the hardware, the buses of its modules, and the modules as files (None: nowhere)."""

    hardware: Path
    modules: Path
    files: Path | None = None


@dataclass(frozen=True, slots=True)
class EmulatedHardware:
    """Emulated hardware that is being served.

    Attributes:
        plant: all of it.
        publish: tells whoever is connected what happened to it.
        for_agents: driver and GPU health of a node, for agents in this process.
        addresses: for the ready line.
    """

    plant: FibrePlant
    publish: Callable[[Iterable[PlantEvent]], None]
    for_agents: Callable[[str], tuple[CircuitDriver, GpuHealth]]
    addresses: str


@asynccontextmanager
async def emulated_hardware(
    fabric: FabricSpec, fidelity: Fidelity, sockets: Sockets, *, boot: str, seed: int
) -> AsyncIterator[EmulatedHardware]:
    """Serve the hardware of a whole fabric while the block runs.

    Args:
        fabric: what is emulated.
        fidelity: how closely.
        sockets: where it is served; modules only where there are any.
        boot: begins every hardware boot id.
        seed: of everything that is drawn.

    Raises:
        RinglightError: a socket cannot be used.
    """
    serve = _serve_fast if fidelity is Fidelity.FAST else _serve_registers
    async with serve(Wiring(fabric), sockets, boot, seed) as emulated:
        yield emulated


@asynccontextmanager
async def _serve_fast(wiring: Wiring, sockets: Sockets, boot: str, seed: int) -> AsyncIterator[EmulatedHardware]:
    plant = Plant(wiring, boot)
    server = HardwareServer(plant, Random(seed))  # noqa: S311 - switching times, no secret
    await server.start(sockets.hardware)
    try:
        for_agents = emulator_hardware(sockets.hardware)
        yield EmulatedHardware(plant, server.publish, for_agents, f"socket={sockets.hardware}")
    finally:
        await server.stop()


@asynccontextmanager
async def _serve_registers(wiring: Wiring, sockets: Sockets, boot: str, seed: int) -> AsyncIterator[EmulatedHardware]:
    clock = asyncio.get_running_loop().time
    plant = RegisterPlant(wiring, boot, _factory(seed), clock)
    server = HardwareServer(plant, Random(seed))  # noqa: S311 - switches nothing here
    buses = I2cServer(plant, clock)
    plant.moved = buses.moved
    buses.moved(plant.every_module())
    addresses = f"socket={sockets.hardware} modules={sockets.modules}"
    async with AsyncExitStack() as exits:
        await server.start(sockets.hardware)
        exits.push_async_callback(server.stop)
        await buses.start(sockets.modules)
        exits.push_async_callback(buses.stop)
        if sockets.files is not None:
            await exits.enter_async_context(eeprom_files(sockets.files, wiring, buses))
            addresses += f" files={sockets.files}"
        yield EmulatedHardware(plant, server.publish, _hosted(wiring, sockets, seed), addresses)


def _factory(seed: int) -> Callable[[str, int, int, float], Module]:
    """Makes modules, each with a character of its own."""

    def make(node: str, bundle: int, number: int, now: float) -> Module:
        character = Random(f"{seed} {node} {bundle} {number}").getrandbits(32)  # noqa: S311 - repeatable on purpose
        return Module(ModuleIdentity(f"E{character:010d}"), profile=ModuleProfile(), seed=character, now=now)

    return make


def _hosted(wiring: Wiring, sockets: Sockets, seed: int) -> Callable[[str], tuple[CircuitDriver, GpuHealth]]:
    """Agents in this process drive modules as any other agent would: over the socket."""
    names = [wiring.name(position) for position in range(wiring.size)]
    driver = cmis_drivers(
        {name: _addresses(wiring, sockets.modules, name) for name in names},
        wiring,
        Random(f"tokens {seed}"),  # noqa: S311 - names, no secret
    )
    gpus = emulator_hardware(sockets.hardware)
    return lambda name: (driver(name), gpus(name)[1])


def _addresses(wiring: Wiring, socket: Path, name: str) -> CmisNode:
    bundles: list[list[ModuleAddress]] = []
    select = 0
    for bundle in wiring.spec.bundles:
        bundles.append([ModuleAddress(socket=socket, bus=name, select=select + at) for at in range(bundle.modules)])
        select += bundle.modules
    return CmisNode(bundles=bundles, poll=_POLL)
