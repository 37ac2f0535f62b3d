import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.emulator.cabling import CLEAN_LOSS, Cabling
from ringlight.emulator.faults import FaultBook, FaultKind, FaultRequest
from ringlight.emulator.plant import LightChanged, Plant
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import InvalidError, NotFoundError
from ringlight.fabric.spec import FabricSpec, NodeSpec, Port, default_bundles, default_port_map, fibres_of_port_map
from ringlight.fabric.wiring import HopKey, Wiring

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2


@pytest.fixture
def plant(make_wiring: Callable[..., Wiring]) -> Plant:
    return Plant(make_wiring(8, k=2, gpus=4), boot="boot")


def swap(node: str, distance: int, partner: str, fault_id: str = "") -> FaultRequest:
    return FaultRequest(FaultKind.FIBRE_SWAPPED, node, distance=distance, partner=partner, id=fault_id)


def test_fibres_lie_as_the_file_says_until_they_are_exchanged(plant: Plant) -> None:
    for hop in plant.wiring.hops:
        fibre = plant.cabling.at(hop.low)
        assert fibre is not None
        assert (fibre.key, fibre.low, fibre.high) == (hop.key, hop.low, hop.high)
        assert plant.cabling.at(hop.high) == fibre
        assert (plant.cabling.far(hop.low), plant.cabling.far(hop.high)) == (hop.high, hop.low)


def test_an_exchange_joins_each_low_end_with_the_other_far_end(plant: Plant) -> None:
    fault, _ = plant.inject(swap("n3", 1, "n5+1"))
    assert plant.cabling.far(Port(3, 0, P1)) == Port(6, 1, P1)
    assert plant.cabling.far(Port(5, 0, P1)) == Port(4, 1, P1)
    assert plant.cabling.far(Port(4, 1, P1)) == Port(5, 0, P1)
    plant.repair(fault.id)
    assert plant.cabling.far(Port(3, 0, P1)) == Port(4, 1, P1)


def test_light_follows_the_fibre_that_lies_and_not_the_one_of_the_file(plant: Plant) -> None:
    for position, bundle in ((3, 0), (4, 1), (5, 0)):
        plant.select(position, bundle, P1)
    assert plant.lit(Port(3, 0, P1))
    fault, events = plant.inject(swap("n3", 1, "n5+1"))
    assert events == [LightChanged(3, (0, P1), False), LightChanged(5, (0, P1), True)]
    assert plant.lit(Port(4, 1, P1)), "it sees another node's light now"
    _, events = plant.repair(fault.id)
    assert set(events) == {LightChanged(3, (0, P1), True), LightChanged(5, (0, P1), False)}


def test_the_trace_follows_the_fibre_that_lies(plant: Plant) -> None:
    for position, bundle in ((3, 0), (6, 1)):
        plant.select(position, bundle, P1)
    assert len(plant.trace().dangling) == 2
    plant.inject(swap("n3", 1, "n5+1"))
    assert plant.trace().dangling == ()
    assert max(len(cycle) for cycle in plant.trace().cycles) == 8
    plant.inject(FaultRequest(FaultKind.FIBRE_CUT, "n3", distance=1))
    assert len(plant.trace().dangling) == 2


def test_exchanges_that_share_a_hop_rotate_and_each_repair_leaves_what_the_others_do(plant: Plant) -> None:
    first, _ = plant.inject(swap("n0", 1, "n2+1"))
    second, _ = plant.inject(swap("n2", 1, "n4+1"))
    assert [plant.cabling.far(Port(position, 0, P1)) for position in (0, 2, 4)] == [
        Port(3, 1, P1),
        Port(5, 1, P1),
        Port(1, 1, P1),
    ]
    plant.repair(first.id)
    assert [plant.cabling.far(Port(position, 0, P1)) for position in (0, 2, 4)] == [
        Port(1, 1, P1),
        Port(5, 1, P1),
        Port(3, 1, P1),
    ]
    plant.repair(second.id)
    assert plant.cabling.far(Port(4, 0, P1)) == Port(5, 1, P1)


