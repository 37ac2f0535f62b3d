from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.plant import (
    FaultClosed,
    FaultOpened,
    HardwareFault,
    LightChanged,
    Plant,
    PlantEvent,
    PowerChanged,
)
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path
from ringlight.fabric.errors import InvalidError, NotFoundError, UnavailableError
from ringlight.fabric.rings import chain_tables, gpu_order
from ringlight.fabric.spec import (
    FabricSpec,
    NodeSpec,
    Port,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
)
from ringlight.fabric.wiring import HopKey, Wiring

L, P1, P2, DARK = Path.LOOPBACK, Path.PATH_1, Path.PATH_2, Path.DARK


@pytest.fixture
def plant(make_wiring: Callable[..., Wiring]) -> Plant:
    return Plant(make_wiring(8, k=2, gpus=4), boot="boot")


def _lay(plant: Plant, chain: list[int]) -> None:
    for position, table in chain_tables(plant.wiring, chain).items():
        for bundle, path in enumerate(table):
            plant.select(position, bundle, path)


def test_light_comes_when_both_ends_select_the_fibre_and_goes_when_one_leaves(plant: Plant) -> None:
    assert plant.select(0, 0, P1) == []
    assert not plant.lit(Port(0, 0, P1))
    assert plant.select(1, 1, P1) == [LightChanged(0, (0, P1), True), LightChanged(1, (1, P1), True)]
    assert plant.lit(Port(0, 0, P1))
    assert plant.read(1).light == {(0, P1): False, (0, P2): False, (1, P1): True, (1, P2): False}
    assert plant.select(0, 0, L) == [LightChanged(0, (0, P1), False), LightChanged(1, (1, P1), False)]


def test_moving_from_one_fibre_to_another_tells_the_old_ends_and_the_new_ones(plant: Plant) -> None:
    _lay(plant, [0, 1])
    plant.select(2, 1, P2)
    assert plant.select(0, 0, P2) == [
        LightChanged(0, (0, P1), False),
        LightChanged(1, (1, P1), False),
        LightChanged(0, (0, P2), True),
        LightChanged(2, (1, P2), True),
    ]


def test_selecting_what_is_selected_changes_nothing(plant: Plant) -> None:
    _lay(plant, [0, 1])
    assert plant.select(0, 0, P1) == []


def test_a_cut_fibre_is_dark_at_both_ends_until_every_cut_is_repaired(plant: Plant) -> None:
    _lay(plant, [0, 1, 2])
    first, events = plant.inject(FaultRequest(FaultKind.FIBRE_CUT, "n1", distance=1))
    assert events == [LightChanged(1, (0, P1), False), LightChanged(2, (1, P1), False)]
    second, events = plant.inject(FaultRequest(FaultKind.FIBRE_CUT, "n1", distance=1))
    assert events == []
    assert plant.repair(first.id) == (first, [])
    assert plant.repair(second.id)[1] == [LightChanged(1, (0, P1), True), LightChanged(2, (1, P1), True)]


def test_a_dead_module_is_reported_and_its_bundle_carries_nothing(plant: Plant) -> None:
    _lay(plant, [0, 1])
    fault, events = plant.inject(FaultRequest(FaultKind.MODULE_DEAD, "n0", bundle=0, module=2))
    report = HardwareFault(fault.id, "b0.m2", "module-dead")
    assert events == [FaultOpened(0, report), LightChanged(0, (0, P1), False), LightChanged(1, (1, P1), False)]
    assert plant.read(0).faults == (report,)
    other, _ = plant.inject(FaultRequest(FaultKind.MODULE_DEAD, "n0", bundle=0, module=3))
    assert plant.repair(fault.id)[1] == [FaultClosed(0, fault.id)]
    assert plant.repair(other.id)[1][0] == FaultClosed(0, other.id)
    assert plant.lit(Port(0, 0, P1))


def test_a_dead_module_opens_its_edge_even_in_loopback(plant: Plant) -> None:
    assert len(plant.trace().cycles) == 8
    plant.inject(FaultRequest(FaultKind.MODULE_DEAD, "n5", bundle=1, module=0))
    traced = plant.trace()
    assert len(traced.cycles) == 7
    assert {node for chain in traced.dangling for node, _ in chain} == {5}


