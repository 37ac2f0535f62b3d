"""Light is where the modules' lasers, switches and receivers, and the fibres between them, let it be."""

import pytest

from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.plant import FaultClosed, FaultOpened, HardwareFault, PowerChanged
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ConflictError, InvalidError, UnavailableError
from ringlight.fabric.spec import Port
from tests.emulator.rack import MODULES, Rack

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2
HERE, THERE = Port(0, 0, P1), Port(1, 1, P1)  # both ends of the fibre n0+1


@pytest.fixture
def rack(make_spec):
    rack = Rack(make_spec)
    rack.settle()
    return rack


@pytest.fixture
def lit(rack):
    """A rack whose first fibre carries light."""
    rack.select(0, 0, P1)
    rack.select(1, 1, P1)
    assert _is_lit(rack)
    rack.moved.clear()
    return rack


def _is_lit(rack):
    both = {rack.plant.lit(HERE), rack.plant.lit(THERE)}
    assert len(both) == 1, "both ends of a fibre are lit together"
    return both.pop()


def test_modules_that_came_up_are_idle_nodes(rack):
    assert rack.plant.table(0) == (L, L)
    assert rack.plant.trace().cycles == tuple(tuple((node, gpu) for gpu in range(4)) for node in range(4))


def test_modules_that_have_not_come_up_close_no_ring(make_spec):
    traced = Rack(make_spec).plant.trace()
    assert traced.cycles == ()
    assert len(traced.dangling) == 8, "copper alone leaves two halves of each node"


def test_a_fibre_is_lit_when_all_modules_of_both_bundles_select_it(rack):
    rack.select(0, 0, P1)
    assert not _is_lit(rack)
    rack.command(1, MODULES, P1)
    rack.settle()
    assert rack.plant.table(1) == (L, Path.UNKNOWN)
    assert not _is_lit(rack), "the other module of the bundle is not there yet"
    rack.command(1, MODULES + 1, P1)
    rack.settle()
    assert _is_lit(rack)
    assert rack.plant.read(1).light == {(0, P1): False, (0, P2): False, (1, P1): True, (1, P2): False}


def test_both_nodes_of_a_lit_fibre_and_its_return_make_one_ring(lit):
    lit.select(0, 1, L)
    cycles = lit.plant.trace().cycles
    assert max(len(cycle) for cycle in cycles) == 8


def test_light_that_goes_moves_the_modules_at_the_far_end(lit):
    lit.select(0, 0, L)
    assert not _is_lit(lit)
    assert {(1, MODULES), (1, MODULES + 1)} <= set(lit.moved)


@pytest.mark.parametrize(
    ("kind", "node", "details"),
    [
        (FaultKind.FIBRE_CUT, "n0", {"distance": 1}),
        (FaultKind.FIBRE_DIRTY, "n0", {"distance": 1, "loss": 20.0}),
        (FaultKind.FIBRE_SWAPPED, "n0", {"distance": 1, "partner": "n2+1"}),
        (FaultKind.MODULE_DEAD, "n1", {"bundle": 1, "module": 1}),
        (FaultKind.POWER_OFF, "n2", {}),
    ],
)
def test_what_is_broken_takes_the_light_until_it_is_repaired(lit, kind, node, details):
    lit.inject(kind, node, **details)
    lit.settle()
    assert _is_lit(lit) is (kind is FaultKind.POWER_OFF), "another node's power is nothing to this fibre"
    lit.repair()
    lit.settle()
    if kind is FaultKind.MODULE_DEAD:  # it was plugged in anew
        lit.command(1, MODULES + 1, P1)
        lit.settle()
    assert _is_lit(lit)


def test_a_little_dirt_leaves_the_light(lit):
    lit.inject(FaultKind.FIBRE_DIRTY, "n0", distance=1, loss=1.0)
    assert _is_lit(lit)


def test_light_of_exchanged_fibres_arrives_where_they_lead(rack):
    rack.inject(FaultKind.FIBRE_SWAPPED, "n0", distance=1, partner="n2+1")
    rack.select(0, 0, P1)
    rack.select(3, 1, P1)
    assert rack.plant.lit(HERE)
    assert rack.plant.lit(Port(3, 1, P1))


