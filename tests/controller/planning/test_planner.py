"""The planner on chosen cases, and on the shared placement vectors where they are at hand."""

import json
from itertools import pairwise
from pathlib import Path as FilePath

import pytest

from ringlight.controller.planning.planner import RingRequest, plan_rings
from ringlight.controller.planning.terrain import Terrain
from ringlight.fabric.rings import chain_hops, chain_tables
from ringlight.fabric.wiring import HopKey

VECTORS = FilePath(__file__).parents[4] / "shared" / "vectors" / "placement.json"


def make_terrain(wiring, *, down=(), barred=(), dead=(), chains=()):
    tables = [wiring.loopback] * wiring.size
    for chain in chains:
        for position, table in chain_tables(wiring, chain).items():
            tables[position] = table
    return Terrain(
        wiring,
        usable=[position not in down for position in range(wiring.size)],
        barred=[position in barred for position in range(wiring.size)],
        dead_hops=dead,
        tables=tables,
    )


def repair(wiring, *, chains, broken, rings=None, **terrain):
    survivors = tuple(chain for chain in chains if chain not in broken)
    request = RingRequest(len(chains[0]), rings or len(chains), survivors, tuple(broken))
    return plan_rings(make_terrain(wiring, chains=chains, **terrain), request)


def test_a_ring_takes_the_spare_beside_it_and_leaves_all_others(make_wiring):
    chains = [(0, 1, 2, 3), (5, 6, 7, 8), (10, 11, 12, 13)]
    plan = repair(make_wiring(16, 2), chains=chains, broken=[chains[1]], down={6})
    assert plan.kept == (chains[0], chains[2])
    assert plan.placed in {((4, 5, 7, 8),), ((5, 7, 8, 9),)}


def test_among_equal_spares_the_one_with_fewest_switches_is_taken(make_wiring):
    wiring = make_wiring(20, 2)
    chains = [(4, 5, 6, 7)]
    plan = repair(wiring, chains=chains, broken=chains, down={7})
    # Its last node failed: appending a spare behind it switches less than prepending one in front and closing behind.
    assert plan.placed == ((4, 5, 6, 8),)


def test_an_idle_stretch_is_preferred_to_moving_a_ring_that_works(make_wiring):
    chains = [(0, 1, 2, 3), (4, 5, 6, 7)]
    plan = repair(make_wiring(20, 2, closed=False), chains=chains, broken=[chains[0]], down={1})
    assert plan.kept == (chains[1],)
    assert not plan.moved
    assert plan.placed[0][0] >= 8


def test_a_ring_that_works_moves_only_when_a_ring_would_be_lost_otherwise(make_wiring):
    chains = [(0, 1, 2, 3), (4, 5, 6, 7)]
    plan = repair(make_wiring(9, 2, closed=False), chains=chains, broken=[chains[0]], down={1})
    assert plan.moved == (chains[1],)
    assert plan.rings == 2
    assert "otherwise a ring would be lost" in plan.reasons[0]


def test_a_pinned_job_loses_a_ring_rather_than_move_one(make_wiring):
    chains = [(0, 1, 2, 3), (4, 5, 6, 7)]
    terrain = make_terrain(make_wiring(9, 2, closed=False), chains=chains, down={1})
    plan = plan_rings(terrain, RingRequest(4, 2, (chains[1],), (chains[0],), pinned=True))
    assert (plan.kept, plan.moved, plan.placed) == ((chains[1],), (), ())


def test_rings_of_other_jobs_are_neither_used_nor_passed_over(make_wiring):
    chains = [(0, 1, 2)]
    plan = repair(make_wiring(10, 2, closed=False), chains=chains, broken=chains, down={1}, barred={3, 4, 5, 6})
    assert plan.placed == ((7, 8, 9),)


def test_k_unusable_nodes_in_a_row_break_the_order(make_wiring):
    plan = plan_rings(make_terrain(make_wiring(8, 2, closed=False), down={3, 4}), RingRequest(nodes=4, rings=1))
    assert plan.rings == 0
    assert plan.reasons


def test_the_same_bundle_cannot_be_entered_and_left(make_wiring):
    """K=3, default map: entering over distance 3 and leaving over distance 3 needs one bundle twice."""
    wiring = make_wiring(7, 3, closed=False)
    terrain = make_terrain(wiring, down={1, 2, 4, 5})
    assert plan_rings(terrain, RingRequest(nodes=3, rings=1)).rings == 0
    assert plan_rings(terrain, RingRequest(nodes=2, rings=1)).rings == 1


def test_a_dead_hop_is_not_used(make_wiring):
    wiring = make_wiring(3, 1, closed=True)
    plan = plan_rings(make_terrain(wiring, dead={HopKey(1, 1)}), RingRequest(nodes=3, rings=1))
    assert plan.placed == ((2, 0, 1),)


def test_spares_are_left_between_the_rings_of_a_new_job(make_wiring):
    plan = plan_rings(make_terrain(make_wiring(20, 2, closed=False)), RingRequest(nodes=4, rings=4))
    used = {position for chain in plan.placed for position in chain}
    spares = sorted(set(range(20)) - used)
    assert len(plan.placed) == 4
    assert spares != [16, 17, 18, 19]
    assert max(b - a for a, b in pairwise(spares)) <= 6


def test_a_job_that_asks_for_all_gets_all_even_when_spares_would_like_room(make_wiring):
    plan = plan_rings(make_terrain(make_wiring(16, 2)), RingRequest(nodes=4, rings=4))
    assert plan.rings == 4


def test_planning_is_deterministic(make_wiring):
    chains = [(0, 1, 2, 3), (4, 5, 6, 7), (9, 10, 11, 12)]
    plans = [repair(make_wiring(16, 2), chains=chains, broken=[chains[0]], down={2, 8}) for _ in range(3)]
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared placement vectors are not on this machine")
def test_shared_placement_vectors(make_wiring):
    cases = json.loads(VECTORS.read_text())
    for number, case in enumerate(cases):
        wiring = make_wiring(case["nodes"], case["k"], closed=case["closed"])
        down = set(case["down"])
        dead = {HopKey(*hop) for hop in case["dead_hops"]}
        survivors = [tuple(chain) for chain in case["existing"] if stands(wiring, chain, down, dead)]
        broken = [tuple(chain) for chain in case["existing"] if tuple(chain) not in survivors]
        wanted = case["nodes"] if case["rings_wanted"] is None else case["rings_wanted"]
        plan = plan_rings(
            make_terrain(wiring, down=down, dead=dead),
            RingRequest(case["nodes_per_ring"], wanted, tuple(survivors), tuple(broken)),
        )
        expected = case["expect"]["rings"], case["expect"]["kept"]
        assert (plan.rings, len(plan.kept)) == expected, f"case {number}: {case}"


def stands(wiring, chain, down, dead):
    return not set(chain) & down and not {hop.key for hop in chain_hops(wiring, chain)} & dead
