"""Reports emulated GPUs over the emulator's socket: what happened; how grave that is, the controller says."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from ringlight.agents.drivers.emulator_link import Attachment, SharedLink, Topic, topic_of
from ringlight.agents.ports import FaultClosed, FaultOpened, HealthEvent, Measurement
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.protos import codec
from ringlight.protos.v1 import circuits_pb2, hardware_pb2

_GPU_LOST = "gpu-lost"


class EmulatedGpuHealth:
    """`GpuHealth` of one emulated node."""

    def __init__(self, link: SharedLink) -> None:
        self._attachment = Attachment(link, Topic.GPUS)

    async def open(self) -> None:
        """Connect.

        Raises:
            UnavailableError: the hardware does not answer, or has no such node, or the node has no power.
        """
        await self._attachment.open()

    async def read(self) -> tuple[Fault, ...]:
        """Every GPU fault that is open now.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        reply = await self._attachment.request(hardware_pb2.HardwareRequest(read=hardware_pb2.Read()))
        return tuple(judged(fault) for fault in reply.readout.faults if topic_of(fault) is Topic.GPUS)

    def measurements(self) -> Sequence[Measurement]:
        """Nothing: emulated GPUs have faults, and no temperatures."""
        return ()

    async def events(self) -> AsyncIterator[HealthEvent]:
        """Faults that open and close, from `open` on.

        Raises:
            UnavailableError: the hardware is gone.
        """
        async for event in self._attachment.events():
            match event.WhichOneof("body"):
                case "opened":
                    yield FaultOpened(judged(event.opened))
                case "closed":
                    yield FaultClosed(event.closed)

    async def close(self) -> None:
        """Let go of the hardware."""
        await self._attachment.close()


def judged(message: circuits_pb2.Fault) -> Fault:
    """A GPU fault with its class: only a GPU that is gone is sure here; XIDs are ruled on by the controller."""
    fault = codec.fault_from(message)
    if fault.code == _GPU_LOST:
        return replace(fault, fault_class=FaultClass.FATAL, text=fault.text or "the GPU is gone from the bus")
    return replace(fault, fault_class=FaultClass.DEGRADED)
