"""The order: what is said of it, and what it answers."""

import pytest

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Order
from ringlight.fabric.spec import default_port_map
from ringlight.fabric.wiring import HopKey


@pytest.fixture
def order(make_wiring):
    """Twelve nodes in a closed order with two rings, one of which wraps and passes over a node."""
    order = Order(Cabling.of_wiring(make_wiring(12, 2)))
    order.lay("a/0", "a", (3, 4, 5))
    order.lay("b/0", "b", (10, 11, 1))
    return order


def test_a_cabling_is_the_same_from_a_wiring_and_from_its_port_map(make_wiring):
    for closed in (False, True):
        wiring = make_wiring(12, 3, closed=closed)
        by_map = Cabling.of_port_map(default_port_map((1, 2, 3)), 12, closed=closed)
        by_wiring = Cabling.of_wiring(wiring)
        assert by_map.distances == by_wiring.distances == (1, 2, 3)
        for hop in wiring.hops:
            kinds = [Order(cabling).kind(hop.key.position, hop.key.distance) for cabling in (by_map, by_wiring)]
            assert kinds[0] == kinds[1]
            assert kinds[0].leave == (hop.low.bundle, hop.low.path)


def test_idle_nodes_are_those_in_no_chain(order):
    assert [p for p in range(12) if order.idle[p]] == [0, 2, 6, 7, 8, 9]
    order.set_usable(0, usable=False)
    order.set_usable(4, usable=False)
    order.lift("a/0")
    assert [p for p in range(12) if order.idle[p]] == [2, 3, 5, 6, 7, 8, 9]


def test_rings_are_found_from_either_side_and_around(order):
    assert order.ring_from(4).ring.name == "b/0"
    assert (order.ring_from(11).ring.name, order.ring_from(11).first) == ("a/0", 15)
    assert (order.ring_before(3).ring.name, order.ring_before(3).first) == ("b/0", -2)
    assert order.ring_over(0).ring.name == "b/0"
    assert order.ring_over(2) is None
    assert [ring.name for ring in order.rings_in(0, 11)] == ["a/0", "b/0"]


def test_gaps_are_what_no_span_covers(order):
    assert list(order.gaps()) == [(2, 2), (6, 9)]
    assert (order.gap_before(10), order.gap_end(6)) == (6, 9)


def test_a_ring_is_laid_in_either_direction_but_over_no_other(order):
    order.lay("a/1", "a", (8, 7, 6))
    assert [ring.chain for ring in order.chains_of("a")] == [(3, 4, 5), (6, 7, 8)]
    with pytest.raises(ValueError, match="a/2 would lie over another"):
        order.lay("a/2", "a", (9, 10))
    with pytest.raises(ValueError, match="a/0 is laid already"):
        order.lay("a/0", "a", (9,))


def test_steps_lead_to_usable_nodes_over_no_ring(order):
    assert [step.distance for step in order.steps(6)] == [1, 2]
    order.set_usable(7, usable=False)
    order.set_live(HopKey(7, 1), live=False)
    assert [step.distance for step in order.steps(6)] == [2]
    assert order.steps(8)[0].distance == 1
    assert order.steps(9) == ()


def test_what_nobody_asks_about_does_not_pile_up(order):
    for _ in range(100):
        order.set_usable(7, usable=False)
        order.set_usable(7, usable=True)
    assert len(order.changed) <= order.size


def test_only_what_can_make_room_counts_as_growth(order):
    before = order.growth_for("a"), order.growth_for("b")
    order.lay("a/1", "a", (6, 7, 8))
    order.set_usable(9, usable=False)
    order.set_live(HopKey(8, 1), live=False)
    order.lift("a/0")
    assert order.growth_for("a") == before[0], "lifting its own ring makes no room that was not there"
    assert order.growth_for("b") > before[1]
    order.set_usable(9, usable=True)
    assert order.growth_for("a") > before[0]
