"""What can be broken in an emulated fabric, and what is broken now.

A fault is a record that is opened and closed by its own id. Faults overlap: a part is broken as long as at least one
open fault says so, so the state of a part is always derived from the set and never toggled. The book holds the set;
it does not know what a fault does to light (`ringlight.emulator.plant`) or to an agent (`ringlight.emulator.agents`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

from ringlight.emulator.module.faults import EVERY_LANE, ModuleFault, ModuleFaultKind
from ringlight.fabric.errors import ConflictError, InvalidError, NotFoundError
from ringlight.fabric.wiring import HopKey, Wiring

FALLEN_OFF_BUS = 79  # the XID of a GPU fault whose request names none
LONGEST_DELAY = 3600.0  # seconds; a bundle slower than this is stuck
HIGHEST_XID = 999
_OTHERWISE = (ModuleFaultKind.DEAD, ModuleFaultKind.STUCK, ModuleFaultKind.SLOW)  # kinds of their own: MODULE_DEAD, ...
HIGHEST_LOSS = 60.0  # dB; no receiver sees what is left of light after this
RECOVERY_ACTIONS = frozenset(
    {"", "none", "gpu-reset", "gpu-reset-bus", "drain-p2p", "drain-and-reset", "node-reboot"}
)  # what a GPU's driver may want done


class FaultKind(IntEnum):
    """Ways to break a part. The numbers are those of the wire protocol."""

    GPU_XID = 1
    GPU_LOST = 2
    POWER_OFF = 3
    AGENT_CRASH = 4
    AGENT_HANG = 5
    FIBRE_CUT = 6
    MODULE_DEAD = 7
    BUNDLE_STUCK = 8
    BUNDLE_SLOW = 9
    FIBRE_SWAPPED = 10
    FIBRE_DIRTY = 11
    MODULE_FAULT = 12

    @property
    def label(self) -> str:
        """``gpu-xid``: for messages and people."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class FaultRequest:
    """What somebody asks to break. Fields a kind does not use are ignored.

    Attributes:
        kind: how it breaks.
        node: where; for a fibre the lower end of its hop.
        gpu: number in the node (GPU kinds).
        xid: the XID a GPU reports; 0 stands for 79.
        recovery: what the GPU's driver then wants done; empty when it says nothing.
        bundle: number in the node (bundle kinds).
        module: number in the bundle (MODULE_DEAD, MODULE_FAULT).
        distance: of the hop (fibre kinds).
        delay: seconds added to each switch (BUNDLE_SLOW), or that a way to misbehave takes (MODULE_FAULT).
        partner: name of the hop with which this one exchanges its far end (FIBRE_SWAPPED).
        loss: dB that the dirt takes from the light (FIBRE_DIRTY).
        how: in which way a module misbehaves (MODULE_FAULT); `module.faults` has them all.
        amount: how much, for ways that need it (MODULE_FAULT).
        lanes: which, one bit each; 0 for all (MODULE_FAULT).
        id: a name for the fault; empty lets the book choose one.
    """

    kind: FaultKind
    node: str
    gpu: int = 0
    xid: int = 0
    recovery: str = ""
    bundle: int = 0
    module: int = 0
    distance: int = 0
    delay: float = 0.0
    partner: str = ""
    loss: float = 0.0
    how: str = ""
    amount: float = 0.0
    lanes: int = 0
    id: str = ""


@dataclass(frozen=True, slots=True)
class EmulatedFault:
    """One open fault.

    Attributes:
        id: unique in the fabric while the fault is open.
        kind: how it breaks.
        position: of the node it was injected at.
        number: which part of the node: GPU or bundle number, hop distance, or 0 for the node and its agent.
        component: the same for people: ``gpu3``, ``b0.m2``, ``b0``, ``node``, ``agent``, ``n3+2`` or ``n3+1 n5+1``.
        xid: of a GPU_XID, else 0.
        recovery: what the GPU's driver then wants done, of a GPU_XID.
        delay: seconds a BUNDLE_SLOW adds, else 0.
        partner: the other hop of a FIBRE_SWAPPED.
        loss: dB that a FIBRE_DIRTY takes, else 0.
        module: number in the bundle, of a MODULE_DEAD or MODULE_FAULT.
        misbehaviour: of a MODULE_FAULT.
    """

    id: str
    kind: FaultKind
    position: int
    number: int
    component: str
    xid: int = 0
    recovery: str = ""
    delay: float = 0.0
    partner: HopKey | None = None
    loss: float = 0.0
    module: int = 0
    misbehaviour: ModuleFault | None = None


PartKey = tuple[FaultKind, int, int]  # (kind, position, number of the part)


