"""The oracle on cases worked out by hand; `tests/properties/test_trace.py` has the random ones.

Two nodes of K=1 with two GPUs: bundle 0 is on edge 0 (g0 to g1), bundle 1 on edge 1 (g1 to g0), and n0/b0.p1 is
joined to n1/b1.p1. So u to u' and v to v' means n0's g0 to n1's g1, and n0's g1 to n1's g0.
"""

import pytest

from ringlight.fabric.circuits import Path
from ringlight.fabric.rings import chain_tables, gpu_order
from ringlight.fabric.trace import Trace, canonical_cycle, trace
from ringlight.fabric.wiring import HopKey, Wiring

L, P1, P2, DARK, UNKNOWN = Path.LOOPBACK, Path.PATH_1, Path.PATH_2, Path.DARK, Path.UNKNOWN
A0, A1, B0, B1 = (0, 0), (0, 1), (1, 0), (1, 1)


@pytest.fixture
def pair(make_wiring):
    return make_wiring(2, 1, 2, closed=False)


def test_a_node_in_loopback_is_a_cycle_of_its_own(pair):
    assert trace(pair, [(L, L), (L, L)]) == Trace(cycles=((A0, A1), (B0, B1)), dangling=())


def test_two_nodes_joined_at_one_bundle_each_are_one_cycle(pair):
    assert trace(pair, [(P1, L), (L, P1)]) == Trace(cycles=((A0, B1, B0, A1),), dangling=())


def test_a_fibre_whose_other_end_selects_something_else_carries_nothing(pair):
    assert trace(pair, [(P1, L), (L, L)]) == Trace(cycles=((B0, B1),), dangling=((A1, A0),))
    assert trace(pair, [(L, L), (L, P1)]) == Trace(cycles=((A0, A1),), dangling=((B0, B1),))


def test_a_port_without_a_fibre_opens_the_edge_all_the_same(pair):
    assert trace(pair, [(P2, L), (L, L)]) == Trace(cycles=((B0, B1),), dangling=((A1, A0),))


@pytest.mark.parametrize("state", [DARK, UNKNOWN])
def test_a_bundle_that_is_dark_or_unknown_opens_its_edge(pair, state):
    assert trace(pair, [(state, L), (L, L)]) == Trace(cycles=((B0, B1),), dangling=((A1, A0),))
    assert trace(pair, [(state, state), (L, L)]) == Trace(cycles=((B0, B1),), dangling=((A0,), (A1,)))


def test_a_cut_fibre_leaves_two_open_chains(pair):
    found = trace(pair, [(P1, L), (L, P1)], dead_fibres={HopKey(0, 1)})
    assert found == Trace(cycles=(), dangling=((A1, A0), (B0, B1)))


def test_a_dead_node_has_no_gpus_and_its_neighbour_dangles(pair):
    assert trace(pair, [(P1, L), (L, P1)], dead_nodes={1}) == Trace(cycles=(), dangling=((A1, A0),))


@pytest.mark.parametrize("bundle", [(0, 0), (1, 1)])
def test_a_dead_bundle_carries_no_fibre_at_either_end(pair, bundle):
    found = trace(pair, [(P1, L), (L, P1)], dead_bundles={bundle})
    assert found == Trace(cycles=(), dangling=((A1, A0), (B0, B1)))


def test_a_dead_bundle_does_not_even_close_its_own_edge(pair):
    found = trace(pair, [(P1, L), (L, P1)], dead_bundles={(0, 1)})
    assert found == Trace(cycles=(), dangling=((A0, B1, B0, A1),))


def test_copper_is_closed_whatever_the_bundles_do(make_wiring):
    """Four GPUs, bundles on edges 0 and 2: g1-g2 and g3-g0 are copper."""
    wiring = make_wiring(2, 1, 4, closed=False)
    found = trace(wiring, [(DARK, DARK), (L, L)], dead_nodes={1})
    assert found == Trace(cycles=(), dangling=(((0, 3), (0, 0)), ((0, 1), (0, 2))))


