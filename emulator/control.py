"""`EmulatorService`: break, repair, list and trace over gRPC. Turns messages into calls of `Emulation` and back."""

from typing import Any

import grpc.aio

from ringlight.emulator.emulation import Emulation
from ringlight.emulator.faults import EmulatedFault, FaultKind, FaultRequest
from ringlight.fabric.errors import InvalidError, RinglightError
from ringlight.fabric.rings import GpuRef
from ringlight.protos.status import abort
from ringlight.protos.v1 import emulator_pb2, emulator_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class EmulatorService(emulator_pb2_grpc.EmulatorServiceServicer):
    """The service over one emulation."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation

    async def Inject(  # noqa: N802 - the name of the RPC
        self, request: emulator_pb2.InjectRequest, context: Context
    ) -> emulator_pb2.EmulatedFault:
        """Break something."""
        try:
            return self._fault_message(await self._emulation.inject(_fault_request(request)))
        except RinglightError as error:
            await abort(context, error)

    async def Repair(  # noqa: N802 - the name of the RPC
        self, request: emulator_pb2.RepairRequest, context: Context
    ) -> emulator_pb2.RepairReply:
        """Repair one fault, those of a node, or all."""
        try:
            match request.WhichOneof("what"):
                case "id":
                    repaired = await self._emulation.repair([request.id])
                case "node":
                    repaired = await self._emulation.repair_node(request.node)
                case "all" if request.all:
                    repaired = await self._emulation.repair_all()
                case _:
                    raise InvalidError(
                        "the request does not say what to repair", hint="give a fault's id, a node, or all"
                    )
        except RinglightError as error:
            await abort(context, error)
        return emulator_pb2.RepairReply(repaired=[self._fault_message(fault) for fault in repaired])

    async def ListFaults(  # noqa: N802 - the name of the RPC
        self, _request: emulator_pb2.ListFaultsRequest, _context: Context
    ) -> emulator_pb2.ListFaultsReply:
        """Every open fault, oldest first."""
        return emulator_pb2.ListFaultsReply(
            faults=[self._fault_message(fault) for fault in self._emulation.plant.faults.all()]
        )

    async def Trace(  # noqa: N802 - the name of the RPC
        self, _request: emulator_pb2.TraceRequest, _context: Context
    ) -> emulator_pb2.TraceReply:
        """What light and copper form, all at one moment."""
        traced = self._emulation.trace()
        return emulator_pb2.TraceReply(
            cycles=[self._path_message(cycle) for cycle in traced.cycles],
            dangling=[self._path_message(chain) for chain in traced.dangling],
        )

    def _fault_message(self, fault: EmulatedFault) -> emulator_pb2.EmulatedFault:
        return emulator_pb2.EmulatedFault(
            id=fault.id,
            kind=emulator_pb2.FaultKind.ValueType(int(fault.kind)),
            node=self._emulation.plant.wiring.name(fault.position),
            component=fault.component,
        )

    def _path_message(self, gpus: tuple[GpuRef, ...]) -> emulator_pb2.GpuPath:
        wiring = self._emulation.plant.wiring
        return emulator_pb2.GpuPath(gpus=[wiring.gpu_name(position, gpu) for position, gpu in gpus])


def _fault_request(request: emulator_pb2.InjectRequest) -> FaultRequest:
    try:
        kind = FaultKind(request.kind)
    except ValueError:
        raise InvalidError(
            "the request names no kind of fault that this emulator knows",
            hint="kinds are " + ", ".join(known.label for known in FaultKind),
        ) from None
    return FaultRequest(
        kind=kind,
        node=request.node,
        gpu=request.gpu,
        xid=request.xid,
        recovery=request.recovery,
        bundle=request.bundle,
        module=request.module,
        distance=request.distance,
        delay=request.delay,
        partner=request.partner,
        loss=request.loss,
        how=request.how,
        amount=request.amount,
        lanes=request.lanes,
        id=request.id,
    )
