"""Messages and records: each survives the way to the wire and back, and words of newer peers are taken with care."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.fabric.circuits import EXTERNAL_PATHS, Fault, FaultClass, OpticalPower, Path
from ringlight.fabric.inventory import BundleInventory, Inventory, difference, inventory_of
from ringlight.protos.codec import (
    fault_from,
    fault_to,
    inventory_from,
    inventory_to,
    light_from,
    light_to,
    path_from,
    path_to,
    powers_from,
    powers_to,
    table_from,
    table_to,
)
from ringlight.protos.v1 import circuits_pb2 as pb

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def over_the_wire(message):
    """What the other side gets."""
    return type(message).FromString(message.SerializeToString())


@pytest.mark.parametrize(
    ("path", "number"),
    [
        (Path.UNKNOWN, pb.PATH_UNKNOWN),
        (Path.LOOPBACK, pb.PATH_LOOPBACK),
        (Path.PATH_1, pb.PATH_1),
        (Path.PATH_2, pb.PATH_2),
        (Path.DARK, pb.PATH_DARK),
    ],
)
def test_paths_have_the_numbers_of_the_protocol(path, number):
    assert path_to(path) == number
    assert path_from(number) is path


def test_every_word_of_the_protocol_is_known():
    assert sorted(pb.Path.values()) == sorted(Path)
    assert sorted(pb.FaultClass.values()) == [0, *sorted(FaultClass)]


@pytest.mark.parametrize("number", [5, 99, -1])
def test_a_path_of_a_newer_peer_is_unknown(number):
    assert path_from(number) is Path.UNKNOWN
    assert table_from(pb.CircuitTable(paths=[pb.PATH_1, number])) == (Path.PATH_1, Path.UNKNOWN)


_DBM = st.none() | st.floats(-60, 20) | st.just(-math.inf)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 7), st.sampled_from(EXTERNAL_PATHS)), st.builds(OpticalPower, _DBM, _DBM), max_size=4
    )
)
def test_measured_light_comes_back_and_what_was_not_measured_stays_so(powers):
    assert powers_from([over_the_wire(message) for message in powers_to(powers)]) == powers


def test_a_power_that_is_no_number_was_not_measured():
    message = pb.PortPower(bundle=1, path=pb.PATH_2, sent=math.nan, received=-3.0)
    assert powers_from([message]) == {(1, Path.PATH_2): OpticalPower(None, -3.0)}


@given(st.lists(st.sampled_from(Path), max_size=6))
def test_a_table_comes_back(table):
    assert table_from(over_the_wire(table_to(table))) == tuple(table)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.sampled_from(EXTERNAL_PATHS)), st.booleans()))
def test_light_comes_back_and_travels_in_order_of_the_ports(light):
    messages = [over_the_wire(message) for message in light_to(light)]
    assert light_from(messages) == light
    ports = [(message.bundle, message.path) for message in messages]
    assert ports == sorted(ports)


@given(st.builds(Fault, _TEXTS, _TEXTS, st.sampled_from(FaultClass), _TEXTS, _TEXTS))
def test_a_fault_comes_back(fault):
    assert fault_from(over_the_wire(fault_to(fault))) == fault


@pytest.mark.parametrize("number", [pb.FAULT_CLASS_UNSPECIFIED, 4, 99])
def test_a_fault_class_we_do_not_know_counts_as_degraded(number):
    message = pb.Fault(id="f1", component="gpu3", fault_class=number, code="new", text="who knows")
    assert fault_from(message) == Fault("f1", "gpu3", FaultClass.DEGRADED, "new", "who knows")


_bundles = st.builds(
    BundleInventory,
    st.integers(0, 7),
    st.integers(1, 16),
    st.dictionaries(st.sampled_from(EXTERNAL_PATHS), _TEXTS.filter(bool)),
)


@given(st.builds(Inventory, st.integers(2, 16), st.lists(_bundles, max_size=4).map(tuple)))
def test_an_inventory_comes_back(inventory):
    assert inventory_from(over_the_wire(inventory_to(inventory))) == inventory


def test_the_inventories_of_a_fabric_agree_with_themselves_after_the_journey(make_wiring):
    wiring = make_wiring(8, 2, closed=False)
    for position in range(8):
        ours = inventory_of(wiring, position)
        assert difference(ours, inventory_from(over_the_wire(inventory_to(ours)))) == ""


def test_a_port_that_is_told_to_be_empty_agrees_with_one_that_is_not_cabled(make_wiring):
    ours = inventory_of(make_wiring(8, 2, closed=False), 0)
    message = inventory_to(ours)
    assert [port.peer for port in message.bundles[1].ports] == []
    message.bundles[1].ports.add(path=pb.PATH_1, peer="")
    assert difference(ours, inventory_from(message)) == ""
