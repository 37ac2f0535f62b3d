"""Rows, sub-lines and lanes read from rack names."""

import pytest

from ringlight.controller.planning.racks import Lane, RackLayout


def lanes(layout):
    return [[(lane.first, lane.last) for lane in band] for band in layout.bands()]


def test_no_rack_named_no_layout():
    assert RackLayout.of(["", "", ""]) is None
    assert RackLayout.of([]) is None


def test_an_interleaved_order():
    layout = RackLayout.of(["a", "b", "c", "a", "b", "c"])
    assert layout is not None
    assert layout.rows == (0, 1, 2, 0, 1, 2)
    assert layout.sublines == (0, 0, 0, 1, 1, 1)
    assert layout.nodes_a_rack == 2
    assert layout.size == 6
    assert layout.interleaved
    assert layout.bands() == ((Lane(0, 2), Lane(3, 5)),)


def test_an_order_rack_by_rack_is_not_interleaved():
    layout = RackLayout.of(["a", "a", "b", "b"])
    assert layout is not None
    assert not layout.interleaved
    assert layout.sublines == (0, 1, 0, 1)


def test_racks_of_one_node_are_not_interleaved():
    layout = RackLayout.of(["a", "b", "c"])
    assert layout is not None
    assert layout.nodes_a_rack == 1
    assert not layout.interleaved


def test_racks_may_differ_in_size():
    layout = RackLayout.of(["a", "b", "c", "a", "c"])
    assert layout is not None
    assert layout.rows == (0, 1, 2, 0, 2)
    assert layout.nodes_a_rack == 2
    assert lanes(layout) == [[(0, 2), (3, 4)]]


def test_a_position_without_a_rack_is_aligned_with_nothing():
    layout = RackLayout.of(["a", "", "a", ""])
    assert layout is not None
    assert layout.rows == (0, 1, 0, 2)
    assert layout.sublines == (0, 0, 1, 0)


def test_lanes_end_where_the_domain_changes():
    racks = ["a", "b", "c", "d"] * 2
    domains = ["left", "left", "right", "right"] * 2
    layout = RackLayout.of(racks, domains)
    assert layout is not None
    assert layout.domains == (0, 0, 1, 1) * 2
    assert lanes(layout) == [[(0, 1), (4, 5)], [(2, 3), (6, 7)]]
    without = RackLayout.of(racks)
    assert without is not None
    assert without.domains == (0,) * 8
    assert lanes(without) == [[(0, 3), (4, 7)]]


def test_domains_laid_one_after_another():
    layout = RackLayout.of(["a", "b", "a", "b", "c", "d", "c", "d"], ["x"] * 4 + ["y"] * 4)
    assert layout is not None
    assert lanes(layout) == [[(0, 1), (2, 3)], [(4, 5), (6, 7)]]


def test_lanes_that_share_a_rack_only_through_another_lane_are_one_band():
    layout = RackLayout.of(["a", "b", "x", "c", "d", "x", "a", "c"], ["1"] * 2 + ["2"] + ["3"] * 2 + ["4"] + ["5"] * 2)
    assert layout is not None
    assert lanes(layout) == [[(0, 1), (3, 4), (6, 7)], [(2, 2), (5, 5)]]


def test_every_position_lies_in_one_lane():
    racks = ["a", "b", "", "c", "a", "c", "b", "b", "", "a"]
    layout = RackLayout.of(racks)
    assert layout is not None
    covered = [p for band in layout.bands() for lane in band for p in range(lane.first, lane.last + 1)]
    assert sorted(covered) == list(range(len(racks)))


def test_domain_names_must_be_as_many_as_racks():
    with pytest.raises(ValueError, match="3 rack names, but 2 domain names"):
        RackLayout.of(["a", "b", "a"], ["x", "x"])
