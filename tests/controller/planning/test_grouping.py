"""Rings in data-parallel order."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.planning.grouping import arranged, crossing_pairs, in_order, mismatches, trimmed

# Four sub-lines over eight racks.
ROWS = [0, 1, 2, 3, 4, 5, 6, 7] * 4


def ring(lane, *rows):
    return tuple(8 * lane + row for row in rows)


def whole(*rows):
    return tuple(ring(lane, *rows) for lane in range(4))


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=5))
def test_the_order_inside_a_set_is_the_cheapest_there_is(pairs):
    chains = tuple(ring(number % 4, *pair) for number, pair in enumerate(pairs))
    ordered = in_order(ROWS, chains)
    assert sorted(ordered) == sorted(chains)
    assert crossing_pairs(ROWS, ordered, len(chains)) == min(
        crossing_pairs(ROWS, order, len(chains)) for order in permutations(chains)
    )


def test_more_rings_than_can_be_compared_are_ordered_by_nearness():
    chains = tuple((position,) for position in range(32) if position % 8 < 3)  # four each of rows 0, 1 and 2, mixed
    ordered = in_order(ROWS, chains)
    assert crossing_pairs(ROWS, ordered, len(chains)) == 2


def test_mismatches_count_ranks():
    assert mismatches(ROWS, ring(0, 1, 2, 3), ring(1, 1, 2, 4)) == 1


def test_whole_sets_come_first_and_incomplete_ones_fill_groups():
    three, one, two, other_two = whole(4, 5)[:3], whole(6, 7)[3:], whole(2, 3)[:2], whole(6, 7)[:2]
    order = arranged([one, two, whole(0, 1), three, other_two], 4)
    assert order[:4] == whole(0, 1)
    assert order[4:8] == (*three, *one)
    assert set(order[8:]) == {*two, *other_two}


def test_what_mismatches_is_given_up_first():
    bad = (*whole(2, 3)[:3], ring(3, 3, 4))
    sets = trimmed(ROWS, [whole(0, 1), bad, whole(5, 6)], 8, 4)
    assert sets == [whole(0, 1), whole(5, 6)]


def test_one_ring_less_is_the_ring_out_of_step():
    bad = (*whole(2, 3)[:3], ring(3, 3, 4))
    sets = trimmed(ROWS, [bad, whole(5, 6)], 7, 4)
    assert sets == [whole(2, 3)[:3], whole(5, 6)]


def test_whole_sets_are_given_up_evenly():
    sets = trimmed(ROWS, [whole(row) for row in range(8)], 24, 4)
    assert [ROWS[each[0][0]] for each in sets] == [0, 1, 3, 4, 5, 7]


def test_nothing_is_given_up_when_there_are_too_few():
    assert trimmed(ROWS, [whole(0, 1)], 9, 4) == [whole(0, 1)]


def test_rings_that_go_leave_their_sub_lines_idle_evenly():
    assert trimmed(ROWS, [whole(0, 1)], 2, 4) == [(ring(0, 0, 1), ring(2, 0, 1))]
