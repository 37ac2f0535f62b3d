"""Both fidelities say the same of the same fabric, once everything has come to rest."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringlight.emulator.faults import EmulatedFault, FaultKind, FaultRequest
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import Path
from tests.emulator.rack import MODULES, Rack

NODES = 5
_NODE = st.integers(0, NODES - 1)
_SWITCH = st.tuples(
    st.just("switch"), _NODE, st.integers(0, 1), st.sampled_from([Path.LOOPBACK, Path.PATH_1, Path.PATH_2])
)
_KINDS = st.sampled_from(
    [
        FaultKind.FIBRE_CUT,
        FaultKind.FIBRE_DIRTY,
        FaultKind.FIBRE_SWAPPED,
        FaultKind.MODULE_DEAD,
        FaultKind.BUNDLE_STUCK,
        FaultKind.POWER_OFF,
    ]
)
_CONNECT = st.tuples(st.just("connect"), _NODE, st.integers(1, 2), st.none())
# Dirt of which docs/emulator.md says that light passes it, or does not, whatever the modules are.
_LOSSES = st.floats(0.1, 10.2) | st.floats(14.81, 60.0)
_BREAK = st.tuples(st.just("break"), _NODE, st.integers(1, 2), st.tuples(_KINDS, _LOSSES))
_REPAIR = st.tuples(st.just("repair"), st.integers(0, 5), st.just(0), st.none())


def _request(kind: FaultKind, node: int, part: int, loss: float) -> FaultRequest:
    return FaultRequest(
        kind,
        f"n{node}",
        bundle=part - 1,
        module=1,
        distance=part,
        partner=f"n{(node + 2) % NODES}+{part}",
        loss=loss,
        id=f"{kind.label}-{node}-{part}",
    )


class Both:
    """The same fabric in both fidelities."""

    def __init__(self, make_spec) -> None:
        self.rack = Rack(make_spec, NODES)
        self.rack.settle()
        self.fast = Plant(self.rack.plant.wiring, "boot")
        self.open: dict[str, EmulatedFault] = {}

    def switch(self, node: int, bundle: int, path: Path) -> None:
        dead = {(fault.position, fault.number) for fault in self.fast.faults.of_kind(FaultKind.MODULE_DEAD)}
        if self.fast.powered(node) and (node, bundle) not in dead:
            self.fast.select(node, bundle, path)
            self.rack.select(node, bundle, path)

    def connect(self, node: int, distance: int) -> None:
        """Have both ends of a fibre select it; single switches hardly ever meet."""
        hop = self.fast.wiring.hop(node, distance)
        for port in (hop.low, hop.high) if hop is not None else ():
            self.switch(port.position, port.bundle, port.path)

    def break_(self, kind: FaultKind, node: int, part: int, loss: float) -> None:
        request = _request(kind, node, part, loss)
        if request.id not in self.open and not self._plugs_into_stuck(kind, node, part - 1):
            self.fast.inject(request)
            self.open[request.id] = self.rack.plant.inject(request)[0]
            self.rack.settle()

    def _plugs_into_stuck(self, kind: FaultKind, node: int, bundle: int) -> bool:
        """Whether a bundle would be stuck and lack a module: what is plugged in then cannot be brought to its path."""
        other = {FaultKind.MODULE_DEAD: FaultKind.BUNDLE_STUCK, FaultKind.BUNDLE_STUCK: FaultKind.MODULE_DEAD}.get(kind)
        return other is not None and self.fast.faults.has(other, node, bundle)

    def repair(self, number: int) -> None:
        if not self.open:
            return
        fault = self.open.pop(sorted(self.open)[number % len(self.open)])
        self.fast.repair(fault.id)
        self.rack.plant.repair(fault.id)
        self.rack.settle()
        if fault.kind is FaultKind.MODULE_DEAD and self.fast.powered(fault.position):
            for bundle in range(2):  # a module that was plugged in anew is on loopback; an object kept its path
                self.switch(fault.position, bundle, self.fast.table(fault.position)[bundle])

    def compare(self) -> None:
        wiring = self.fast.wiring
        for position in range(wiring.size):
            assert self.fast.powered(position) == self.rack.plant.powered(position)
            assert self.fast.table(position) == self.rack.plant.table(position), wiring.name(position)
            for port in wiring.ports(position):
                assert self.fast.lit(port) == self.rack.plant.lit(port), wiring.port_name(port)
        assert self.fast.trace() == self.rack.plant.trace()


@settings(deadline=None, max_examples=60)
@example(as_ring=True, steps=[("break", 0, 1, (FaultKind.FIBRE_DIRTY, 10.2))])
@example(as_ring=True, steps=[("break", 0, 1, (FaultKind.FIBRE_DIRTY, 14.9))])
@given(as_ring=st.booleans(), steps=st.lists(st.one_of(_SWITCH, _CONNECT, _BREAK, _REPAIR), max_size=25))
def test_at_rest_they_agree(make_spec, as_ring, steps) -> None:
    both = Both(make_spec)
    assert MODULES == 2
    for node in range(NODES) if as_ring else ():  # light is everywhere, so whatever breaks takes some
        both.connect(node, 1)
    both.compare()
    for kind, first, second, what in steps:
        if kind == "switch":
            both.switch(first, second, what)
        elif kind == "connect":
            both.connect(first, second)
        elif kind == "break":
            both.break_(what[0], first, second, what[1])
        else:
            both.repair(first)
        both.compare()
