"""The emulated hardware down to registers: modules on buses, and real powers on the fibres between them.

What `ringlight.emulator.plant` decides by a table is here the sum of parts. A bundle selects what all its modules
select. Light leaves a module with the power that its lasers and its losses leave it, loses what its fibre takes, and
arrives at whatever module the fibre leads to; whether that sees it is for its receivers. A port is lit when every lane
of every module of its bundle, and of the one at the far end, sees enough.

Whoever changes a module says so with `follow`; nothing looks at thousands of modules that are quiet. There is no clock
here but the one that is given.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from ringlight.emulator.cabling import Cabling
from ringlight.emulator.faults import EmulatedFault, FaultBook, FaultKind, FaultRequest
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import LANES, Module
from ringlight.emulator.plant import FaultClosed, FaultOpened, NodeReading, PlantEvent, PowerChanged, reported
from ringlight.fabric.circuits import EXTERNAL_PATHS, CircuitTable, Path, PortKey
from ringlight.fabric.errors import ConflictError, UnavailableError
from ringlight.fabric.spec import Port
from ringlight.fabric.trace import Trace, trace
from ringlight.fabric.wiring import Wiring

ModuleKey = tuple[int, int]  # (position of the node, select line on its bus)
MakeModule = Callable[[str, int, int, float], Module]  # node, bundle, number in the bundle, now

_DARKNESS = (-math.inf,) * LANES
_BUNDLE_FAULTS = (FaultKind.MODULE_DEAD, FaultKind.BUNDLE_STUCK, FaultKind.BUNDLE_SLOW)


class RegisterPlant:
    """Every part of one emulated fabric, its modules as they answer on their buses.

    Args:
        wiring: the cabling as it should be.
        boot: begins every hardware boot id; must differ between two plants of one fabric.
        make: builds a module as it is when its node gets power.
        clock: seconds, only grows.

    Attributes:
        moved: called with the modules whose lines or plans may have changed, and with all of a node that lost its
            power or has it back.
    """

    def __init__(self, wiring: Wiring, boot: str, make: MakeModule, clock: Callable[[], float]) -> None:
        self.wiring = wiring
        self.faults = FaultBook(wiring)
        self.moved: Callable[[Iterable[ModuleKey]], None] = lambda _: None
        self._cabling = Cabling(wiring, self.faults)
        self._boot = boot
        self._boots = [1] * wiring.size
        self._make = make
        self._clock = clock
        self._places = [
            (bundle, number) for bundle, spec in enumerate(wiring.spec.bundles) for number in range(spec.modules)
        ]
        self._selects = {place: select for select, place in enumerate(self._places)}
        self._modules: list[list[Module]] = [self._powered_on(position) for position in range(wiring.size)]
        self._followed: dict[ModuleKey, int] = {}  # the version of a module whose light has arrived everywhere

    # -- what it is ----------------------------------------------------------------------------------------------------

    def powered(self, position: int) -> bool:
        """Whether a node has power."""
        return not self.faults.has(FaultKind.POWER_OFF, position)

    def boot_id(self, position: int) -> str:
        """The hardware boot id of a node: another one after each loss of power."""
        return f"{self._boot}.{self.wiring.name(position)}.{self._boots[position]}"

    def modules(self, position: int) -> Sequence[Module]:
        """The modules of a node by select line; none without power."""
        return self._modules[position]

    def every_module(self) -> list[ModuleKey]:
        """Every module that there can be."""
        return [(position, select) for position in range(self.wiring.size) for select in range(len(self._places))]

    def table(self, position: int) -> CircuitTable:
        """What the bundles of a node select: unknown where their modules differ, dark without power."""
        return tuple(self._selected(position, bundle) for bundle in range(self.wiring.bundles))

    def lit(self, port: Port) -> bool:
        """Whether light arrives at a port on every lane, and from it at the far end."""
        far = self._cabling.far(port)
        return far is not None and self._sees(port) and self._sees(far)

    def read(self, position: int) -> NodeReading:
        """What there is to know of a node; faults are those of its GPUs, since modules tell theirs by registers.

        Raises:
            UnavailableError: the node has no power.
        """
        if not self.powered(position):
            raise UnavailableError(
                f"node {self.wiring.name(position)} has no power", hint="repair its power-off fault first"
            )
        faults = (reported(fault) for fault in self.faults.of_node(position) if fault.kind not in _BUNDLE_FAULTS)
        return NodeReading(
            circuits=self.table(position),
            light={(port.bundle, port.path): self.lit(port) for port in self.wiring.ports(position)},
            faults=tuple(fault for fault in faults if fault is not None),
        )

    def delay(self, position: int, bundle: int) -> float:
        """Seconds that slow-bundle faults add to a switch of this bundle."""
        return sum(fault.delay for fault in self.faults.at(FaultKind.BUNDLE_SLOW, position, bundle))

    def powers(self, position: int) -> dict[PortKey, tuple[float, float]]:
        """As `check_switch`: modules measure them.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def check_switch(self, position: int, _bundle: int, _path: Path) -> None:
        """Modules are switched over their bus, and by nobody else.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def select(self, position: int, _bundle: int, _path: Path) -> list[PlantEvent]:
        """As `check_switch`.

        Raises:
            ConflictError: always.
        """
        raise self._over_the_bus(position)

    def trace(self) -> Trace:
        """The GPU cycles and dangling chains that light and copper form at this moment."""
        now = self._clock()
        for of_node in self._modules:
            for module in of_node:
                module.advance(now)
        self._spread(self.every_module())
        everywhere = range(self.wiring.size)
        return trace(
            self.wiring,
            [self.table(position) for position in everywhere],
            dead_nodes={position for position in everywhere if not self.powered(position)},
            dead_bundles={
                (position, bundle)
                for position in everywhere
                for bundle in range(self.wiring.bundles)
                if not all(module.sees_light() for module in self._of_bundle(position, bundle))
            },
            fibres=[fibre for fibre in self._cabling.whole() if self.lit(fibre.a)],
        )

    # -- what happens to it --------------------------------------------------------------------------------------------

    def follow(self, position: int, select: int) -> None:
        """A module was written to, or time went by for it: let its light arrive wherever its fibres lead."""
        if select < len(self._modules[position]):
            self._spread([(position, select)])

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
                self._shine_anew([hop.low] if hop is not None else [])
            case FaultKind.FIBRE_SWAPPED:
                self._shine_anew(self._cabling.recable())
            case FaultKind.MODULE_DEAD | FaultKind.MODULE_FAULT | FaultKind.BUNDLE_STUCK | FaultKind.BUNDLE_SLOW:
                self._break_bundle(fault.position, fault.number)
            case FaultKind.GPU_XID | FaultKind.GPU_LOST:
                report = reported(fault)
                if report is not None and self.powered(fault.position):
                    return [FaultOpened(fault.position, report) if opened else FaultClosed(fault.position, report.id)]
            case FaultKind.AGENT_CRASH | FaultKind.AGENT_HANG:
                pass  # no part of the hardware
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
        self._shine_anew(self.wiring.ports(position))
        self.moved([(position, select) for select in range(len(self._places))])
        return [PowerChanged(position, on=on)]

    def _powered_on(self, position: int) -> list[Module]:
        name, now = self.wiring.name(position), self._clock()
        return [self._make(name, bundle, number, now) for bundle, number in self._places]

    def _break_bundle(self, position: int, bundle: int) -> None:
        """Bring the modules of a bundle in line with its open faults."""
        now = self._clock()
        keys: list[ModuleKey] = []
        for number, module in enumerate(self._of_bundle(position, bundle)):
            module.advance(now)
            wanted = {fault.kind: fault for fault in self._misbehaviour(position, bundle, number)}
            for kind in ModuleFaultKind:
                if kind in wanted:
                    module.break_with(wanted[kind])
                else:
                    module.mend(kind)
            keys.append((position, self._selects[bundle, number]))
        self._spread(keys)

    def _misbehaviour(self, position: int, bundle: int, number: int) -> Iterator[ModuleFault]:
        """What is wrong with a module, by the faults that are open; of one kind the last counts."""
        if any(fault.module == number for fault in self.faults.at(FaultKind.MODULE_DEAD, position, bundle)):
            yield ModuleFault(ModuleFaultKind.DEAD)
        if self.faults.has(FaultKind.BUNDLE_STUCK, position, bundle):
            yield ModuleFault(ModuleFaultKind.STUCK)
        delay = self.delay(position, bundle)
        if delay > 0:
            yield ModuleFault(ModuleFaultKind.SLOW, seconds=delay)
        for fault in self.faults.at(FaultKind.MODULE_FAULT, position, bundle):
            if fault.module == number and fault.misbehaviour is not None:
                yield fault.misbehaviour

    def _over_the_bus(self, position: int) -> ConflictError:
        return ConflictError(
            f"the bundles of {self.wiring.name(position)} are made of modules here",
            hint="use the CMIS driver over the module bus, or run the emulator with --modules fast",
        )

    # -- light ---------------------------------------------------------------------------------------------------------

    def _selected(self, position: int, bundle: int) -> Path:
        paths = {module.path() for module in self._of_bundle(position, bundle)}
        if not paths:
            return Path.DARK
        return paths.pop() if len(paths) == 1 else Path.UNKNOWN

    def _sees(self, port: Port) -> bool:
        """Whether a bundle selects a port, and all lanes of all its modules see light there."""
        modules = self._of_bundle(port.position, port.bundle)
        return bool(modules) and all(module.path() is port.path and module.sees_light() for module in modules)

    def _of_bundle(self, position: int, bundle: int) -> list[Module]:
        first = self._selects[bundle, 0]
        return self._modules[position][first : first + self.wiring.spec.bundles[bundle].modules]

    def _shine_anew(self, ports: Iterable[Port]) -> None:
        """The fibres at these ports changed, or what is at their ends: let the light of both ends arrive anew."""
        ends = {end for port in ports for end in (port, self._cabling.far(port)) if end is not None}
        keys = sorted(
            {
                (end.position, self._selects[end.bundle, number])
                for end in ends
                for number in range(self.wiring.spec.bundles[end.bundle].modules)
            }
        )
        for key in keys:
            self._followed.pop(key, None)
        self._spread(keys)

    def _spread(self, keys: Iterable[ModuleKey]) -> None:
        """Let the light of modules arrive, where it changed; and so on, where time went by for whom it reached."""
        waiting = list(keys)
        touched: dict[ModuleKey, None] = {}
        while waiting:
            key = waiting.pop()
            touched[key] = None
            version = self._version(key)
            if self._followed.get(key) != version:
                self._followed[key] = version
                for path in EXTERNAL_PATHS:
                    waiting += self._shine_through(key, path)
        self.moved(touched)

    def _version(self, key: ModuleKey) -> int:
        """Of what a module sends; -1 without power."""
        modules = self._modules[key[0]]
        return modules[key[1]].version() if modules else -1

    def _shine_through(self, key: ModuleKey, path: Path) -> list[ModuleKey]:
        """Let what a module sends through a port arrive; the module that it reached."""
        position, select = key
        bundle, number = self._places[select]
        port = Port(position, bundle, path)
        fibre, far = self._cabling.at(port), self._cabling.far(port)
        if fibre is None or far is None or not self._modules[far.position]:
            return []
        reached = self._selects.get((far.bundle, number))
        if reached is None:
            return []  # the bundle there has fewer modules
        modules = self._modules[position]
        powers = modules[select].emitted(path) if modules else _DARKNESS
        loss = self._cabling.loss(fibre) if self._cabling.is_whole(fibre) else math.inf
        self._modules[far.position][reached].receive(far.path, tuple(power - loss for power in powers), self._clock())
        return [(far.position, reached)]
