"""The cross-ToR rate, by hand."""

import pytest

from ringlight.controller.planning.cross_tor import cross_tor_rate

# Two sub-lines over four racks: positions 0..3 and 4..7.
RACKS = ["a", "b", "c", "d"] * 2


@pytest.mark.parametrize(
    ("chains", "rate"),
    [
        ([], 0.0),
        ([(0, 1)], 0.0),  # one ring has no neighbour
        ([(0, 1), (4, 5)], 0.0),
        ([(0, 1), (5, 6)], 1.0),
        ([(0, 1), (4, 6)], 0.5),  # rank 1 under b and c
        ([(0, 1), (5, 4)], 1.0),  # the same racks, but at other ranks
        ([(0, 1), (2, 3), (4, 5), (6, 7)], 1.0),  # neighbours of a group share nothing, though others would
        ([(0, 1), (4, 5), (2, 3), (6, 7)], 0.0),
        ([(0, 1), (4, 5), (2, 3)], 0.0),  # the last group has no pair; (4, 5) and (2, 3) are in different groups
        ([(0, 1), (4, 5), (2, 3), (7, 6)], 0.5),
    ],
)
def test_pairs_of_two_nodes_a_rack(chains, rate):
    assert cross_tor_rate(chains, RACKS, 2) == rate


def test_an_incomplete_last_group_counts_its_own_pairs():
    racks = [0, 1, 2, 3, 4, 5] * 3
    whole = [(0, 1), (6, 7), (12, 14)]  # pairs (0, 1): none, (1, 2): one of two
    rest = [(2, 3), (9, 10)]  # one pair of rings, both ranks crossing
    assert cross_tor_rate(whole, racks, 3) == 1 / 4
    assert cross_tor_rate(whole + rest, racks, 3) == 3 / 6


def test_only_neighbours_inside_a_group_count():
    racks = [0, 1] * 3
    # The first and the last of the group differ from the middle one, and so all pairs cross; first and last agree.
    assert cross_tor_rate([(0,), (3,), (4,)], racks, 3) == 1.0
    assert cross_tor_rate([(0,), (4,), (3,)], racks, 3) == 0.5


def test_racks_of_one_node_have_no_neighbours():
    assert cross_tor_rate([(0, 1), (2, 3)], RACKS, 1) == 0.0
