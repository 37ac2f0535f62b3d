"""The emulated hardware down to registers: modules on buses, and real powers on the fibres between them.

What `ringlight.emulator.plant` decides by a table is here the sum of parts. A bundle selects what all its modules
select. Light leaves a module with the power that its lasers and its losses leave it, loses what its fibre takes, and
arrives at whatever module the fibre leads to; whether that sees it is for its receivers. A port is lit when every lane
of every module of its bundle, and of the one at the far end, sees enough.

Whoever changes a module says so with `follow`; nothing looks at thousands of modules that are quiet. There is no clock
here but the one that is given.
"""

import math
from collections.abc import Callable, Iterable, Iterator

from ringlight.emulator.cabling import Cabling
from ringlight.emulator.faults import EmulatedFault, FaultBook, FaultKind, FaultRequest
from ringlight.emulator.i2c_server import ModuleKey
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import LANES, Module
from ringlight.emulator.plant import (
    FaultClosed,
    FaultOpened,
    NodeReading,
    PlantEvent,
    PowerChanged,
    reported,
)
from ringlight.fabric.circuits import EXTERNAL_PATHS, CircuitTable, Path, PortKey
from ringlight.fabric.errors import ConflictError, UnavailableError
from ringlight.fabric.spec import Port
from ringlight.fabric.trace import Trace, trace
from ringlight.fabric.wiring import Wiring

DARKNESS = (-math.inf,) * LANES

MakeModule = Callable[[str, int, int, float], Module]  # node, bundle, number in the bundle, now


