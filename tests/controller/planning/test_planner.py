"""The planner on chosen cases: the choices a person would expect, and the reasons it gives."""

from itertools import pairwise

import pytest

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.planner import Planner, RingRequest
from ringlight.fabric.wiring import HopKey


@pytest.fixture
def make_planner(make_wiring):
    """A planner over a fabric with rings of the job "train" (and of others), and some nodes and hops out of use."""

    def make(nodes, k=2, *, closed=True, chains=(), others=(), down=(), dead=(), racks=()):
        wiring = make_wiring(nodes, k, closed=closed)
        planner = Planner(Cabling.of_wiring(wiring), wiring.name, racks)
        for number, chain in enumerate(chains):
            planner.order.lay(f"train/{number}", "train", chain)
        for number, chain in enumerate(others):
            planner.order.lay(f"other/{number}", "other", chain)
        for position in down:
            planner.order.set_usable(position, usable=False)
        for hop in dead:
            planner.order.set_live(hop, live=False)
        return planner

    return make


def repair(planner, *, broken, nodes=4, rings=None, pinned=False):
    """Lift broken rings, given by number, and plan the job anew."""
    rings = planner.order.rings_of("train") if rings is None else rings
    chains = tuple(planner.order.lift(f"train/{number}").chain for number in broken)
    return planner.plan(RingRequest("train", nodes, rings, chains, pinned=pinned))


def place(planner, *, nodes, rings):
    return planner.plan(RingRequest("train", nodes, rings))


def chains_of(plan):
    return [placed.chain for placed in plan.placed]


def moved(plan):
    return [ring.name for ring in plan.moved]


def test_a_ring_takes_the_spare_beside_it_and_leaves_all_others(make_planner):
    plan = repair(make_planner(16, chains=[(0, 1, 2, 3), (5, 6, 7, 8), (10, 11, 12, 13)], down={6}), broken=[1])
    assert plan.kept == 2
    assert not plan.moved
    assert chains_of(plan) in [[(4, 5, 7, 8)], [(5, 7, 8, 9)]]


def test_among_equal_spares_the_one_with_fewest_switches_is_taken(make_planner):
    plan = repair(make_planner(20, chains=[(4, 5, 6, 7)], down={7}), broken=[0])
    # Its last node failed: appending a spare behind it switches less than prepending one and closing behind.
    assert chains_of(plan) == [(4, 5, 6, 8)]


def test_among_equal_switches_ranks_keep_their_racks(make_planner):
    racks = [f"rack{position}" for position in range(20)]
    late = repair(make_planner(20, chains=[(6, 7, 8, 9)], down={8, 11}, racks=racks), broken=[0])
    early = repair(make_planner(20, chains=[(6, 7, 8, 9)], down={7, 4}, racks=racks), broken=[0])
    assert chains_of(late) == [(6, 7, 9, 10)], "two ranks change their rack, and not three"
    assert chains_of(early) == [(5, 6, 8, 9)]


def test_the_only_ring_of_a_closed_order_stays_where_it_is_though_it_wraps(make_planner):
    plan = repair(make_planner(12, chains=[(10, 11, 0, 1)], down={0}), broken=[0])
    assert chains_of(plan) in [[(9, 10, 11, 1)], [(10, 11, 1, 2)]]


def test_an_idle_stretch_is_preferred_to_moving_a_ring_that_works(make_planner):
    plan = repair(make_planner(20, closed=False, chains=[(0, 1, 2, 3), (4, 5, 6, 7)], down={1}), broken=[0])
    assert plan.kept == 1
    assert not plan.moved
    assert plan.placed[0].chain[0] >= 8
    assert "idle stretch" in plan.placed[0].reasons[0]


def test_a_ring_that_works_moves_only_when_a_ring_would_be_lost_otherwise(make_planner):
    plan = repair(make_planner(9, closed=False, chains=[(0, 1, 2, 3), (4, 5, 6, 7)], down={1}), broken=[0])
    assert moved(plan) == ["train/1"]
    assert plan.rings == 2
    assert "otherwise a ring would be lost" in plan.reasons[0]


def test_the_nearest_spare_moves_fewest_rings(make_planner):
    """A spare five rings to the right, and one two rings to the left."""
    chains = [(first, first + 1, first + 2, first + 3) for first in (0, 4, 9, 13, 17, 21, 25, 29)]
    planner = make_planner(34, closed=False, chains=chains, down={18})
    plan = repair(planner, broken=[4])
    assert moved(plan) == ["train/2", "train/3"]
    assert 8 in plan.placed[0].chain


