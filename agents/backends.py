"""Every kind of hardware that an agent can serve: from its file to drivers and sources of GPU health.

A *circuit backend* is what stands below ``circuits`` of a node, a *GPU backend* what stands below ``gpus``. Each says
what is wrong with its part of the file once the fabric is known, and makes drivers by node name. Nothing is opened
here, and nothing imported that a file does not ask for.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path as FilePath
from random import Random

from ringlight.agents.configuration import AgentFile
from ringlight.agents.drivers.cmis import metrics as cmis_metrics
from ringlight.agents.drivers.cmis.backend import cmis_drivers, cmis_problems
from ringlight.agents.drivers.emulator import emulator_hardware
from ringlight.agents.drivers.polatis import metrics as polatis_metrics
from ringlight.agents.drivers.polatis.backend import polatis_drivers, polatis_problems
from ringlight.agents.gpu import metrics as gpu_metrics
from ringlight.agents.gpu.command import CommandHealth, command_problems
from ringlight.agents.gpu.dcgm import DcgmHealth, dcgm_problems
from ringlight.agents.gpu.memory import XidMemory
from ringlight.agents.gpu.none import NoGpuHealth
from ringlight.agents.gpu.nvml import NvmlHealth, nvml_problems
from ringlight.agents.ports import CircuitDriver, GpuHealth, MetricFamily
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.problem import Problem
from ringlight.fabric.wiring import Wiring

Hardware = Callable[[str], tuple[CircuitDriver, GpuHealth]]


@dataclass(frozen=True, slots=True)
class Site:
    """What drivers are made from.

    Attributes:
        file: the agent's.
        wiring: of its fabric; given if any of `needs_fabric` is served.
        rng: for the jitter of pauses.
        emulated: hardware of the emulator by the path of its socket; a node's parts there share one connection.
    """

    file: AgentFile
    wiring: Wiring | None
    rng: Random
    emulated: Callable[[str], Hardware]

    def require_wiring(self) -> Wiring:
        """The wiring, for a backend that `needs_fabric`."""
        if self.wiring is None:
            raise InvalidError("this hardware does not know its cabling", hint="name the fabric file: `fabric: FILE`")
        return self.wiring


@dataclass(frozen=True, slots=True)
class CircuitBackend:
    """One kind of circuits.

    Attributes:
        drivers: by node name; called once, if any node has this kind.
        problems: what is wrong with the file as far as this kind goes; nothing can be without the fabric.
        families: what such hardware measures.
        needs_fabric: whether the cabling must be told, because the hardware does not know it.
    """

    drivers: Callable[[Site], Callable[[str], CircuitDriver]]
    problems: Callable[[AgentFile, Wiring], Collection[Problem]] = lambda _file, _wiring: ()
    families: tuple[MetricFamily, ...] = ()
    needs_fabric: bool = True


@dataclass(frozen=True, slots=True)
class GpuBackend:
    """One kind of source of GPU health.

    Attributes:
        source: of a node.
        problems: what is wrong with the file as far as this kind goes, told how many GPUs a node has if that is known.
        families: what it measures.
        needs_fabric: whether it must be told how many GPUs there should be.
    """

    source: Callable[[Site, str], GpuHealth]
    problems: Callable[[AgentFile, int | None], Collection[Problem]] = lambda _file, _gpus: ()
    families: tuple[MetricFamily, ...] = ()
    needs_fabric: bool = False


def _cmis(site: Site) -> Callable[[str], CircuitDriver]:
    return cmis_drivers(site.file.circuits_of("cmis"), site.require_wiring(), site.rng)


def _polatis(site: Site) -> Callable[[str], CircuitDriver]:
    file = site.file
    return polatis_drivers(file.switches, file.circuits_of("polatis"), site.require_wiring(), site.rng)


def _emulated(site: Site) -> Callable[[str], CircuitDriver]:
    sockets = site.file.circuits_of("emulator")
    return lambda node: site.emulated(str(sockets[node].socket))(node)[0]


def _emulated_gpus(site: Site, node: str) -> GpuHealth:
    return site.emulated(str(site.file.nodes[node].gpus.chosen.socket))(node)[1]


def _nvml(site: Site, node: str) -> GpuHealth:
    return NvmlHealth(site.require_wiring().spec.gpus, site.file.nodes[node].gpus.chosen, _xids(site, node))


def _dcgm(site: Site, node: str) -> GpuHealth:
    return DcgmHealth(site.require_wiring().spec.gpus, site.file.nodes[node].gpus.chosen, _xids(site, node))


def _xids(site: Site, node: str) -> XidMemory:
    return XidMemory(site.file.state / f"xids-{site.file.id}-{node}.json")


CIRCUITS: dict[str, CircuitBackend] = {
    "emulator": CircuitBackend(_emulated, needs_fabric=False),
    "cmis": CircuitBackend(
        _cmis,
        lambda file, wiring: cmis_problems(file.circuits_of("cmis"), wiring),
        cmis_metrics.FAMILIES,
    ),
    "polatis": CircuitBackend(
        _polatis,
        lambda file, wiring: polatis_problems(file.switches, file.circuits_of("polatis"), wiring),
        polatis_metrics.FAMILIES,
    ),
}

GPUS: dict[str, GpuBackend] = {
    "emulator": GpuBackend(_emulated_gpus),
    "nvml": GpuBackend(
        _nvml,
        lambda file, gpus: nvml_problems(file.gpus_of("nvml"), gpus or 0),
        gpu_metrics.FAMILIES,
        needs_fabric=True,
    ),
    "dcgm": GpuBackend(
        _dcgm,
        lambda file, gpus: dcgm_problems(file.gpus_of("dcgm"), gpus or 0),
        gpu_metrics.FAMILIES,
        needs_fabric=True,
    ),
    "command": GpuBackend(
        lambda site, node: CommandHealth(site.file.nodes[node].gpus.chosen),
        lambda file, _gpus: command_problems(file.gpus_of("command"), file.settings.open_timeout),
        gpu_metrics.FAMILIES,
    ),
    "none": GpuBackend(lambda _site, _node: NoGpuHealth()),
}


def problems_of(file: AgentFile, wiring: Wiring | None) -> list[Problem]:
    """What is wrong with a file, seen together with its fabric."""
    if wiring is None:
        return [*_without_fabric(file), *_of_gpus(file, None)]
    problems = [
        Problem(f"nodes.{name}", f"the fabric {wiring.spec.name!r} has no such node")
        for name in file.nodes
        if not wiring.has_node(name)
    ]
    if problems:
        return problems
    for kind in sorted({node.circuits.kind for node in file.nodes.values()}):
        problems += CIRCUITS[kind].problems(file, wiring)
    return [*problems, *_of_gpus(file, wiring.spec.gpus)]


def _of_gpus(file: AgentFile, gpus: int | None) -> Iterator[Problem]:
    for kind in sorted({node.gpus.kind for node in file.nodes.values()}):
        if gpus is not None or not GPUS[kind].needs_fabric:
            yield from GPUS[kind].problems(file, gpus)


def _without_fabric(file: AgentFile) -> Iterator[Problem]:
    for name, node in file.nodes.items():
        if CIRCUITS[node.circuits.kind].needs_fabric:
            yield Problem("fabric", f"is missing: nodes.{name}.circuits.{node.circuits.kind} does not know its cabling")
            return
        if GPUS[node.gpus.kind].needs_fabric:
            yield Problem(
                "fabric", f"is missing: nodes.{name}.gpus.{node.gpus.kind} must be told how many GPUs there are"
            )
            return


def families_of(file: AgentFile) -> tuple[MetricFamily, ...]:
    """What the hardware of a file measures, for the agent's metrics page."""
    circuits = sorted({node.circuits.kind for node in file.nodes.values()})
    gpus = sorted({node.gpus.kind for node in file.nodes.values()})
    families = [*(CIRCUITS[kind].families for kind in circuits), *(GPUS[kind].families for kind in gpus)]
    return tuple(dict.fromkeys(chain.from_iterable(families)))  # kinds may measure the same


def hardware_of(file: AgentFile, wiring: Wiring | None, rng: Random) -> Hardware:
    """Driver and GPU health of every node of a file, by its name. Each node is asked for once."""

    @cache
    def emulated(socket: str) -> Hardware:
        return cache(emulator_hardware(FilePath(socket)))

    site = Site(file, wiring, rng, emulated)
    kinds = sorted({node.circuits.kind for node in file.nodes.values()})
    drivers = {kind: CIRCUITS[kind].drivers(site) for kind in kinds}

    def of_node(name: str) -> tuple[CircuitDriver, GpuHealth]:
        node = file.nodes[name]
        return drivers[node.circuits.kind](name), GPUS[node.gpus.kind].source(site, name)

    return of_node