def test_a_stuck_bundle_says_nothing_and_keeps_its_path(plant: Plant) -> None:
    _lay(plant, [0, 1])
    fault, events = plant.inject(FaultRequest(FaultKind.BUNDLE_STUCK, "n0", bundle=0))
    assert events == []
    assert plant.read(0).faults == ()
    assert plant.select(0, 0, L) == []
    assert plant.table(0) == (P1, L)
    assert plant.lit(Port(1, 1, P1))
    assert plant.repair(fault.id)[1] == []
    assert plant.select(0, 0, L) != []


def test_gpu_faults_are_reported_and_leave_the_light_alone(plant: Plant) -> None:
    _lay(plant, [0, 1])
    xid, events = plant.inject(FaultRequest(FaultKind.GPU_XID, "n0", gpu=3, xid=48))
    assert events == [FaultOpened(0, HardwareFault(xid.id, "gpu3", "xid:48"))]
    lost, events = plant.inject(FaultRequest(FaultKind.GPU_LOST, "n0", gpu=3))
    assert events == [FaultOpened(0, HardwareFault(lost.id, "gpu3", "gpu-lost"))]
    assert [fault.id for fault in plant.read(0).faults] == [xid.id, lost.id]
    assert plant.repair(xid.id)[1] == [FaultClosed(0, xid.id)]
    assert [fault.id for fault in plant.read(0).faults] == [lost.id]


def test_agent_and_slow_faults_are_nothing_the_hardware_notices(plant: Plant) -> None:
    for kind in (FaultKind.AGENT_CRASH, FaultKind.AGENT_HANG):
        assert plant.inject(FaultRequest(kind, "n0"))[1] == []
    assert plant.inject(FaultRequest(FaultKind.BUNDLE_SLOW, "n0", bundle=1, delay=0.25))[1] == []
    plant.inject(FaultRequest(FaultKind.BUNDLE_SLOW, "n0", bundle=1, delay=0.5))
    assert plant.delay(0, 1) == 0.75
    assert plant.delay(0, 0) == 0
    assert plant.read(0).faults == ()


def test_a_node_that_lost_power_forgets_its_paths_and_boots_anew(plant: Plant) -> None:
    _lay(plant, [0, 1, 2])
    boot = plant.boot_id(1)
    fault, events = plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))
    assert events == [
        PowerChanged(1, on=False),
        LightChanged(1, (0, P1), False),
        LightChanged(2, (1, P1), False),
        LightChanged(0, (0, P1), False),
        LightChanged(1, (1, P1), False),
    ]
    assert plant.table(1) == (DARK, DARK)
    with pytest.raises(UnavailableError, match="n1 has no power"):
        plant.read(1)
    with pytest.raises(UnavailableError, match="n1 has no power"):
        plant.select(1, 0, P1)
    assert plant.repair(fault.id)[1] == [PowerChanged(1, on=True)]
    assert plant.table(1) == (L, L)
    assert plant.boot_id(1) != boot


def test_power_is_off_as_long_as_one_power_fault_is_open(plant: Plant) -> None:
    first, _ = plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))
    second, events = plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))
    assert events == []
    assert plant.repair(second.id)[1] == []
    assert not plant.powered(1)
    assert plant.repair(first.id)[1] == [PowerChanged(1, on=True)]


def test_faults_that_come_and_go_without_power_are_not_reported_until_it_is_back(plant: Plant) -> None:
    power, _ = plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))
    gone, events = plant.inject(FaultRequest(FaultKind.GPU_LOST, "n1", gpu=0))
    assert events == []
    stays, events = plant.inject(FaultRequest(FaultKind.GPU_LOST, "n1", gpu=1))
    assert events == []
    assert plant.repair(gone.id)[1] == []
    plant.repair(power.id)
    assert [fault.id for fault in plant.read(1).faults] == [stays.id]


def test_boot_ids_differ_between_nodes_and_between_plants(make_wiring: Callable[..., Wiring]) -> None:
    wiring = make_wiring(4, k=1)
    plants = [Plant(wiring, boot="a"), Plant(wiring, boot="b")]
    assert len({plant.boot_id(position) for plant in plants for position in range(4)}) == 8


@pytest.mark.parametrize(("bundle", "path"), [(2, L), (-1, L), (0, DARK), (0, Path.UNKNOWN)])
def test_no_hardware_accepts_such_a_command(plant: Plant, bundle: int, path: Path) -> None:
    with pytest.raises(InvalidError):
        plant.select(0, bundle, path)


