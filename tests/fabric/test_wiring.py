"""Questions about the cabling, and names in both directions."""

import pytest

from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ErrorCode, NotFoundError
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Hop, HopKey

P1, P2, L = Path.PATH_1, Path.PATH_2, Path.LOOPBACK


def test_a_hop_is_found_from_where_it_starts(make_wiring):
    wiring = make_wiring(8, 2)
    assert wiring.hop(3, 2) == Hop(HopKey(3, 2), low=Port(3, 0, P2), high=Port(5, 1, P2))
    assert wiring.hop(7, 1) == Hop(HopKey(7, 1), low=Port(7, 0, P1), high=Port(0, 1, P1))
    assert wiring.hop(3, 3) is None


def test_an_open_order_has_no_hop_past_its_end(make_wiring):
    wiring = make_wiring(8, 2, closed=False)
    assert wiring.hop(6, 1) is not None
    assert wiring.hop(6, 2) is None
    assert wiring.hop(7, 1) is None
    assert wiring.hop_between(7, 0) is None
    assert wiring.ports(0) == (Port(0, 0, P1), Port(0, 0, P2))


def test_a_hop_between_two_nodes_is_one_hop_whichever_comes_first(make_wiring):
    wiring = make_wiring(8, 2)
    assert wiring.hop_between(3, 5) == wiring.hop_between(5, 3) == wiring.hop(3, 2)
    assert wiring.hop_between(7, 1) == wiring.hop_between(1, 7) == wiring.hop(7, 2)
    assert wiring.hop_between(0, 4) is None
    assert wiring.hop_between(2, 2) is None


@pytest.mark.parametrize("distances", [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (3,), (1, 3), (2, 5), (1, 2, 4, 5)])
@pytest.mark.parametrize("closed", [True, False])
def test_the_default_port_map_gives_each_distance_one_hop_a_position(make_wiring, distances, closed):
    wiring = make_wiring(11, closed=closed, distances=distances)
    expected = [
        HopKey(position, distance)
        for position in range(11)
        for distance in distances
        if closed or position + distance < 11
    ]
    assert [hop.key for hop in wiring.hops] == expected
    for hop in wiring.hops:
        assert hop.low.position == hop.key.position
        assert hop.high.position == (hop.key.position + hop.key.distance) % 11


@pytest.mark.parametrize("distances", [(1, 2, 4), (1, 3), (2, 3, 4, 5)])
def test_all_nodes_at_the_hop_distances_are_joined_and_no_others(make_wiring, distances):
    wiring = make_wiring(11, distances=distances)
    for first in range(11):
        joined = {second for second in range(11) if wiring.hop_between(first, second) is not None}
        assert joined == {(first + sign * distance) % 11 for distance in distances for sign in (1, -1)}


def test_the_first_two_distances_share_two_bundles_and_each_further_one_has_its_own(make_wiring):
    wiring = make_wiring(9, distances=[1, 2, 4])
    assert {port: wiring.peer(port).position for port in wiring.ports(0)} == {
        Port(0, 0, P1): 1,
        Port(0, 0, P2): 2,
        Port(0, 1, P1): 8,
        Port(0, 1, P2): 7,
        Port(0, 2, P1): 4,
        Port(0, 2, P2): 5,
    }
    one_distance = make_wiring(9, distances=[4])
    assert {port: one_distance.peer(port).position for port in one_distance.ports(0)} == {
        Port(0, 0, P1): 4,
        Port(0, 1, P1): 5,
    }


def test_a_hop_knows_its_ends_from_either_side(make_wiring):
    hop = make_wiring(8, 2).hop(7, 2)
    assert hop.near(7) == hop.far(1) == Port(7, 0, P2)
    assert hop.near(1) == hop.far(7) == Port(1, 1, P2)