def test_light_that_comes_back_through_both_bundles_is_still_followed_once(make_wiring):
    """A closed order of three nodes that select all hops: two cycles, one on each side of the edges."""
    wiring = make_wiring(3, 1, 2)
    found = trace(wiring, [(P1, P1)] * 3)
    assert sorted(gpu for path in (*found.cycles, *found.dangling) for gpu in path) == [
        (position, gpu) for position in range(3) for gpu in range(2)
    ]
    assert found.dangling == ()
    assert sum(map(len, found.cycles)) == 6


def test_bundles_on_other_edges_join_other_gpus(make_spec):
    wiring = Wiring(make_spec(2, 1, 3, closed=False, edges=[2, 0]))
    found = trace(wiring, [(P1, L), (L, P1)])
    # n0's edge 2 is (g2, g0), n1's edge 0 is (g0, g1): g2 is joined to g0, g0 to g1.
    assert found == Trace(cycles=(((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (1, 1)),), dangling=())


@pytest.mark.parametrize(
    ("distances", "chains"),
    [
        ([1, 2, 4], [(0, 4, 5), (1, 2), (3,), (6, 7, 8)]),
        ([1, 2, 4], [(7, 2, 1, 0), (3, 4, 8, 6, 5)]),  # over the end, and forth and back
        ([1, 3], [(0, 3, 6), (1, 2, 5, 8), (4, 7)]),
        ([1, 3], [(8, 2, 5, 6), (7, 4, 3, 0), (1,)]),
        ([2, 3], [(0, 2, 5, 8), (1, 3, 6), (4, 7)]),
    ],
)
def test_chains_over_other_distances_are_each_one_cycle(make_wiring, distances, chains):
    """Rings whose spans cross, as no plan makes them: light does not mind."""
    wiring = make_wiring(9, distances=distances)
    tables = [wiring.loopback] * 9
    for chain in chains:
        for position, table in chain_tables(wiring, chain).items():
            tables[position] = table
    found = trace(wiring, tables)
    assert found.dangling == ()
    assert {canonical_cycle(cycle) for cycle in found.cycles} == {
        canonical_cycle(gpu_order(wiring, chain)) for chain in chains
    }


@pytest.mark.parametrize(("nodes", "distances"), [(8, (1, 2, 4)), (16, (1, 2, 4, 8))])
def test_a_binary_exchange_joins_every_node_with_its_partner_in_each_step(make_wiring, nodes, distances):
    """In step s node i meets node i XOR 2^s: n/2 cycles of two nodes a step, and every node has heard from all."""
    wiring = make_wiring(nodes, distances=distances, closed=False)
    heard = [{position} for position in range(nodes)]
    for distance in distances:
        pairs = [(low, low ^ distance) for low in range(nodes) if not low & distance]
        tables = [wiring.loopback] * nodes
        for pair in pairs:
            for position, table in chain_tables(wiring, pair).items():
                tables[position] = table
        found = trace(wiring, tables)
        assert found.dangling == ()
        met = [{position for position, _ in cycle} for cycle in found.cycles]
        assert sorted(map(sorted, met)) == sorted(map(list, pairs))
        heard = [heard[position] | heard[position ^ distance] for position in range(nodes)]
    assert heard == [set(range(nodes))] * nodes


def test_equal_cycles_are_written_alike():
    cycle = (B1, A0, A1, B0)
    turns = [cycle[start:] + cycle[:start] for start in range(4)]
    written = {canonical_cycle(turned) for turn in turns for turned in (turn, turn[::-1])}
    assert written == {(A0, A1, B0, B1)}
    assert canonical_cycle((B1, A1, A0)) == (A0, A1, B1)
    assert canonical_cycle((A1, A0)) == (A0, A1)


def test_different_cycles_are_written_differently():
    assert canonical_cycle((A0, A1, B0, B1)) != canonical_cycle((A0, B0, A1, B1))
