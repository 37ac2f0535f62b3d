"""From an agent's file to drivers: which nodes it drives through which switch."""

from collections.abc import Callable, Mapping
from random import Random

from ringlight.agents.drivers.polatis.dialogue import Expected
from ringlight.agents.drivers.polatis.driver import PolatisDriver
from ringlight.agents.drivers.polatis.file import PolatisNode, PolatisSwitch, unknown_switch
from ringlight.agents.drivers.polatis.live import Terms
from ringlight.agents.drivers.polatis.patch import Patch, patch_of
from ringlight.agents.drivers.polatis.shared import SharedSwitch
from ringlight.agents.ports import CircuitDriver
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.problem import Problem
from ringlight.fabric.wiring import Wiring


def polatis_problems(
    switches: Mapping[str, PolatisSwitch], nodes: Mapping[str, PolatisNode], wiring: Wiring
) -> list[Problem]:
    """What is wrong with an agent's file as far as matrix switches go, seen together with the fabric's cabling.

    Args:
        switches: the file's ``switches``.
        nodes: those of the file's ``nodes`` whose circuits are on one.
        wiring: of the fabric.
    """
    problems = [
        Problem(f"nodes.{name}.circuits.polatis.switch", wrong)
        for name, node in nodes.items()
        if (wrong := unknown_switch(node, switches))
    ]
    for name in switches:
        problems += _patch(name, switches, nodes, wiring)[1]
    return problems


def polatis_drivers(
    switches: Mapping[str, PolatisSwitch], nodes: Mapping[str, PolatisNode], wiring: Wiring, rng: Random
) -> Callable[[str], CircuitDriver]:
    """Drivers by node name. Nodes on the same switch share one connection; none is made before one is opened.

    Args:
        switches: the file's ``switches``.
        nodes: those of the file's ``nodes`` whose circuits are on one.
        wiring: of the fabric.
        rng: of the pauses before a switch is dialled again.

    Raises:
        InvalidError: `polatis_problems` has something to say.
    """
    problems = polatis_problems(switches, nodes, wiring)
    if problems:
        raise InvalidError("\n".join(map(str, problems)), hint="correct the agent's file; see docs/polatis.md")
    shared = {
        name: _shared(name, file, _patch(name, switches, nodes, wiring)[0], rng) for name, file in switches.items()
    }

    def driver(node: str) -> CircuitDriver:
        inventory = inventory_of(wiring, wiring.position(node))
        return PolatisDriver(node, wiring.spec.name, inventory, shared[nodes[node].switch])

    return driver


def _patch(
    name: str, switches: Mapping[str, PolatisSwitch], nodes: Mapping[str, PolatisNode], wiring: Wiring
) -> tuple[Patch, list[Problem]]:
    served = {node for node, of_node in nodes.items() if of_node.switch == name and wiring.has_node(node)}
    return patch_of(switches[name].plugs(), served=served, wiring=wiring, path=f"switches.{name}.ports")


def _shared(name: str, file: PolatisSwitch, patch: Patch, rng: Random) -> SharedSwitch:
    monitors = file.light_above is not None
    expected = Expected(name, patch, file.serial, monitors)
    return SharedSwitch(file.address, file.answer_within, expected, Terms(file.poll, file.light_above), rng)