class FaultBook:
    """The set of open faults of one fabric."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._open: dict[str, EmulatedFault] = {}
        self._at: dict[PartKey, dict[str, EmulatedFault]] = {}
        self._of_node: dict[int, dict[str, EmulatedFault]] = {}
        self._numbered = 0

    def open(self, request: FaultRequest) -> EmulatedFault:
        """Add a fault.

        Raises:
            NotFoundError: the fabric has no such node.
            InvalidError: the node has no such part, or a value is out of range.
            ConflictError: a fault of this id is open already.
        """
        if request.id in self._open:
            raise ConflictError(
                f"a fault with the id {request.id!r} is open already: {self.describe(self._open[request.id])}",
                hint="repair it first, choose another id, or leave the id out",
            )
        position = self._wiring.position(request.node)
        fault = _BUILDERS[request.kind](self._wiring, request, request.id or self._next_id(), position)
        self._open[fault.id] = fault
        self._at.setdefault((fault.kind, fault.position, fault.number), {})[fault.id] = fault
        self._of_node.setdefault(fault.position, {})[fault.id] = fault
        return fault

    def close(self, fault_id: str) -> EmulatedFault:
        """Take a fault out of the set.

        Raises:
            NotFoundError: no fault of this id is open.
        """
        try:
            fault = self._open.pop(fault_id)
        except KeyError:
            raise NotFoundError(f"no fault {fault_id!r} is open", hint=self._hint_of_open()) from None
        del self._of_node[fault.position][fault_id]
        key = (fault.kind, fault.position, fault.number)
        of_part = self._at[key]
        del of_part[fault_id]
        if not of_part:
            del self._at[key]
        return fault

    def all(self) -> tuple[EmulatedFault, ...]:
        """Every open fault, in the order in which they were opened."""
        return tuple(self._open.values())

    def of_node(self, position: int) -> tuple[EmulatedFault, ...]:
        """The open faults of a node, in the order in which they were opened."""
        return tuple(self._of_node.get(position, {}).values())

    def of_kind(self, kind: FaultKind) -> tuple[EmulatedFault, ...]:
        """The open faults of one kind, in the order in which they were opened."""
        return tuple(fault for fault in self._open.values() if fault.kind is kind)

    def at(self, kind: FaultKind, position: int, number: int = 0) -> tuple[EmulatedFault, ...]:
        """The open faults of one kind at one part."""
        return tuple(self._at.get((kind, position, number), {}).values())

    def has(self, kind: FaultKind, position: int, number: int = 0) -> bool:
        """Whether a part is broken in this way."""
        return (kind, position, number) in self._at

    def describe(self, fault: EmulatedFault) -> str:
        """``gpu-xid at n3, gpu2``: a fault in words."""
        return f"{fault.kind.label} at {self._wiring.name(fault.position)}, {fault.component}"

    def _next_id(self) -> str:
        while True:
            self._numbered += 1
            fault_id = f"f{self._numbered}"
            if fault_id not in self._open:
                return fault_id

    def _hint_of_open(self) -> str:
        if not self._open:
            return "no fault is open at all"
        first = sorted(self._open)[:8]
        return "open are " + ", ".join(first) + (" ..." if len(self._open) > len(first) else "")


def _check_number(wiring: Wiring, position: int, what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise InvalidError(
            f"node {wiring.name(position)} has no {what}{number}",
            hint=f"it has {count}, numbered 0 to {count - 1}",
        )


def _gpu_xid(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    _check_number(wiring, position, "GPU ", request.gpu, wiring.spec.gpus)
    xid = request.xid or FALLEN_OFF_BUS
    if not 1 <= xid <= HIGHEST_XID:
        raise InvalidError(f"{xid} is no XID", hint=f"XIDs are numbers from 1 to {HIGHEST_XID}")
    if request.recovery not in RECOVERY_ACTIONS:
        raise InvalidError(
            f"{request.recovery!r} is no recovery action", hint=f"one of {', '.join(sorted(RECOVERY_ACTIONS - {''}))}"
        )
    return EmulatedFault(
        fault_id, request.kind, position, request.gpu, f"gpu{request.gpu}", xid=xid, recovery=request.recovery
    )


def _gpu_lost(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    _check_number(wiring, position, "GPU ", request.gpu, wiring.spec.gpus)
    return EmulatedFault(fault_id, request.kind, position, request.gpu, f"gpu{request.gpu}")


def _power_off(_wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    return EmulatedFault(fault_id, request.kind, position, 0, "node")


def _agent(_wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    return EmulatedFault(fault_id, request.kind, position, 0, "agent")


def _fibre_cut(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    key = _fibre_of(wiring, request, position)
    return EmulatedFault(fault_id, request.kind, position, key.distance, wiring.hop_name(key))


def _fibre_swapped(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    key = _fibre_of(wiring, request, position)
    if not request.partner:
        raise InvalidError(
            f"fibre {wiring.hop_name(key)} cannot exchange its far end with nothing", hint="name the other hop as well"
        )
    partner = wiring.parse_hop(request.partner)
    if partner == key:
        raise InvalidError(
            f"fibre {wiring.hop_name(key)} cannot exchange its far end with itself", hint="name another hop"
        )
    component = f"{wiring.hop_name(key)} {wiring.hop_name(partner)}"
    return EmulatedFault(fault_id, request.kind, position, key.distance, component, partner=partner)


def _fibre_dirty(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    key = _fibre_of(wiring, request, position)
    if not 0 < request.loss <= HIGHEST_LOSS:
        raise InvalidError(
            f"dirt cannot take {request.loss:g} dB from the light",
            hint=f"give a loss above 0 and at most {HIGHEST_LOSS:g} dB",
        )
    return EmulatedFault(fault_id, request.kind, position, key.distance, wiring.hop_name(key), loss=request.loss)


def _fibre_of(wiring: Wiring, request: FaultRequest, position: int) -> HopKey:
    if wiring.hop(position, request.distance) is None:
        distances = [key.distance for key in _hops_from(wiring, position)]
        known = " and ".join(str(distance) for distance in sorted(distances))
        raise InvalidError(
            f"no fibre leads from {request.node} over distance {request.distance}",
            hint=f"fibres from {request.node} go over {known}" if known else f"no fibre begins at {request.node}",
        )
    return HopKey(position, request.distance)


def _hops_from(wiring: Wiring, position: int) -> list[HopKey]:
    hops = (wiring.hop_at(port) for port in wiring.ports(position))
    return [hop.key for hop in hops if hop is not None and hop.key.position == position]


def _module_dead(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    _check_number(wiring, position, "bundle ", request.bundle, wiring.bundles)
    modules = wiring.spec.bundles[request.bundle].modules
    _check_number(wiring, position, f"module b{request.bundle}.m", request.module, modules)
    component = f"b{request.bundle}.m{request.module}"
    return EmulatedFault(fault_id, request.kind, position, request.bundle, component, module=request.module)


def _module_fault(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    unplugged = _module_dead(wiring, request, fault_id, position)
    ways = [kind.value for kind in ModuleFaultKind if kind not in _OTHERWISE]
    if request.how not in ways:
        raise InvalidError(f"a module cannot be {request.how!r}", hint=f"one of {', '.join(ways)}")
    if not 0 <= request.delay <= LONGEST_DELAY or not 0 <= request.lanes <= EVERY_LANE:
        raise InvalidError(
            f"{request.delay:g} s on lanes {request.lanes:#x} is out of range",
            hint=f"give a delay of at most {LONGEST_DELAY:g} seconds, and lanes from 1 to 8",
        )
    how = ModuleFaultKind(request.how)
    misbehaviour = ModuleFault(how, request.delay, request.lanes or EVERY_LANE, request.amount)
    return replace(unplugged, misbehaviour=misbehaviour)


def _bundle_stuck(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    _check_number(wiring, position, "bundle ", request.bundle, wiring.bundles)
    return EmulatedFault(fault_id, request.kind, position, request.bundle, f"b{request.bundle}")


def _bundle_slow(wiring: Wiring, request: FaultRequest, fault_id: str, position: int) -> EmulatedFault:
    _check_number(wiring, position, "bundle ", request.bundle, wiring.bundles)
    if not 0 < request.delay <= LONGEST_DELAY:
        raise InvalidError(
            f"a slow bundle cannot be slow by {request.delay:g} s",
            hint=f"give a delay above 0 and at most {LONGEST_DELAY:g} seconds",
        )
    return EmulatedFault(fault_id, request.kind, position, request.bundle, f"b{request.bundle}", delay=request.delay)


_BUILDERS: dict[FaultKind, Callable[[Wiring, FaultRequest, str, int], EmulatedFault]] = {
    FaultKind.GPU_XID: _gpu_xid,
    FaultKind.GPU_LOST: _gpu_lost,
    FaultKind.POWER_OFF: _power_off,
    FaultKind.AGENT_CRASH: _agent,
    FaultKind.AGENT_HANG: _agent,
    FaultKind.FIBRE_CUT: _fibre_cut,
    FaultKind.MODULE_DEAD: _module_dead,
    FaultKind.BUNDLE_STUCK: _bundle_stuck,
    FaultKind.BUNDLE_SLOW: _bundle_slow,
    FaultKind.FIBRE_SWAPPED: _fibre_swapped,
    FaultKind.FIBRE_DIRTY: _fibre_dirty,
    FaultKind.MODULE_FAULT: _module_fault,
}
