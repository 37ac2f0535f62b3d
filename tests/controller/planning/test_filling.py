"""Rings between woven ones, and in their place."""

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.filling import fill
from ringlight.controller.planning.order import Order
from ringlight.fabric.spec import default_port_map


def make_order(size, down=(), *, closed=False):
    """Hops over one position."""
    order = Order(Cabling.of_port_map(default_port_map((1,)), size, closed=closed))
    for position in down:
        order.set_usable(position, usable=False)
    return order


def test_gaps_are_filled_and_nothing_else_when_that_is_enough():
    filled = fill(make_order(12), 3, [(1, 2, 3), (8, 9, 10)], 3)
    assert filled.kept == ((1, 2, 3), (8, 9, 10))
    assert filled.added in {((4, 5, 6),), ((5, 6, 7),)}


def test_few_woven_rings_give_way_to_more():
    filled = fill(make_order(12), 3, [(1, 2, 3), (4, 5, 6), (8, 9, 10)], 4)
    assert filled.kept == ()
    assert len(filled.added) == 4
    assert len(fill(make_order(13, down=[7]), 3, [(1, 2, 3), (4, 5, 6), (10, 11, 12)], 3).kept) == 3


def test_a_woven_ring_that_costs_no_ring_stays():
    filled = fill(make_order(14, down=[6]), 3, [(1, 2, 3), (8, 9, 10)], 9)
    assert filled.added == ((0, 1, 2), (3, 4, 5), (11, 12, 13))
    assert filled.kept == ((8, 9, 10),)


def test_the_order_itself_stays_as_it_is():
    order = make_order(12)
    fill(order, 3, [(1, 2, 3)], 3)
    assert order.rings == 0