def test_dirt_takes_power_and_too_much_of_it_all_light(plant: Plant) -> None:
    plant.select(3, 0, P1)
    assert plant.powers(3) == {(0, P1): (1.0, -math.inf)}
    plant.select(4, 1, P1)
    assert plant.powers(3) == {(0, P1): (1.0, 1.0 - CLEAN_LOSS)}
    light, _ = plant.inject(FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1, loss=4.0))
    assert plant.powers(4) == {(1, P1): (1.0, 1.0 - CLEAN_LOSS - 4.0)}
    assert plant.lit(Port(4, 1, P1))
    heavy, events = plant.inject(FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1, loss=9.0))
    assert events == [LightChanged(3, (0, P1), False), LightChanged(4, (1, P1), False)]
    assert plant.repair(heavy.id)[1] == [LightChanged(3, (0, P1), True), LightChanged(4, (1, P1), True)]
    plant.repair(light.id)
    assert plant.powers(4) == {(1, P1): (1.0, 1.0 - CLEAN_LOSS)}


def test_a_ring_through_too_much_dirt_is_none(plant: Plant) -> None:
    plant.select(3, 0, P1)
    plant.select(4, 1, P1)
    assert max(map(len, plant.trace().cycles)) == 8
    fault, _ = plant.inject(FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1, loss=13.0))
    traced = plant.trace()
    assert (max(map(len, traced.cycles)), len(traced.dangling)) == (4, 2), "light does not get through"
    plant.repair(fault.id)
    assert max(map(len, plant.trace().cycles)) == 8


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (swap("n3", 3, "n5+1"), "no fibre leads from n3 over distance 3"),
        (swap("n3", 1, ""), "exchange its far end with nothing"),
        (swap("n3", 1, "n3+1"), "exchange its far end with itself"),
        (FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1), "dirt cannot take 0 dB"),
        (FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1, loss=61), "dirt cannot take 61 dB"),
        (FaultRequest(FaultKind.FIBRE_DIRTY, "n3", distance=1, loss=math.nan), "dirt cannot take nan dB"),
    ],
)
def test_what_cannot_be_is_refused(plant: Plant, request_: FaultRequest, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        plant.inject(request_)
    assert plant.faults.all() == ()


def test_a_partner_that_is_no_hop_is_refused(plant: Plant) -> None:
    with pytest.raises(NotFoundError, match="no hop 'n5'"):
        plant.inject(swap("n3", 1, "n5"))


def _wiring(size: int, k: int) -> Wiring:
    distances = tuple(range(1, k + 1))
    nodes = tuple(NodeSpec(f"n{number}") for number in range(size))
    fibres = fibres_of_port_map(default_port_map(distances), size, closed=True)
    return Wiring(FabricSpec("lab", distances, True, 4, default_bundles(k, 4), nodes, fibres))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_light_and_cabling_agree_whatever_is_exchanged_selected_and_repaired(data: st.DataObject) -> None:
    wiring = _wiring(data.draw(st.integers(9, 12)), data.draw(st.integers(1, 3)))
    plant = Plant(wiring, "boot")
    hops = [hop.key for hop in wiring.hops]
    open_faults: list[str] = []
    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["select", "swap", "repair"])):
            case "select":
                port = data.draw(st.sampled_from([port for at in range(wiring.size) for port in wiring.ports(at)]))
                plant.select(port.position, port.bundle, data.draw(st.sampled_from([port.path, L])))
            case "swap":
                one, other = data.draw(st.lists(st.sampled_from(hops), min_size=2, max_size=2, unique=True))
                request = swap(wiring.name(one.position), one.distance, wiring.hop_name(other))
                open_faults.append(plant.inject(request)[0].id)
            case _ if open_faults:
                plant.repair(open_faults.pop(data.draw(st.integers(0, len(open_faults) - 1))))
    ports = {port for position in range(wiring.size) for port in wiring.ports(position)}
    fresh = Cabling(wiring, plant.faults)
    assert {port: fresh.far(port) for port in ports} == {port: plant.cabling.far(port) for port in ports}
    for port in ports:
        far = plant.cabling.far(port)
        assert far is not None
        assert plant.cabling.far(far) == port
        ends = (port, far)
        selected = all(plant.table(end.position)[end.bundle] is end.path for end in ends)
        assert plant.lit(port) == selected


def test_the_book_knows_its_faults_by_kind(make_wiring: Callable[..., Wiring]) -> None:
    book = FaultBook(make_wiring(8))
    book.open(swap("n3", 1, "n5+1", "a"))
    book.open(FaultRequest(FaultKind.FIBRE_CUT, "n3", distance=1))
    book.open(swap("n0", 1, "n5+2", "b"))
    assert [fault.id for fault in book.of_kind(FaultKind.FIBRE_SWAPPED)] == ["a", "b"]
    assert book.of_kind(FaultKind.FIBRE_SWAPPED)[0].partner == HopKey(5, 1)
