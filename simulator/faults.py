"""From an operation to what it breaks."""

from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.operations import Operation

_KINDS = {kind.label: kind for kind in FaultKind}
_MODULES = 8


def fault_request(wiring: Wiring, operation: Operation, fault_id: str) -> FaultRequest:
    """What an operation breaks, on a part that there is."""
    hops = sorted(hop.key for hop in wiring.hops)
    hop = hops[(operation.node * wiring.spec.k + operation.number) % len(hops)]
    kind = _KINDS[operation.what]
    return FaultRequest(
        kind,
        wiring.name(hop.position if kind is FaultKind.FIBRE_CUT else operation.node),
        gpu=operation.number % wiring.spec.gpus,
        xid=79,
        bundle=operation.number % wiring.bundles,
        module=operation.number % _MODULES,
        distance=hop.distance,
        delay=operation.seconds / 4,
        id=fault_id,
    )


def touched(wiring: Wiring, request: FaultRequest) -> set[int]:
    """The positions of the nodes whose rings have a reason to move."""
    position = wiring.position(request.node)
    if request.kind is not FaultKind.FIBRE_CUT:
        return {position}
    hop = wiring.hop(position, request.distance)
    return {position, hop.high.position} if hop is not None else {position}
