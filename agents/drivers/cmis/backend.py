"""From an agent's file to drivers of nodes made of modules."""

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from random import Random

from ringlight.agents.drivers.cmis.access import ModuleMemory, PagedMemory
from ringlight.agents.drivers.cmis.driver import CmisDriver, CmisSettings
from ringlight.agents.drivers.cmis.eeprom import EepromFile
from ringlight.agents.drivers.cmis.file import CmisNode, ModuleAddress
from ringlight.agents.drivers.cmis.i2c_device import I2cDevice
from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS, KnownPart
from ringlight.agents.drivers.cmis.module import DrivenModule
from ringlight.agents.drivers.cmis.socket_bus import SocketBus, SocketTransfers
from ringlight.agents.ports import CircuitDriver
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.problem import Problem
from ringlight.fabric.wiring import Wiring

Buses = dict[tuple[FilePath, str], SocketBus]


def memory_of(address: ModuleAddress, buses: Buses) -> ModuleMemory:
    """The registers at an address; nothing is connected before they are opened.

    Args:
        address: of the module.
        buses: that are shared by modules; one that is missing is added.
    """
    if address.eeprom is not None:
        return EepromFile(address.eeprom)
    if address.i2c is not None:
        return PagedMemory(I2cDevice(address.i2c))
    assert address.socket is not None  # noqa: S101 - the form of an address says so
    assert address.select is not None  # noqa: S101
    bus = buses.setdefault((address.socket, address.bus), SocketBus(address.socket, address.bus))
    return PagedMemory(SocketTransfers(bus, address.select))


def cmis_problems(nodes: Mapping[str, CmisNode], wiring: Wiring) -> list[Problem]:
    """What is wrong with an agent's file as far as modules go, seen together with the fabric's cabling.

    Args:
        nodes: those of the file's ``nodes`` whose circuits are modules.
        wiring: of the fabric.
    """
    problems = []
    for name, node in nodes.items():
        path = f"nodes.{name}.circuits.cmis.bundles"
        expected = wiring.spec.bundles
        if len(node.bundles) != len(expected):
            problems.append(Problem(path, f"has {len(node.bundles)} bundles; the fabric's nodes have {len(expected)}"))
            continue
        problems += [
            Problem(f"{path}[{number}]", f"has {len(modules)} modules; the fabric's bundles have {bundle.modules}")
            for number, (modules, bundle) in enumerate(zip(node.bundles, expected, strict=True))
            if len(modules) != bundle.modules
        ]
    used: dict[ModuleAddress, str] = {}
    for name, node in nodes.items():
        for number, modules in enumerate(node.bundles):
            for at, address in enumerate(modules):
                path = f"nodes.{name}.circuits.cmis.bundles[{number}][{at}]"
                if address in used:
                    problems.append(Problem(path, f"is the same module as {used[address]}"))
                used.setdefault(address, path)
    return problems


def cmis_drivers(nodes: Mapping[str, CmisNode], wiring: Wiring, rng: Random) -> Callable[[str], CircuitDriver]:
    """Drivers by node name. Nothing is connected before one is opened.

    Args:
        nodes: those of the file's ``nodes`` whose circuits are modules.
        wiring: of the fabric.
        rng: of tokens that modules carry.

    Raises:
        InvalidError: `cmis_problems` has something to say.
    """
    problems = cmis_problems(nodes, wiring)
    if problems:
        raise InvalidError("\n".join(map(str, problems)), hint="correct the agent's file; see docs/ocstrx.md")
    buses: Buses = {}

    def driver(name: str) -> CircuitDriver:
        node = nodes[name]
        known = KNOWN_PARTS + tuple(KnownPart(part.vendor, part.part_number) for part in node.parts)
        bundles = [
            [
                DrivenModule(f"b{number}.m{at}", memory_of(address, buses), node.profile, known)
                for at, address in enumerate(modules)
            ]
            for number, modules in enumerate(node.bundles)
        ]
        inventory = inventory_of(wiring, wiring.position(name))
        settings = CmisSettings(poll=node.poll, telemetry=node.telemetry)
        return CmisDriver(name, wiring.spec.name, inventory, bundles, settings=settings, rng=rng)

    return driver
