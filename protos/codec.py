"""Messages to the records of `ringlight.fabric`, and back.

Agents, controller and emulator all convert here, so a field is interpreted in one place. Unknown enum numbers from a
newer peer become `Path.UNKNOWN`: a path we cannot name is a path we do not know.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from ringlight.fabric.circuits import CircuitTable, Fault, FaultClass, OpticalPower, Path, PortKey
from ringlight.fabric.inventory import BundleInventory, Inventory
from ringlight.protos.v1 import circuits_pb2 as pb


def path_from(value: int) -> Path:
    """A path from its wire number."""
    try:
        return Path(value)
    except ValueError:
        return Path.UNKNOWN


def path_to(path: Path) -> pb.Path.ValueType:
    """The wire number of a path."""
    return pb.Path.ValueType(int(path))


def table_from(message: pb.CircuitTable) -> CircuitTable:
    """A circuit table from its message."""
    return tuple(path_from(path) for path in message.paths)


def table_to(table: Sequence[Path]) -> pb.CircuitTable:
    """The message of a circuit table."""
    return pb.CircuitTable(paths=[path_to(path) for path in table])


def light_from(messages: Iterable[pb.PortLight]) -> dict[PortKey, bool]:
    """Light by port of one node."""
    return {(message.bundle, path_from(message.path)): message.lit for message in messages}


def light_to(light: Mapping[PortKey, bool]) -> list[pb.PortLight]:
    """The messages of a node's light, in order of bundle and path."""
    return [pb.PortLight(bundle=bundle, path=path_to(path), lit=lit) for (bundle, path), lit in sorted(light.items())]


def powers_from(messages: Iterable[pb.PortPower]) -> dict[PortKey, OpticalPower]:
    """Measured light by port of one node. A value that is no number was not measured."""
    return {
        (message.bundle, path_from(message.path)): OpticalPower(
            sent=_measured(message.sent if message.HasField("sent") else None),
            received=_measured(message.received if message.HasField("received") else None),
        )
        for message in messages
    }


def _measured(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def powers_to(powers: Mapping[PortKey, OpticalPower]) -> list[pb.PortPower]:
    """The messages of a node's measured light, in order of bundle and path."""
    return [
        pb.PortPower(bundle=bundle, path=path_to(path), sent=power.sent, received=power.received)
        for (bundle, path), power in sorted(powers.items())
    ]


def fault_from(message: pb.Fault) -> Fault:
    """A fault from its message.

    A class that a newer peer invented counts as degraded: the node gets no new ring, and no running job is killed
    over a word we do not understand.
    """
    try:
        fault_class = FaultClass(message.fault_class)
    except ValueError:
        fault_class = FaultClass.DEGRADED
    return Fault(message.id, message.component, fault_class, message.code, message.text, message.recovery)


def fault_to(fault: Fault) -> pb.Fault:
    """The message of a fault."""
    return pb.Fault(
        id=fault.id,
        component=fault.component,
        fault_class=pb.FaultClass.ValueType(int(fault.fault_class)),
        code=fault.code,
        text=fault.text,
        recovery=fault.recovery,
    )


def inventory_from(message: pb.Inventory) -> Inventory:
    """A node's inventory from its message. Ports with nothing plugged in may be left out or have an empty peer."""
    return Inventory(
        gpus=message.gpus,
        bundles=tuple(
            BundleInventory(
                bundle.edge,
                bundle.modules,
                {path_from(port.path): port.peer for port in bundle.ports if port.peer},
            )
            for bundle in message.bundles
        ),
    )


def inventory_to(inventory: Inventory) -> pb.Inventory:
    """The message of a node's inventory."""
    message = pb.Inventory(gpus=inventory.gpus)
    for bundle in inventory.bundles:
        ports = [pb.PortInventory(path=path_to(path), peer=peer) for path, peer in sorted(bundle.peers.items())]
        message.bundles.add(edge=bundle.edge, modules=bundle.modules, ports=ports)
    return message