def test_a_port_leads_to_its_peer_and_back(make_wiring):
    wiring = make_wiring(11, 3)
    for hop in wiring.hops:
        assert wiring.peer(hop.low) == hop.high
        assert wiring.peer(hop.high) == hop.low
        assert wiring.hop_at(hop.low) is wiring.hop_at(hop.high) is hop
        assert {wiring.hop_between(hop.low.position, hop.high.position)} == {hop}


def test_a_port_with_nothing_plugged_in_leads_nowhere(make_wiring):
    wiring = make_wiring(8, 1)
    assert wiring.peer(Port(3, 0, P2)) is None
    assert wiring.hop_at(Port(3, 0, P2)) is None


def test_ports_of_a_node_are_in_order(make_wiring):
    wiring = make_wiring(11, 3)
    assert wiring.ports(4) == tuple(Port(4, bundle, path) for bundle in range(3) for path in (P1, P2))
    assert make_wiring(8, 1).ports(4) == (Port(4, 0, P1), Port(4, 1, P1))


@pytest.mark.parametrize(
    ("position", "table", "accepted"),
    [
        (4, (L, L), True),
        (4, (P2, P1), True),
        (4, (P1,), False),
        (4, (L, L, L), False),
        (4, (), False),
        (4, (Path.DARK, L), False),
        (4, (Path.UNKNOWN, L), False),
        (0, (P1, L), True),
        (0, (L, P1), False),  # the end of an open order
        (6, (P2, L), False),
        (6, (P1, P2), True),
    ],
)
def test_a_node_accepts_what_is_cabled(make_wiring, position, table, accepted):
    assert make_wiring(8, 2, closed=False).accepts(position, table) is accepted


def test_the_table_of_a_node_on_its_own(make_wiring):
    assert make_wiring(8, 1).loopback == (L, L)
    assert make_wiring(11, 4).loopback == (L, L, L, L)


def test_nodes_by_name(make_wiring):
    wiring = make_wiring(8, 2)
    assert [wiring.position(wiring.name(position)) for position in range(8)] == list(range(8))
    assert wiring.has_node("n7")
    assert not wiring.has_node("n8")


def test_an_unknown_node_is_told_with_those_there_are(make_wiring):
    with pytest.raises(NotFoundError, match=r"^fabric 'test' has no node 'n8'$") as caught:
        make_wiring(8, 2).position("n8")
    assert caught.value.hint == "its 8 nodes are n0 .. n7"
    assert caught.value.code is ErrorCode.NOT_FOUND
    assert caught.value.__suppress_context__


def test_names_for_people(make_wiring):
    wiring = make_wiring(8, 2)
    assert wiring.port_name(Port(3, 1, P1)) == "n3/b1.p1"
    assert wiring.port_name(Port(3, 0, P2)) == "n3/b0.p2"
    assert wiring.hop_name(HopKey(7, 2)) == "n7+2"
    assert wiring.gpu_name(5, 3) == "n5/g3"


def test_every_hop_is_read_back_from_its_name(make_wiring):
    wiring = make_wiring(11, 3)
    assert [wiring.parse_hop(wiring.hop_name(hop.key)) for hop in wiring.hops] == [hop.key for hop in wiring.hops]


@pytest.mark.parametrize("text", ["n3", "n3+", "n3+3", "n3+0", "n3+-1", "n3+²", "n3+1.0", "+1", "", "n3-1"])
def test_text_that_is_no_hop(make_wiring, text):
    with pytest.raises(NotFoundError) as caught:
        make_wiring(8, 2).parse_hop(text)
    assert repr(text if text != "+1" else "") in str(caught.value)
    assert caught.value.hint


def test_what_a_hop_looks_like_is_shown_in_the_hint(make_wiring):
    with pytest.raises(NotFoundError) as caught:
        make_wiring(8, 2).parse_hop("n3+7")
    assert caught.value.hint == "a hop is a node and a distance, such as n0+1; distances are 1, 2"
    with pytest.raises(NotFoundError) as caught:
        make_wiring(9, distances=[2, 4]).parse_hop("n3+1")
    assert caught.value.hint == "a hop is a node and a distance, such as n0+2; distances are 2, 4"
