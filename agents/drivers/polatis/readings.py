"""What a reading of the switch says about one node: its circuits, its light, its faults, its powers.

Nothing is assumed and nothing remembered: another client may have moved anything since the last reading.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ringlight.agents.drivers.polatis.messages import PortState
from ringlight.agents.drivers.polatis.patch import Patch, Place
from ringlight.agents.drivers.polatis.selection import Connections, arrives, selected
from ringlight.agents.ports import DriverEvent, FaultClosed, FaultOpened, LightChanged, OpticalPower, Readout
from ringlight.fabric.circuits import EXTERNAL_PATHS, Fault, FaultClass, PortKey

PORT_FAILED = "port-failed"
PORT_DISABLED = "port-disabled"
EGRESS_TAKEN = "egress-taken"
BOOT_MODE_DARK = "boot-mode-dark"

_DARK = "DARK"


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was read of the switch at one moment.

    Attributes:
        connections: all of them.
        states: of the ports in the table.
        powers: by port, in dBm; empty when the switch's monitors are not used.
        boot_mode: what becomes of the cross-connects when the switch loses power.
        taken: bundles that could not be moved, and why: ours to know, not the switch's.
    """

    connections: Connections
    states: Mapping[int, PortState]
    powers: Mapping[int, float | None] = field(default_factory=dict)
    boot_mode: str = ""
    taken: Mapping[Place, str] = field(default_factory=dict)


def readout_of(patch: Patch, node: str, reading: Reading, *, light_above: float | None) -> Readout:
    """What a node is like, in the words of the `CircuitDriver`.

    Args:
        patch: of the switch.
        node: on it.
        reading: of the switch.
        light_above: dBm at an egress that count as light; None judges by cross-connects alone.
    """
    places = patch.of_node(node)
    return Readout(
        circuits=tuple(selected(patch, place, reading.connections) for place in places),
        light={
            (place[1], path): _is_lit(patch, place, (place[1], path), reading, light_above)
            for place in places
            for path in EXTERNAL_PATHS
            if patch.peer(place, path) is not None
        },
        faults=tuple(_faults(patch, places, reading)),
    )


def _is_lit(patch: Patch, place: Place, port: PortKey, reading: Reading, light_above: float | None) -> bool:
    path = port[1]
    if selected(patch, place, reading.connections) is not path or not arrives(patch, place, path, reading.connections):
        return False
    if light_above is None:
        both_ways = {**patch.outward(place, path), **patch.inward(place, path)}
        return all(_passes(reading, port) for pair in both_ways.items() for port in pair)
    received = weakest(reading, patch.plugs[place].egresses)
    return received is not None and received > light_above


def _passes(reading: Reading, port: int) -> bool:
    """Whether light passes a port. A disabled one is taken for closed: light that is not there must not be reported."""
    return reading.states.get(port, PortState.ENABLED) is PortState.ENABLED


def weakest(reading: Reading, ports: tuple[int, ...]) -> float | None:
    """The least power at some ports, in dBm; None when it is not measured at one of them."""
    found = [reading.powers.get(port) for port in ports]
    known = [power for power in found if power is not None]
    return min(known) if known and len(known) == len(found) else None


def powers_of(patch: Patch, node: str, reading: Reading) -> dict[PortKey, OpticalPower]:
    """The light at every port that a node selects. The switch measures all light a node sends, and all it gets."""
    powers: dict[PortKey, OpticalPower] = {}
    for place in patch.of_node(node):
        path = selected(patch, place, reading.connections)
        if path.is_external and reading.powers:
            plugs = patch.plugs[place]
            sent, received = weakest(reading, plugs.ingresses), weakest(reading, plugs.egresses)
            powers[place[1], path] = OpticalPower(sent, received)
    return powers


def _faults(patch: Patch, places: tuple[Place, ...], reading: Reading) -> Iterator[Fault]:
    for place in places:
        plugs = patch.plugs[place]
        for side, ports in (("ingress", plugs.ingresses), ("egress", plugs.egresses)):
            for module, port in enumerate(ports):
                yield from _port_fault(place, module, f"{side} {port}", reading.states.get(port))
        if place in reading.taken:
            text = f"could not be switched: {reading.taken[place]}"
            yield Fault(f"{EGRESS_TAKEN}:b{place[1]}", f"b{place[1]}", FaultClass.INFO, EGRESS_TAKEN, text)
    if reading.boot_mode.startswith(_DARK):
        text = "the switch forgets every cross-connect when it loses power; set its boot mode to AUT"
        yield Fault(BOOT_MODE_DARK, "node", FaultClass.INFO, BOOT_MODE_DARK, text)


def _port_fault(place: Place, module: int, port: str, state: PortState | None) -> Iterator[Fault]:
    component = f"b{place[1]}.m{module}"
    name = port.replace(" ", "-")
    match state:
        case PortState.FAILED:
            text = f"{port} of the switch has failed: {component} carries nothing"
            yield Fault(f"{PORT_FAILED}:{name}", component, FaultClass.FATAL, PORT_FAILED, text)
        case PortState.DISABLED:  # a person did that, and can undo it
            text = f"{port} of the switch is disabled: {component} cannot be switched"
            yield Fault(f"{PORT_DISABLED}:{name}", component, FaultClass.DEGRADED, PORT_DISABLED, text)


def changes(before: Readout, after: Readout) -> list[DriverEvent]:
    """What happened to a node between two readings: light that came or went, faults that opened or closed."""
    events: list[DriverEvent] = [
        LightChanged(port, lit) for port, lit in sorted(after.light.items()) if before.light.get(port, False) is not lit
    ]
    former, present = ({fault.id: fault for fault in readout.faults} for readout in (before, after))
    events += [FaultClosed(fault_id) for fault_id in sorted(former.keys() - present.keys())]
    events += [
        FaultOpened(present[fault_id]) for fault_id in sorted(present) if present[fault_id] != former.get(fault_id)
    ]
    return events