def test_a_pinned_job_loses_a_ring_rather_than_move_one(make_planner):
    planner = make_planner(9, closed=False, chains=[(0, 1, 2, 3), (4, 5, 6, 7)], down={1})
    plan = repair(planner, broken=[0], pinned=True)
    assert (plan.kept, plan.moved, plan.placed) == (1, (), ())
    assert "pinned" in plan.reasons[0]


def test_rings_of_other_jobs_are_neither_used_nor_passed_over(make_planner):
    planner = make_planner(10, closed=False, chains=[(0, 1, 2)], others=[(3, 4, 5, 6)], down={1})
    assert chains_of(repair(planner, broken=[0], nodes=3)) == [(7, 8, 9)]


def test_a_job_that_runs_degraded_stays_so_until_there_is_room(make_planner):
    planner = make_planner(9, closed=False, chains=[(0, 1, 2, 3), (4, 5, 6, 7)], down={1, 8})
    plan = repair(planner, broken=[0])
    assert (plan.kept, plan.placed) == (1, ())
    assert "no room for 1 more ring of 4 nodes" in plan.reasons[0]
    planner.order.set_usable(8, usable=True)
    assert planner.plan(RingRequest("train", 4, 2)).rings == 2


def test_k_unusable_nodes_in_a_row_break_the_order(make_planner):
    plan = place(make_planner(8, closed=False, down={3, 4}), nodes=4, rings=1)
    assert plan.rings == 0
    assert plan.reasons


def test_the_same_bundle_cannot_be_entered_and_left(make_planner):
    """K=3, default map: entering over distance 3 and leaving over distance 3 needs one bundle twice."""
    planner = make_planner(7, 3, closed=False, down={1, 2, 4, 5})
    assert place(planner, nodes=3, rings=1).rings == 0
    assert place(planner, nodes=2, rings=1).rings == 1


def test_a_dead_hop_is_not_used(make_planner):
    plan = place(make_planner(3, 1, dead={HopKey(1, 1)}), nodes=3, rings=1)
    assert chains_of(plan) == [(2, 0, 1)]


def test_spares_are_left_between_the_rings_of_a_new_job(make_planner):
    plan = place(make_planner(20, closed=False), nodes=4, rings=4)
    used = {position for chain in chains_of(plan) for position in chain}
    spares = sorted(set(range(20)) - used)
    assert len(plan.placed) == 4
    assert spares != [16, 17, 18, 19]
    assert max(b - a for a, b in pairwise(spares)) <= 6


def test_a_job_that_asks_for_all_gets_all_even_when_spares_would_like_room(make_planner):
    assert place(make_planner(16), nodes=4, rings=4).rings == 4


def test_a_new_job_takes_what_other_jobs_leave(make_planner):
    plan = place(make_planner(20, others=[(6, 7, 8, 9), (14, 15, 16, 17)]), nodes=4, rings=3)
    assert sorted(chains_of(plan)) == [(10, 11, 12, 13), (18, 19, 0, 1)] or plan.rings == 3


def test_planning_changes_nothing_and_is_deterministic(make_planner):
    planner = make_planner(16, chains=[(0, 1, 2, 3), (4, 5, 6, 7), (9, 10, 11, 12)], down={2, 8})
    plans = [repair(planner, broken=[0])]
    plans += [planner.plan(RingRequest("train", 4, 3, ((0, 1, 2, 3),))) for _ in range(2)]
    assert plans[0] == plans[1] == plans[2]


def test_a_what_if_question_leaves_the_planner_alone(make_planner):
    planner = make_planner(16, chains=[(0, 1, 2, 3), (5, 6, 7, 8)])
    other = planner.copy()
    other.order.set_usable(1, usable=False)
    plan = repair(other, broken=[0], rings=4)
    assert plan.rings == 3
    assert "3 idle in all" in plan.reasons[0]
    assert planner.order.is_laid("train/0")
    assert planner.order.usable[1]


def test_many_faults_at_once_are_one_plan(make_planner):
    """Each takes a spare of its own, though all of them would like the same one."""
    chains = [(first, first + 1, first + 2, first + 3) for first in range(0, 32, 4)]
    planner = make_planner(35, closed=False, chains=chains, down={1, 5, 9})
    plan = repair(planner, broken=[0, 1, 2])
    assert plan.rings == 8
    assert len(plan.moved) == 5, "three spares at the end, so every ring in between moves up"
