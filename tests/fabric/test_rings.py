"""Ring geometry on chosen chains; `tests/properties/test_trace.py` judges it on random ones."""

import pytest

from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_hops, chain_tables, gpu_order
from ringlight.fabric.wiring import HopKey

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2


def test_the_hops_of_a_chain_are_in_its_order(make_wiring):
    hops = chain_hops(make_wiring(8, 2), [6, 7, 1])
    assert [hop.key for hop in hops] == [HopKey(6, 1), HopKey(7, 2)]


def test_a_chain_may_run_against_the_order(make_wiring):
    wiring = make_wiring(8, 2)
    forward, backward = chain_hops(wiring, [6, 7, 1]), chain_hops(wiring, [1, 7, 6])
    assert backward == forward[::-1]
    assert chain_tables(wiring, [1, 7, 6]) == chain_tables(wiring, [6, 7, 1])


def test_a_node_alone_has_no_hop_and_stays_in_loopback(make_wiring):
    wiring = make_wiring(8, 2)
    assert chain_hops(wiring, [3]) == ()
    assert chain_tables(wiring, [3]) == {3: (L, L)}
    assert gpu_order(wiring, [3]) == ((3, 0), (3, 1), (3, 2), (3, 3))


def test_bundles_a_chain_does_not_use_are_in_loopback(make_wiring):
    assert chain_tables(make_wiring(8, 2), [0, 1, 3]) == {0: (P1, L), 1: (P2, P1), 3: (L, P2)}


def test_a_bypass_over_three_positions_uses_the_bundle_of_that_distance(make_wiring):
    wiring = make_wiring(9, 3)
    assert chain_tables(wiring, [0, 3, 4]) == {0: (L, L, P1), 3: (P1, L, P2), 4: (L, P1, L)}


def test_other_distances_than_one_to_k_are_hops_like_any(make_wiring):
    wiring = make_wiring(9, distances=[1, 2, 4])
    assert [hop.key for hop in chain_hops(wiring, [0, 4, 5, 7])] == [HopKey(0, 4), HopKey(4, 1), HopKey(5, 2)]
    assert chain_tables(wiring, [8, 3, 4]) == {8: (L, L, P1), 3: (P1, L, P2), 4: (L, P1, L)}
    with pytest.raises(InvalidError, match=r"^no fibre joins n0 and n3$"):
        chain_hops(wiring, [0, 3])
    with pytest.raises(InvalidError, match=r"^n4 cannot enter and leave through the same bundle$"):
        chain_hops(wiring, [0, 4, 8])
    # Of two distances, both share the two bundles: a node is entered and left over the longer one.
    assert chain_tables(make_wiring(9, distances=[1, 3]), [0, 3, 6]) == {0: (P2, L), 3: (P2, P2), 6: (L, P2)}


@pytest.mark.parametrize("chain", [[0, 3], [0, 1, 5]])
def test_nodes_that_no_fibre_joins_are_no_chain(make_wiring, chain):
    with pytest.raises(InvalidError, match=rf"^no fibre joins n{chain[-2]} and n{chain[-1]}$"):
        chain_hops(make_wiring(8, 2), chain)


@pytest.mark.parametrize("chain", [[2, 2], [0, 1, 0], [0, 1, 2, 0]])
def test_a_node_is_in_a_chain_once(make_wiring, chain):
    with pytest.raises(InvalidError, match=rf"^n{chain[0]} is in the chain twice$"):
        chain_hops(make_wiring(8, 2), chain)


def test_a_chain_may_not_wrap_on_an_open_order(make_wiring):
    with pytest.raises(InvalidError, match="no fibre joins n7 and n0"):
        chain_tables(make_wiring(8, 2, closed=False), [7, 0])


@pytest.mark.parametrize("make", [chain_hops, chain_tables, gpu_order])
def test_a_node_cannot_enter_and_leave_through_the_same_bundle(make_wiring, make):
    with pytest.raises(InvalidError, match=r"^n3 cannot enter and leave through the same bundle$"):
        make(make_wiring(9, 3), [0, 3, 6])


def test_the_order_of_two_nodes(make_wiring):
    """Bundle 0 of n0 is on edge 0 (g0, g1), bundle 1 of n1 on edge 2 (g2, g3): g0 is joined to g2, g1 to g3."""
    order = gpu_order(make_wiring(8, 2), [0, 1])
    assert order == ((0, 1), (0, 2), (0, 3), (0, 0), (1, 2), (1, 1), (1, 0), (1, 3))


def test_the_order_begins_in_the_first_node_and_holds_every_gpu_once(make_wiring):
    for chain in ([0, 1, 3, 4], [4, 3, 1, 0]):
        order = gpu_order(make_wiring(8, 2), chain)
        assert order[0][0] == chain[0]
        assert sorted(order) == [(position, gpu) for position in sorted(chain) for gpu in range(4)]