class RegisterPlant:
    """Every part of one emulated fabric, its modules as they answer on their buses.

    Args:
        wiring: the cabling as it should be.
        boot: begins every hardware boot id; must differ between two plants of one fabric.
        make: builds a module as it is when its node gets power.
        clock: seconds, only grows.

    Attributes:
        moved: called with the modules whose lines may have changed because of what this plant did.
    """

    def __init__(self, wiring: Wiring, boot: str, make: MakeModule, clock: Callable[[], float]) -> None:
        self.wiring = wiring
        self.faults = FaultBook(wiring)
        self.cabling = Cabling(wiring, self.faults)
        self.moved: Callable[[Iterable[ModuleKey]], None] = lambda _: None
        self._boot = boot
        self._boots = [1] * wiring.size
        self._make = make
        self._clock = clock
        self._places = [
            (bundle, number) for bundle, spec in enumerate(wiring.spec.bundles) for number in range(spec.modules)
        ]
        self._modules: list[list[Module]] = [self._powered_on(position) for position in range(wiring.size)]
        self._followed: dict[ModuleKey, int] = {}

    # -- what it is ----------------------------------------------------------------------------------------------------

    def powered(self, position: int) -> bool:
        """Whether a node has power."""
        return not self.faults.has(FaultKind.POWER_OFF, position)

    def boot_id(self, position: int) -> str:
        """The hardware boot id of a node: another one after each loss of power."""
        return f"{self._boot}.{self.wiring.name(position)}.{self._boots[position]}"

    def modules(self, position: int) -> list[Module]:
        """The modules of a node by select line; none without power."""
        return self._modules[position]

    def table(self, position: int) -> CircuitTable:
        """What the bundles of a node select: unknown where their modules differ, dark without power."""
        if not self._modules[position]:
            return (Path.DARK,) * self.wiring.bundles
        return tuple(self._selected(position, bundle) for bundle in range(self.wiring.bundles))

    def lit(self, port: Port) -> bool:
        """Whether light arrives at a port on every lane, and from it at the far end."""
        far = self.cabling.far(port)
        return far is not None and self._sees(port) and self._sees(far)

    def read(self, position: int) -> NodeReading:
        """What there is to know of a node; faults are those of its GPUs, since modules tell theirs by registers.

        Raises:
            UnavailableError: the node has no power.
        """
        self._need_power(position)
        faults = (reported(fault) for fault in self.faults.of_node(position))
        return NodeReading(
            circuits=self.table(position),
            light={(port.bundle, port.path): self.lit(port) for port in self.wiring.ports(position)},
            faults=tuple(fault for fault in faults if fault is not None and fault.component.startswith("gpu")),
        )

    def powers(self, position: int) -> dict[PortKey, tuple[float, float]]:
        """Not over the hardware socket.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def check_switch(self, position: int, _bundle: int, _path: Path) -> None:
        """Not over the hardware socket.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def delay(self, _position: int, _bundle: int) -> float:
        """Modules take their time themselves."""
        return 0.0

    def select(self, position: int, _bundle: int, _path: Path) -> list[PlantEvent]:
        """Not over the hardware socket.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def trace(self) -> Trace:
        """The GPU cycles and dangling chains that light and copper form at this moment."""
        now = self._clock()
        for module in (module for of_node in self._modules for module in of_node):
            module.advance(now)
        everywhere = range(self.wiring.size)
        return trace(
            self.wiring,
            [self.table(position) for position in everywhere],
            dead_nodes={position for position in everywhere if not self.powered(position)},
            dead_bundles={(fault.position, fault.number) for fault in self.faults.of_kind(FaultKind.MODULE_DEAD)},
            fibres=[fibre for fibre in self.cabling.whole() if self.lit(fibre.a)],
        )

    # -- what happens to it --------------------------------------------------------------------------------------------

    def follow(self, position: int, select: int) -> None:
        """A module was written to, or time went by for it: let its light arrive wherever its fibres lead."""
        modules = self._modules[position]
        if select >= len(modules):
            return  # it lost power meanwhile
        version = modules[select].version()
        if self._followed.get((position, select)) != version:
            self._followed[position, select] = version
            self.moved(self._shine([(position, select)]))

    def inject(self, request: FaultRequest) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Break something.

        Raises:
            NotFoundError: the fabric has no such node.
            InvalidError: the node has no such part, or a value is out of range.
            ConflictError: a fault of this id is open already.
        """
        fault = self.faults.open(request)
        return fault, self._after_change(fault, opened=True)

    def repair(self, fault_id: str) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Repair one fault. The part works again once no other open fault breaks it.

        Raises:
            NotFoundError: no fault of this id is open.
        """
        fault = self.faults.close(fault_id)
        return fault, self._after_change(fault, opened=False)

    def _after_change(self, fault: EmulatedFault, *, opened: bool) -> list[PlantEvent]:
        match fault.kind:
            case FaultKind.POWER_OFF:
                return self._change_power(fault.position)
            case FaultKind.FIBRE_CUT | FaultKind.FIBRE_DIRTY:
                hop = self.wiring.hop(fault.position, fault.number)
                self._shine_on([hop.low] if hop is not None else [])
            case FaultKind.FIBRE_SWAPPED:
                self._shine_on(self.cabling.recable())
            case FaultKind.MODULE_DEAD | FaultKind.BUNDLE_STUCK | FaultKind.BUNDLE_SLOW:
                self._break_bundle(fault.position, fault.number)
            case FaultKind.GPU_XID | FaultKind.GPU_LOST:
                report = reported(fault)
                if report is not None and self.powered(fault.position):
                    return [FaultOpened(fault.position, report) if opened else FaultClosed(fault.position, report.id)]
        return []

    def _change_power(self, position: int) -> list[PlantEvent]:
        """Bring a node in line with its power faults. One of several that was repaired changes nothing."""
        on = self.powered(position)
        if on == bool(self._modules[position]):
            return []
        if on:
            self._boots[position] += 1
            self._modules[position] = self._powered_on(position)
            for bundle in range(self.wiring.bundles):
                self._break_bundle(position, bundle)
        else:
            self._modules[position] = []
        self._shine_on(self.wiring.ports(position))  # with what its neighbours send: new modules never saw it
        return [PowerChanged(position, on=on)]

    def _break_bundle(self, position: int, bundle: int) -> None:
        """Bring the modules of a bundle in line with the faults that are open."""
        if not self._modules[position]:
            return
        dead = {fault.module for fault in self.faults.at(FaultKind.MODULE_DEAD, position, bundle)}
        stuck = self.faults.has(FaultKind.BUNDLE_STUCK, position, bundle)
        slow = sum(fault.delay for fault in self.faults.at(FaultKind.BUNDLE_SLOW, position, bundle))
        for select, (of, number) in enumerate(self._places):
            if of != bundle:
                continue
            module = self._modules[position][select]
            for fault, is_open in (
                (ModuleFault(ModuleFaultKind.DEAD), number in dead),
                (ModuleFault(ModuleFaultKind.STUCK), stuck),
                (ModuleFault(ModuleFaultKind.SLOW, seconds=slow), slow > 0),
            ):
                if is_open:
                    module.break_with(fault)
                else:
                    module.mend(fault.kind)
            self.moved([(position, select)])  # before its neighbours learn of it by their light
            self.follow(position, select)

    def _need_power(self, position: int) -> None:
        if not self.powered(position):
            raise UnavailableError(
                f"node {self.wiring.name(position)} has no power", hint="repair its power-off fault first"
            )

    def _over_the_bus(self, position: int) -> ConflictError:
        name = self.wiring.name(position)
        return ConflictError(
            f"the bundles of {name} are made of modules here", hint="drive them over the module socket; see docs"
        )

    def _powered_on(self, position: int) -> list[Module]:
        name, now = self.wiring.name(position), self._clock()
        return [self._make(name, bundle, number, now) for bundle, number in self._places]

    # -- light ---------------------------------------------------------------------------------------------------------

    def _selected(self, position: int, bundle: int) -> Path:
        paths = {module.path() for module in self._of_bundle(position, bundle)}
        return paths.pop() if len(paths) == 1 else Path.UNKNOWN

    def _sees(self, port: Port) -> bool:
        """Whether a bundle selects a port, and all lanes of all its modules see light there."""
        modules = self._of_bundle(port.position, port.bundle)
        return bool(modules) and all(module.path() is port.path and module.sees_light() for module in modules)

    def _of_bundle(self, position: int, bundle: int) -> list[Module]:
        modules = self._modules[position]
        return [modules[select] for select, (of, _) in enumerate(self._places) if of == bundle] if modules else []

    def _shine_on(self, ports: Iterable[Port]) -> None:
        """The fibres at these ports changed: let the light of both their ends arrive anew."""
        ends = {end for port in ports for end in (port, self.cabling.far(port)) if end is not None}
        keys = sorted(
            {
                (end.position, select)
                for end in ends
                for select, (bundle, _) in enumerate(self._places)
                if bundle == end.bundle
            }
        )
        self.moved(self._shine(keys))

    def _shine(self, keys: Iterable[ModuleKey]) -> list[ModuleKey]:
        """Let the light of modules arrive at both ports' far ends; the modules that got any, or lost it."""
        reached: list[ModuleKey] = []
        for position, select in keys:
            for path in EXTERNAL_PATHS:
                reached += self._shine_through(position, select, path)
        return reached

    def _shine_through(self, position: int, select: int, path: Path) -> Iterator[ModuleKey]:
        bundle, number = self._places[select]
        port = Port(position, bundle, path)
        fibre, far = self.cabling.at(port), self.cabling.far(port)
        if fibre is None or far is None or not self._modules[far.position]:
            return
        there = self._places.index((far.bundle, number)) if (far.bundle, number) in self._places else None
        if there is None:
            return  # its bundle has fewer modules
        powers = self._sent(position, select, path)
        loss = self.cabling.loss(fibre) if self.cabling.is_whole(fibre) else math.inf
        self._modules[far.position][there].receive(far.path, tuple(power - loss for power in powers), self._clock())
        yield far.position, there

    def _sent(self, position: int, select: int, path: Path) -> tuple[float, ...]:
        modules = self._modules[position]
        return modules[select].emitted(path) if modules else DARKNESS
