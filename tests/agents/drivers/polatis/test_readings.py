"""What a reading says about a node, and what happened between two."""

from dataclasses import replace

from ringlight.agents.drivers.polatis.messages import PortState
from ringlight.agents.drivers.polatis.readings import Reading, changes, powers_of, readout_of
from ringlight.agents.ports import FaultClosed, FaultOpened, LightChanged, OpticalPower
from ringlight.fabric.circuits import FaultClass, Path

L, P1, P2, DARK = Path.LOOPBACK, Path.PATH_1, Path.PATH_2, Path.DARK
JOINED = Reading({1: 20, 4: 17, 2: 18, 3: 19}, {})  # n0/b0 with n1/b1, the other two in loopback


def _readout(patch, reading, node="n0", light_above=None):
    return readout_of(patch, node, reading, light_above=light_above)


def test_circuits_and_light_by_cross_connects(patch):
    readout = _readout(patch, JOINED)
    assert readout.circuits == (P1, L)
    assert readout.light == {(0, P1): True, (0, P2): False, (1, P1): False, (1, P2): False}
    assert _readout(patch, replace(JOINED, connections={1: 20})).light[0, P1] is False, "one direction is no light"


def test_a_port_that_is_not_in_order_passes_no_light(patch):
    for port in (1, 17, 4, 20):
        for state in (PortState.FAILED, PortState.DISABLED):
            assert not _readout(patch, replace(JOINED, states={port: state})).light[0, P1]
    assert _readout(patch, replace(JOINED, states={2: PortState.FAILED})).light[0, P1], "of another bundle"


def test_light_by_power(patch):
    for power, lit in ((-10.0, True), (-20.0, False), (float("-inf"), False), (None, False)):
        reading = replace(JOINED, powers={1: 0.0, 17: power})
        assert _readout(patch, reading, light_above=-20.0).light[0, P1] is lit
    strong = Reading({}, {}, powers={17: 0.0})
    assert not any(_readout(patch, strong, light_above=-20.0).light.values()), "power from nobody we select is no light"


def test_powers_of_selected_ports_only(patch):
    reading = replace(JOINED, powers={1: 0.5, 17: -3.0, 2: 0.1, 18: -1.0})
    assert powers_of(patch, "n0", reading) == {(0, P1): OpticalPower(0.5, -3.0)}
    assert powers_of(patch, "n0", JOINED) == {}


def test_faults_have_stable_ids_and_name_the_module(patch):
    states = {1: PortState.FAILED, 17: PortState.FAILED, 18: PortState.DISABLED, 3: PortState.FAILED}
    reading = replace(JOINED, states=states, boot_mode="DARK", taken={("n0", 1): "somebody has it", ("n1", 0): "x"})
    found = [(fault.id, fault.component, fault.fault_class) for fault in _readout(patch, reading).faults]
    assert found == [
        ("port-failed:ingress-1", "b0.m0", FaultClass.FATAL),
        ("port-failed:egress-17", "b0.m0", FaultClass.FATAL),
        ("port-disabled:egress-18", "b1.m0", FaultClass.DEGRADED),
        ("egress-taken:b1", "b1", FaultClass.INFO),
        ("boot-mode-dark", "node", FaultClass.INFO),
    ]


def test_changes_are_edges(patch):
    before = _readout(patch, JOINED)
    assert changes(before, before) == []
    after = _readout(patch, Reading({1: 20}, {17: PortState.FAILED}))
    (fault,) = after.faults
    assert changes(before, after) == [LightChanged((0, P1), False), FaultOpened(fault)]
    assert changes(after, before) == [LightChanged((0, P1), True), FaultClosed(fault.id)]
