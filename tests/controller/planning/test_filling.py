"""Rings between woven ones, and in their place."""

from ringlight.controller.planning.filling import Filling
from ringlight.controller.planning.terrain import Step
from ringlight.fabric.circuits import Path


class Order:
    """A `Ground` of hops over one position."""

    def __init__(self, size, down=(), *, closed=False):
        self.size, self.down, self.closed = size, set(down), closed

    def wrap(self, position):
        return position % self.size

    def usable(self, position):
        return position not in self.down

    def steps(self, position):
        target = self.wrap(position + 1)
        if not self.usable(target) or (not self.closed and position + 1 >= self.size):
            return ()
        return (Step(1, (0, Path.PATH_1), (1, Path.PATH_1)),)


def test_gaps_are_filled_and_nothing_else_when_that_is_enough():
    filled = Filling(Order(12), 3).fill([(1, 2, 3), (8, 9, 10)], 3)
    assert filled.kept == ((1, 2, 3), (8, 9, 10))
    assert filled.added in {((4, 5, 6),), ((5, 6, 7),)}


def test_few_woven_rings_give_way_to_more():
    filled = Filling(Order(12), 3).fill([(1, 2, 3), (4, 5, 6), (8, 9, 10)], 4)
    assert filled.kept == ()
    assert filled.rings == 4
    filled = Filling(Order(13, down=[7]), 3).fill([(1, 2, 3), (4, 5, 6), (10, 11, 12)], 3)
    assert len(filled.kept) == 3


def test_a_woven_ring_that_costs_no_ring_stays():
    filled = Filling(Order(14, down=[6]), 3).fill([(1, 2, 3), (8, 9, 10)], 9)
    assert filled.rings == Filling(Order(14, down=[6]), 3).most == 4
    assert filled.added == ((0, 1, 2), (3, 4, 5), (11, 12, 13))
    assert filled.kept == ((8, 9, 10),)


def test_a_closed_order_is_cut_where_most_fits():
    assert Filling(Order(10, down=[3], closed=True), 3).fill((), 9).rings == 3
    assert Filling(Order(10, down=[3]), 3).fill((), 9).rings == 3
    assert Filling(Order(10, down=[4], closed=True), 3).fill((), 9).rings == 3
    assert Filling(Order(10, down=[4]), 3).fill((), 9).rings == 2


def test_a_closed_order_has_no_ring_longer_than_itself():
    assert Filling(Order(3, closed=True), 3).most == 1
    assert Filling(Order(3, closed=True), 4).most == 0
