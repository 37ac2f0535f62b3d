"""The emulated hardware as pure state: bundles, fibres, node power, and the light that follows from them.

Light is at a port exactly when both ends of its fibre select it and everything in between works: both nodes have
power, every module of both bundles is alive, the fibre is whole and lets enough through. Fibres are those that lie,
which need not be those of the fabric file (`ringlight.emulator.cabling`).

A change costs as much as it touches ports, so thousands of nodes cost nothing while they are quiet.

Every change returns the events it caused, in a fixed order; the caller pushes them to whoever is connected. There is
no clock here: when a switch takes effect, and how long that takes, is the caller's business.

Hardware reports what broke, not how grave that is: a `HardwareFault` has a code and no class. Judging is the agent's.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ringlight.emulator.cabling import Cabling, LaidFibre
from ringlight.emulator.faults import EmulatedFault, FaultBook, FaultKind, FaultRequest
from ringlight.fabric.circuits import EXTERNAL_PATHS, CircuitTable, Path, PortKey
from ringlight.fabric.errors import InvalidError, UnavailableError
from ringlight.fabric.spec import Port
from ringlight.fabric.trace import Trace, trace
from ringlight.fabric.wiring import Wiring

SENT_POWER = 1.0  # dBm that leave a port whose bundle selects it
LOWEST_RECEIVED = -12.0  # dBm; a port that receives less sees no light


@dataclass(frozen=True, slots=True)
class HardwareFault:
    """A broken part as the hardware of its node reports it: which part, and a machine-readable cause."""

    id: str
    component: str
    code: str
    recovery: str = ""


@dataclass(frozen=True, slots=True)
class LightChanged:
    """Light came or went at a port."""

    position: int
    port: PortKey
    lit: bool


@dataclass(frozen=True, slots=True)
class FaultOpened:
    """The hardware of a node noticed that a part broke."""

    position: int
    fault: HardwareFault


@dataclass(frozen=True, slots=True)
class FaultClosed:
    """The hardware of a node noticed that a part works again."""

    position: int
    fault_id: str


@dataclass(frozen=True, slots=True)
class PowerChanged:
    """A node lost its power, or has it back and booted."""

    position: int
    on: bool


PlantEvent = LightChanged | FaultOpened | FaultClosed | PowerChanged


@dataclass(frozen=True, slots=True)
class NodeReading:
    """All that the hardware of one node knows of itself."""

    circuits: CircuitTable
    light: dict[PortKey, bool]
    faults: tuple[HardwareFault, ...]


class Plant:
    """Every part of one emulated fabric.

    Args:
        wiring: the cabling.
        boot: begins every hardware boot id; must differ between two plants of one fabric, because a new plant is a
            fabric that lost power.
    """

    def __init__(self, wiring: Wiring, boot: str) -> None:
        self.wiring = wiring
        self.faults = FaultBook(wiring)
        self.cabling = Cabling(wiring, self.faults)
        self._boot = boot
        self._boots = [1] * wiring.size
        self._tables: list[list[Path]] = [list(wiring.loopback) for _ in range(wiring.size)]
        self._lit: set[Port] = set()

    def powered(self, position: int) -> bool:
        """Whether a node has power."""
        return not self.faults.has(FaultKind.POWER_OFF, position)

    def boot_id(self, position: int) -> str:
        """The hardware boot id of a node: another one after each loss of power."""
        return f"{self._boot}.{self.wiring.name(position)}.{self._boots[position]}"

    def table(self, position: int) -> CircuitTable:
        """What the bundles of a node select; all are dark without power."""
        return tuple(self._tables[position])

    def lit(self, port: Port) -> bool:
        """Whether light arrives at a port."""
        return port in self._lit

    def powers(self, position: int) -> dict[PortKey, tuple[float, float]]:
        """Light at the ports that a node selects: what leaves and what arrives, in dBm; minus infinity for none.

        The link budget is simple: every bundle sends `SENT_POWER`, and the fibre takes its loss from it.

        Raises:
            UnavailableError: the node has no power.
        """
        self._need_power(position)
        return {
            (port.bundle, port.path): (self._sent(port), self._received(port))
            for port in self.wiring.ports(position)
            if self._tables[position][port.bundle] is port.path
        }

    def works(self, position: int, bundle: int) -> bool:
        """Whether a bundle carries anything at all: it has power, and all its modules are alive."""
        return self.powered(position) and not self.faults.has(FaultKind.MODULE_DEAD, position, bundle)

    def delay(self, position: int, bundle: int) -> float:
        """Seconds that slow-bundle faults add to a switch of this bundle."""
        return sum(fault.delay for fault in self.faults.at(FaultKind.BUNDLE_SLOW, position, bundle))

    def read(self, position: int) -> NodeReading:
        """Everything the hardware of a node knows of itself.

        Raises:
            UnavailableError: the node has no power.
        """
        self._need_power(position)
        ports = self.wiring.ports(position)
        faults = (reported(fault) for fault in self.faults.of_node(position))
        return NodeReading(
            circuits=self.table(position),
            light={(port.bundle, port.path): self.lit(port) for port in ports},
            faults=tuple(fault for fault in faults if fault is not None),
        )

    def check_switch(self, position: int, bundle: int, path: Path) -> None:
        """Refuse a switch command that no hardware would accept.

        Raises:
            InvalidError: no such bundle, or not a path that can be selected.
            UnavailableError: the node has no power.
        """
        self._need_power(position)
        if not 0 <= bundle < self.wiring.bundles:
            raise InvalidError(
                f"node {self.wiring.name(position)} has no bundle {bundle}",
                hint=f"it has {self.wiring.bundles}, numbered from 0",
            )
        if path is not Path.LOOPBACK and path not in EXTERNAL_PATHS:
            raise InvalidError(f"no bundle can select {path.name}", hint="a bundle selects LOOPBACK, PATH_1 or PATH_2")

    def select(self, position: int, bundle: int, path: Path) -> list[PlantEvent]:
        """Let a bundle select a path, now. A stuck bundle says nothing and keeps the path it has.

        Raises:
            InvalidError: as `check_switch`.
            UnavailableError: as `check_switch`.
        """
        self.check_switch(position, bundle, path)
        if self.faults.has(FaultKind.BUNDLE_STUCK, position, bundle):
            return []
        table = self._tables[position]
        before, table[bundle] = table[bundle], path
        return self._relight([Port(position, bundle, touched) for touched in (before, path)])

    def inject(self, request: FaultRequest) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Break something.

        Raises:
            NotFoundError: the fabric has no such node.
            InvalidError: the node has no such part, or a value is out of range.
            ConflictError: a fault of this id is open already.
        """
        if request.kind is FaultKind.MODULE_FAULT:
            raise InvalidError("bundles are not made of modules here", hint="run the emulator with --modules registers")
        fault = self.faults.open(request)
        return fault, self._after_change(fault, opened=True)

    def repair(self, fault_id: str) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Repair one fault. The part works again once no other open fault breaks it.

        Raises:
            NotFoundError: no fault of this id is open.
        """
        fault = self.faults.close(fault_id)
        return fault, self._after_change(fault, opened=False)

    def trace(self) -> Trace:
        """The GPU cycles and dangling chains that light and copper form at this moment."""
        everywhere = range(self.wiring.size)
        open_faults = self.faults.all()
        return trace(
            self.wiring,
            [self.table(position) for position in everywhere],
            dead_nodes={fault.position for fault in open_faults if fault.kind is FaultKind.POWER_OFF},
            dead_bundles={
                (fault.position, fault.number) for fault in open_faults if fault.kind is FaultKind.MODULE_DEAD
            },
            fibres=[fibre for fibre in self.cabling.whole() if self._is_clear(fibre.a)],
        )

    def _need_power(self, position: int) -> None:
        if not self.powered(position):
            raise UnavailableError(
                f"node {self.wiring.name(position)} has no power", hint="repair its power-off fault first"
            )

    def _after_change(self, fault: EmulatedFault, *, opened: bool) -> list[PlantEvent]:
        """The events of a fault that was just added to the set, or just taken out of it."""
        events: list[PlantEvent] = []
        if fault.kind is FaultKind.POWER_OFF:
            return self._change_power(fault.position)
        if fault.kind in (FaultKind.FIBRE_CUT, FaultKind.FIBRE_DIRTY):
            hop = self.wiring.hop(fault.position, fault.number)
            return self._relight([hop.low] if hop is not None else [])
        if fault.kind is FaultKind.FIBRE_SWAPPED:
            return self._relight(self.cabling.recable())
        if fault.kind is FaultKind.MODULE_DEAD:
            events = self._relight(Port(fault.position, fault.number, path) for path in EXTERNAL_PATHS)
        report = reported(fault)
        if report is not None and self.powered(fault.position):
            # The node's own report comes first: it is what explains the light that goes.
            if opened:
                events.insert(0, FaultOpened(fault.position, report))
            else:
                events.insert(0, FaultClosed(fault.position, report.id))
        return events

    def _change_power(self, position: int) -> list[PlantEvent]:
        """Bring a node in line with its power faults. One of several that was repaired changes nothing."""
        table = self._tables[position]
        was_on = table[0] is not Path.DARK  # a bundle cannot be told to be dark: only lack of power makes it so
        on = self.powered(position)
        if on == was_on:
            return []
        table[:] = self.wiring.loopback if on else (Path.DARK,) * self.wiring.bundles
        if on:
            self._boots[position] += 1
        return [PowerChanged(position, on=on), *self._relight(self.wiring.ports(position))]

    def _relight(self, ports: Iterable[Port]) -> list[PlantEvent]:
        """Work out the light of the fibres at these ports anew. Both ends of a fibre change together."""
        events: list[PlantEvent] = []
        for port in ports:
            fibre = self.cabling.at(port)
            if fibre is None:
                continue
            lit = self._carries(fibre)
            for end in (fibre.low, fibre.high):
                if lit == (end in self._lit):
                    continue
                (self._lit.add if lit else self._lit.discard)(end)
                events.append(LightChanged(end.position, (end.bundle, end.path), lit))
        return events

    def _carries(self, fibre: LaidFibre) -> bool:
        return all(self._sends(end) and self._received(end) >= LOWEST_RECEIVED for end in (fibre.low, fibre.high))

    def _is_clear(self, port: Port) -> bool:
        """Whether the fibre at a port leaves enough of what a bundle sends."""
        fibre = self.cabling.at(port)
        return fibre is not None and SENT_POWER - self.cabling.loss(fibre) >= LOWEST_RECEIVED

    def _sends(self, port: Port) -> bool:
        return self._tables[port.position][port.bundle] is port.path and self.works(port.position, port.bundle)

    def _sent(self, port: Port) -> float:
        return SENT_POWER if self._sends(port) else -math.inf

    def _received(self, port: Port) -> float:
        fibre, far = self.cabling.at(port), self.cabling.far(port)
        if fibre is None or far is None or not self.cabling.is_whole(fibre):
            return -math.inf
        return self._sent(far) - self.cabling.loss(fibre)


def reported(fault: EmulatedFault) -> HardwareFault | None:
    """How the hardware of the node reports a fault; None for one it cannot notice.

    A stuck or slow bundle is found out by reading back, a fibre that is cut, dirty or wrongly plugged by its light, and
    a node without power or without an agent says nothing at all.
    """
    if fault.kind is FaultKind.GPU_XID:
        return HardwareFault(fault.id, fault.component, f"xid:{fault.xid}", fault.recovery)
    if fault.kind is FaultKind.GPU_LOST:
        return HardwareFault(fault.id, fault.component, "gpu-lost")
    if fault.kind is FaultKind.MODULE_DEAD:
        return HardwareFault(fault.id, fault.component, "module-dead")
    return None