def test_a_port_without_fibre_can_be_selected_and_stays_dark(make_wiring: Callable[..., Wiring]) -> None:
    plant = Plant(make_wiring(8, closed=False), boot="boot")
    assert plant.select(7, 0, P1) == []
    assert not plant.lit(Port(7, 0, P1))
    assert {node for chain in plant.trace().dangling for node, _ in chain} == {7}


def test_a_chain_that_is_laid_is_one_cycle_and_light_bends_round_a_dead_node(plant: Plant) -> None:
    _lay(plant, [0, 1, 2, 3])
    assert {frozenset(gpu_order(plant.wiring, [0, 1, 2, 3]))} < {frozenset(cycle) for cycle in plant.trace().cycles}
    plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))
    _lay(plant, [0, 2, 3])
    cycles = {frozenset(cycle) for cycle in plant.trace().cycles}
    assert frozenset(gpu_order(plant.wiring, [0, 2, 3])) in cycles
    assert not any((1, 0) in cycle for cycle in cycles)


def test_light_bends_over_a_run_of_dead_nodes_by_a_distance_that_is_longer_than_the_run() -> None:
    plant = Plant(_wiring(NODES, (1, 2, 4), closed=True), boot="boot")
    _lay(plant, [1, 2, 3])
    for node in ("n3", "n4", "n5"):
        plant.inject(FaultRequest(FaultKind.POWER_OFF, node))
    _lay(plant, [1, 2, 6])
    assert frozenset(gpu_order(plant.wiring, [1, 2, 6])) in {frozenset(cycle) for cycle in plant.trace().cycles}
    cut, events = plant.inject(FaultRequest(FaultKind.FIBRE_CUT, "n2", distance=4))
    assert cut.component == "n2+4"
    assert events == [LightChanged(2, (2, P1), False), LightChanged(6, (2, P2), False)]
    with pytest.raises(InvalidError, match="no fibre leads from n2 over distance 3"):
        plant.inject(FaultRequest(FaultKind.FIBRE_CUT, "n2", distance=3))


def _wiring(nodes: int, distances: tuple[int, ...], *, closed: bool) -> Wiring:
    fibres = fibres_of_port_map(default_port_map(distances), nodes, closed=closed)
    names = tuple(NodeSpec(f"n{position}") for position in range(nodes))
    return Wiring(FabricSpec("lab", distances, closed, 4, default_bundles(len(distances), 4), names, fibres))


def _light_by_definition(plant: Plant) -> dict[Port, bool]:
    """Light at every port, worked out from nothing but the open faults and the tables."""
    wiring, broken = plant.wiring, plant.faults.all()
    off = {fault.position for fault in broken if fault.kind is FaultKind.POWER_OFF}
    dead = {(fault.position, fault.number) for fault in broken if fault.kind is FaultKind.MODULE_DEAD}
    cut = {HopKey(fault.position, fault.number) for fault in broken if fault.kind is FaultKind.FIBRE_CUT}
    dirt = {hop.key: 0.0 for hop in wiring.hops}
    plugged = {hop.key: hop.high for hop in wiring.hops}
    for fault in broken:
        key = HopKey(fault.position, fault.number)
        if fault.kind is FaultKind.FIBRE_DIRTY:
            dirt[key] += fault.loss
        elif fault.kind is FaultKind.FIBRE_SWAPPED and fault.partner is not None:
            plugged[key], plugged[fault.partner] = plugged[fault.partner], plugged[key]
    light = {}
    for hop in wiring.hops:
        ends = (hop.low, plugged[hop.key])
        whole = hop.key not in cut and not any(
            end.position in off or (end.position, end.bundle) in dead for end in ends
        )
        lit = whole and all(plant.table(end.position)[end.bundle] is end.path for end in ends)
        lit = lit and 0.5 + dirt[hop.key] <= 13  # from 1 dBm down to -12 dBm
        light.update(dict.fromkeys(ends, lit))
    return light


NODES = 9
_positions = st.integers(0, NODES - 1)
_bundles = st.integers(0, 1)
_selections = st.tuples(
    st.just("select"), _positions, st.integers(0, 2), st.sampled_from([Path.LOOPBACK, *EXTERNAL_PATHS])
)
_chains = st.tuples(st.just("lay"), _positions, st.integers(2, 5), st.integers(1, 4))
_injections = st.builds(
    lambda kind, position, part, partner: (
        "inject",
        FaultRequest(
            kind,
            f"n{position}",
            gpu=part,
            bundle=part,
            module=part,
            distance=part + 1,
            delay=1.0,
            partner=f"n{partner}+1",
            loss=5.0,
        ),
    ),
    st.sampled_from([kind for kind in FaultKind if kind is not FaultKind.MODULE_FAULT]),
    _positions,
    _bundles,
    _positions,
)
_repairs = st.tuples(st.just("repair"), st.integers(0, 1000))
_steps = st.lists(st.one_of(_selections, _chains, _injections, _repairs), max_size=40)


