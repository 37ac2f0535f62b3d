"""Ways on inside lanes: ports, ends and faults."""

import pytest

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.lanes import Ways
from ringlight.controller.planning.order import Order
from ringlight.controller.planning.racks import Lane
from ringlight.fabric.spec import default_port_map
from ringlight.fabric.wiring import HopKey


def make_order(size, down=(), distances=(1, 2)):
    """Hops of the default cabling for K = 3, those over some distances only."""
    order = Order(Cabling.of_port_map(default_port_map((1, 2, 3)), size, closed=False))
    for position in down:
        order.set_usable(position, usable=False)
    for distance in {1, 2, 3} - set(distances):
        for position in range(size - distance):
            order.set_live(HopKey(position, distance), live=False)
    return order


@pytest.fixture
def ways():
    """Rows 0..7 in two lanes; rows 2 and 3 of the first and row 4 of the second are down."""
    return Ways(make_order(16, down=[2, 3, 8 + 4]), [0, 1, 2, 3, 4, 5, 6, 7] * 2, (Lane(0, 7), Lane(8, 15)), 3)


def starts(ways, lane, first, last):
    found = {ways.first_start(lane, position - 1, 0) for position in range(first, last + 1)}
    return sorted(ways.position[start] for start in found if start is not None)


def test_a_ring_begins_only_where_it_can_end_in_the_lane(ways):
    assert starts(ways, 0, 0, 7) == [4, 5]  # a break after row 1; six and seven are too near the end
    assert starts(ways, 1, 8, 15) == [8, 9, 10, 11, 13]


def test_starts_by_row(ways):
    assert ways.start_at(0, 1) is None
    assert ways.row[ways.start_at(0, 4)] == 4
    assert ways.row[ways.first_start(1, 8, 4)] == 5
    assert ways.first_start(1, 13, 0) is None


def test_options_leave_room_for_the_rest_of_the_ring(ways):
    start = ways.start_at(1, 3)
    assert [(row, unused) for row, _, unused in ways.options(start, 2)] == [(5, 0)]
    assert [(row, unused) for row, _, unused in ways.options(ways.start_at(1, 0), 2)] == [(1, 0), (2, 1)]


def test_a_ring_leaves_by_another_bundle_than_it_came():
    ways = Ways(make_order(9, distances=(3,)), list(range(9)), (Lane(0, 8),), 3)
    assert starts(ways, 0, 0, 8) == []
    assert starts(Ways(make_order(9, distances=(3,)), list(range(9)), (Lane(0, 8),), 2), 0, 0, 8) == [0, 1, 2, 3, 4, 5]


def test_rings_in_step_pass_the_same_rows(ways):
    assert ways.in_step((0, 1), 5) == ((5, 6, 7), (13, 14, 15))
    assert ways.in_step((0, 1), 4) is None
    assert ways.in_step((1,), 3) == ((11, 13, 14),)


def test_counts(ways):
    assert ways.usable_between(0, 7) == 4
    assert ways.usable_between(-1, 2) == 2
    assert ways.last_to_row(1, 3, 8) == 11
    assert ways.last_to_row(1, 3, 13) == 13
    assert ways.nth_usable(0, 2) == 4
