"""Drives emulated bundles over the emulator's socket."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from ringlight.agents.drivers.emulator_link import Attachment, SharedLink, Topic, topic_of
from ringlight.agents.gpu.emulator import EmulatedGpuHealth
from ringlight.agents.ports import (
    CircuitDriver,
    DriverEvent,
    FaultClosed,
    FaultOpened,
    GpuHealth,
    HardwareIdentity,
    LightChanged,
    Measurement,
    OpticalPower,
    Readout,
    SwitchOutcome,
)
from ringlight.fabric.circuits import Fault, FaultClass, Path, PortKey
from ringlight.protos import codec
from ringlight.protos.v1 import circuits_pb2, hardware_pb2

MOST_DIALLING = 64  # links that connect at once; a listening Unix socket refuses more than its backlog
_MODULE_DEAD = "module-dead"


class EmulatedDriver:
    """`CircuitDriver` of one emulated node."""

    def __init__(self, link: SharedLink) -> None:
        self._attachment = Attachment(link, Topic.MODULES)

    async def open(self) -> HardwareIdentity:
        """Connect and identify.

        Raises:
            UnavailableError: the hardware does not answer, or has no such node, or the node has no power.
        """
        attached = (await self._attachment.open()).attached
        return HardwareIdentity(attached.fabric, attached.hardware_boot, codec.inventory_from(attached.inventory))

    async def read(self) -> Readout:
        """Read everything from the hardware now.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        reply = await self._attachment.request(hardware_pb2.HardwareRequest(read=hardware_pb2.Read()))
        return Readout(
            circuits=codec.table_from(reply.readout.circuits),
            light=codec.light_from(reply.readout.light),
            faults=tuple(_judged(fault) for fault in reply.readout.faults if topic_of(fault) is Topic.MODULES),
        )

    async def switch(self, bundle: int, path: Path) -> SwitchOutcome:
        """Select a path on one bundle and read back what it selects.

        Raises:
            UnavailableError: the hardware does not answer, and what the bundle selects is unknown until read; or it
                refuses, and nothing changed.
        """
        command = hardware_pb2.Switch(bundle=bundle, path=codec.path_to(path))
        reply = await self._attachment.request(hardware_pb2.HardwareRequest(switch=command))
        return SwitchOutcome(codec.path_from(reply.switched.path), reply.switched.switch_seconds)

    async def powers(self) -> Mapping[PortKey, OpticalPower]:
        """Measure the light at every port that is selected now.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        reply = await self._attachment.request(hardware_pb2.HardwareRequest(powers=hardware_pb2.ReadPowers()))
        return codec.powers_from(reply.powers.powers)

    def measurements(self) -> Sequence[Measurement]:
        """Nothing: emulated bundles of this fidelity have no temperature, and no power by themselves."""
        return ()

    async def events(self) -> AsyncIterator[DriverEvent]:
        """Changes of light and of module faults, from `open` on.

        Raises:
            UnavailableError: the hardware is gone.
        """
        async for event in self._attachment.events():
            match event.WhichOneof("body"):
                case "light":
                    port = (event.light.bundle, codec.path_from(event.light.path))
                    yield LightChanged(port, event.light.lit)
                case "opened":
                    yield FaultOpened(_judged(event.opened))
                case "closed":
                    yield FaultClosed(event.closed)

    async def close(self) -> None:
        """Let go of the hardware, leaving every bundle as it is."""
        await self._attachment.close()


def _judged(message: circuits_pb2.Fault) -> Fault:
    """A fault of the bundles with its class: a bundle with a dead module carries nothing, so its ring is dead."""
    fault = codec.fault_from(message)
    if fault.code == _MODULE_DEAD:
        text = f"module {fault.component} is dead: its bundle carries nothing"
        return replace(fault, fault_class=FaultClass.FATAL, text=fault.text or text)
    return replace(fault, fault_class=FaultClass.DEGRADED)


def emulator_hardware(socket: FilePath) -> Callable[[str], tuple[CircuitDriver, GpuHealth]]:
    """What an agent needs to serve nodes of the emulator behind `socket`: driver and GPU health by node name.

    Both of a node share one connection. Nothing is connected before they are opened.
    """
    dialling = asyncio.Semaphore(MOST_DIALLING)

    def of_node(node: str) -> tuple[CircuitDriver, GpuHealth]:
        link = SharedLink(socket, node, dialling)
        return EmulatedDriver(link), EmulatedGpuHealth(link)

    return of_node
