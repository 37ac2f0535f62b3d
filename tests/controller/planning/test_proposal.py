"""Chains from a copy are laid only if they still can be."""

import pytest

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.planner import Planner, RingRequest
from ringlight.controller.planning.proposal import is_sound
from ringlight.fabric.wiring import HopKey


@pytest.fixture
def planner(make_wiring):
    """Eight racks of four nodes, interleaved."""
    return Planner(Cabling.of_wiring(make_wiring(32, 2)), str, [f"r{position % 8}" for position in range(32)])


def test_what_a_copy_proposes_is_laid_in_its_order(planner):
    proposal = planner.copy().align(4, 6)
    plan = planner.plan(RingRequest("train", 4, 6, proposal=proposal))
    assert tuple(placed.chain for placed in plan.placed) == proposal
    assert "in step with racks: 0.0%" in plan.placed[0].reasons[0]


def test_a_proposal_that_a_fault_overtook_is_dropped_and_the_job_placed_all_the_same(planner):
    proposal = planner.copy().align(4, 6)
    planner.order.set_usable(proposal[2][1], usable=False)
    plan = planner.plan(RingRequest("train", 4, 6, proposal=proposal))
    assert plan.rings == 6
    assert proposal[2] not in [placed.chain for placed in plan.placed]


def test_a_proposal_of_too_few_rings_is_dropped(planner):
    assert planner.plan(RingRequest("train", 4, 6, proposal=((0, 1, 2, 3),))).rings == 6


def test_every_part_of_a_chain_is_looked_at(planner):
    order = planner.order
    order.lay("other/0", "other", (8, 9))
    order.set_live(HopKey(16, 1), live=False)
    order.set_usable(20, usable=False)
    assert is_sound(order, [(0, 1, 3), (4, 5, 6)], 3)
    assert is_sound(order, [(31, 0, 1)], 3)
    assert not is_sound(order, [(0, 1, 3), (2, 4, 5)], 3), "one lies over the other"
    assert not is_sound(order, [(0, 1)], 3), "too short"
    assert not is_sound(order, [(6, 7, 8)], 3), "a ring lies there"
    assert not is_sound(order, [(7, 10, 11)], 3), "no hop reaches so far"
    assert not is_sound(order, [(15, 16, 17)], 3), "the hop is dark"
    assert not is_sound(order, [(19, 20, 21)], 3), "a node is out of use"
    assert not is_sound(order, [(3, 2, 1)], 3), "written backwards"


def test_a_bundle_is_not_entered_and_left(make_wiring):
    order = Planner(Cabling.of_wiring(make_wiring(12, 3)), str).order
    assert is_sound(order, [(0, 3, 5)], 3)
    assert not is_sound(order, [(0, 3, 6)], 3)


def test_without_racks_nothing_is_proposed(make_wiring):
    assert Planner(Cabling.of_wiring(make_wiring(32, 2)), str).align(4, 6) == ()