def test_a_node_that_lost_power_is_another_one_and_gets_its_neighbours_light(lit):
    boot = lit.plant.boot_id(1)
    assert lit.inject(FaultKind.POWER_OFF, "n1") == [PowerChanged(1, on=False)]
    assert list(lit.plant.modules(1)) == []
    assert not _is_lit(lit)
    assert lit.plant.table(1) == (Path.DARK, Path.DARK)
    with pytest.raises(UnavailableError, match="no power"):
        lit.plant.read(1)
    assert lit.repair() == [PowerChanged(1, on=True)]
    assert lit.plant.boot_id(1) != boot
    lit.settle()
    assert lit.plant.table(1) == (L, L)
    lit.select(1, 1, P1)
    assert _is_lit(lit)


def test_what_is_broken_stays_so_over_a_loss_of_power(rack):
    rack.plant.inject(_request(FaultKind.MODULE_DEAD, bundle=1, module=0))
    rack.inject(FaultKind.POWER_OFF, "n1")
    rack.repair()
    assert [module.present for module in rack.plant.modules(1)] == [True, True, False, True]


def test_a_stuck_bundle_does_not_move_until_it_is_repaired(lit):
    lit.inject(FaultKind.BUNDLE_STUCK, "n0", bundle=0)
    lit.select(0, 0, L)
    assert lit.plant.table(0)[0] is P1
    lit.repair()
    lit.select(0, 0, L)
    assert lit.plant.table(0)[0] is L


def test_the_delays_of_slow_bundles_add_up(rack):
    for _ in range(2):
        rack.plant.inject(_request(FaultKind.BUNDLE_SLOW, node="n0", bundle=0, delay=2.0))
    begin = rack.now
    rack.select(0, 0, P1)
    assert 4.0 <= rack.now - begin < 5.0


def test_faults_of_gpus_are_told_and_those_of_modules_are_theirs_to_tell(rack):
    opened = rack.inject(FaultKind.GPU_LOST, "n0", gpu=2)
    assert opened == [FaultOpened(0, HardwareFault("it", "gpu2", "gpu-lost"))]
    rack.plant.inject(_request(FaultKind.MODULE_DEAD, node="n0"))
    assert [fault.code for fault in rack.plant.read(0).faults] == ["gpu-lost"]
    assert rack.repair() == [FaultClosed(0, "it")]


def test_nobody_switches_but_over_the_bus(rack):
    with pytest.raises(ConflictError, match="made of modules"):
        rack.plant.select(0, 0, P1)


def _request(kind, node="n1", **details):
    return FaultRequest(kind, node, **details)


def test_one_module_misbehaves_until_that_is_repaired(rack):
    fault, events = rack.plant.inject(
        _request(FaultKind.MODULE_FAULT, bundle=1, module=1, how="laser-weak", amount=6.0, lanes=0b100)
    )
    module = rack.plant.modules(fault.position)[MODULES + 1]
    assert (events, fault.component) == ([], "b1.m1")
    assert module.faults.amount(ModuleFaultKind.LASER_WEAK, lane=2) == 6.0
    assert module.faults.amount(ModuleFaultKind.LASER_WEAK, lane=1) == 0.0
    rack.plant.repair(fault.id)
    assert not module.faults.has(ModuleFaultKind.LASER_WEAK)


def test_misbehaviour_outlives_a_loss_of_power(rack):
    fault, _ = rack.plant.inject(_request(FaultKind.MODULE_FAULT, how="hot", amount=40.0))
    off, _ = rack.plant.inject(_request(FaultKind.POWER_OFF))
    rack.plant.repair(off.id)
    assert rack.plant.modules(fault.position)[0].faults.has(ModuleFaultKind.HOT)


@pytest.mark.parametrize("how", ["", "dead", "stuck", "slow", "tired"])
def test_ways_to_misbehave_that_there_are_not(rack, how):
    with pytest.raises(InvalidError, match="a module cannot be"):
        rack.plant.inject(_request(FaultKind.MODULE_FAULT, how=how))
