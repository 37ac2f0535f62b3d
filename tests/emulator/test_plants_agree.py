"""Both fidelities say the same of the same fabric, once everything has come to rest."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.emulator.faults import EmulatedFault, FaultKind, FaultRequest
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import Path
from tests.emulator.rack import MODULES, Rack

NODES = 5
_KINDS = (
    FaultKind.FIBRE_CUT,
    FaultKind.FIBRE_DIRTY,
    FaultKind.FIBRE_SWAPPED,
    FaultKind.MODULE_DEAD,
    FaultKind.POWER_OFF,
)
_NODE = st.integers(0, NODES - 1)
_SWITCH = st.tuples(
    st.just("switch"), _NODE, st.integers(0, 1), st.sampled_from([Path.LOOPBACK, Path.PATH_1, Path.PATH_2])
)
_BREAK = st.tuples(
    st.just("break"),
    _NODE,
    st.integers(1, 2),
    st.sampled_from(
        [
            FaultKind.FIBRE_CUT,
            FaultKind.FIBRE_DIRTY,
            FaultKind.FIBRE_SWAPPED,
            FaultKind.MODULE_DEAD,
            FaultKind.POWER_OFF,
        ]
    ),
)
_REPAIR = st.tuples(st.just("repair"), st.integers(0, 5), st.just(0), st.none())


def _request(kind: FaultKind, node: int, part: int) -> FaultRequest:
    return FaultRequest(
        kind,
        f"n{node}",
        bundle=part - 1,
        module=1,
        distance=part,
        partner=f"n{(node + 2) % NODES}+{part}",
        loss=2.0 if node % 2 else 30.0,  # plainly enough light, or plainly not
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

    def break_(self, kind: FaultKind, node: int, part: int) -> None:
        request = _request(kind, node, part)
        if request.id not in self.open:
            self.fast.inject(request)
            self.open[request.id] = self.rack.plant.inject(request)[0]
            self.rack.settle()

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
@given(st.lists(st.one_of(_SWITCH, _SWITCH, _BREAK, _REPAIR), max_size=25))
def test_at_rest_they_agree(make_spec, steps) -> None:
    both = Both(make_spec)
    assert MODULES == 2
    for kind, first, second, what in steps:
        if kind == "switch":
            both.switch(first, second, what)
        elif kind == "break":
            both.break_(what, first, second)
        else:
            both.repair(first)
        both.compare()