class _Listener:
    """Follows a plant by its events alone, as an agent does, and knows what it should read at any time."""

    def __init__(self, plant: Plant) -> None:
        self.light = _light_by_definition(plant)
        self.reports: dict[int, set[str]] = {position: set() for position in range(plant.wiring.size)}

    def hear(self, plant: Plant, events: list[PlantEvent]) -> None:
        for event in events:
            match event:
                case LightChanged(position=position, port=(bundle, path), lit=lit):
                    assert self.light[Port(position, bundle, path)] is not lit, "an event that changes nothing"
                    self.light[Port(position, bundle, path)] = lit
                case FaultOpened(position=position, fault=fault):
                    assert fault.id not in self.reports[position]
                    self.reports[position].add(fault.id)
                case FaultClosed(position=position, fault_id=fault_id):
                    self.reports[position].remove(fault_id)
                case PowerChanged(position=position, on=True):
                    self.reports[position] = {fault.id for fault in plant.read(position).faults}


def _select(plant: Plant, position: int, bundle: int, path: Path) -> list[PlantEvent]:
    """As a live agent would: a node without power is told nothing."""
    if plant.powered(position) and bundle < plant.wiring.bundles:
        return plant.select(position, bundle, path)
    return []


def _lay_roughly(plant: Plant, chain: list[int]) -> list[PlantEvent]:
    events: list[PlantEvent] = []
    for low, high in pairwise(chain):
        hop = plant.wiring.hop_between(low, high)
        for end in (hop.low, hop.high) if hop is not None else ():
            events += _select(plant, end.position, end.bundle, end.path)
    return events


def _inject(plant: Plant, request: FaultRequest) -> list[PlantEvent]:
    try:
        return plant.inject(request)[1]
    except (InvalidError, NotFoundError):
        assert request.kind.label.startswith("fibre-"), "only a fibre that was never laid does not fit"
        return []


def _take(plant: Plant, step: tuple[object, ...]) -> list[PlantEvent]:
    match step:
        case ("select", int(position), int(bundle), Path() as path):
            return _select(plant, position, bundle, path)
        case ("lay", int(first), int(count), int(stride)):
            return _lay_roughly(plant, [(first + stride * index) % NODES for index in range(count)])
        case ("inject", FaultRequest() as request):
            return _inject(plant, request)
        case ("repair", int(choice)) if broken := plant.faults.all():
            return plant.repair(broken[choice % len(broken)].id)[1]
        case _:
            return []


@settings(max_examples=150)
@given(distances=st.sampled_from([(1, 2), (1, 2, 3), (1, 3), (1, 2, 4)]), closed=st.booleans(), steps=_steps)
def test_whatever_happens_light_is_exactly_its_definition_and_events_tell_all_of_it(
    distances: tuple[int, ...], closed: bool, steps: list[tuple[object, ...]]
) -> None:
    plant = Plant(_wiring(NODES, distances, closed=closed), boot="boot")
    listener = _Listener(plant)
    for step in steps:
        listener.hear(plant, _take(plant, step))
        expected = _light_by_definition(plant)
        assert listener.light == expected
        assert {port: plant.lit(port) for port in expected} == expected
        for position in range(NODES):
            if plant.powered(position):
                reading = plant.read(position)
                assert {fault.id for fault in reading.faults} == listener.reports[position]
                assert reading.light == {
                    (port.bundle, port.path): expected[port] for port in plant.wiring.ports(position)
                }


@settings(max_examples=100)
@given(steps=_steps)
def test_when_everything_is_repaired_every_part_works_again(steps: list[tuple[object, ...]]) -> None:
    plant = Plant(_wiring(NODES, (1, 2), closed=True), boot="boot")
    for step in steps:
        _take(plant, step)
    for fault in plant.faults.all():
        plant.repair(fault.id)
    for position in range(NODES):
        assert plant.powered(position)
        assert plant.read(position).faults == ()
        for bundle in range(2):
            assert plant.works(position, bundle)
            plant.select(position, bundle, Path.LOOPBACK)
    assert len(plant.trace().cycles) == NODES
