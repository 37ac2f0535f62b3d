"""A fault, and the ring that heals around it: one test per kind of evidence."""

import pytest

from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.wiring import HopKey


def test_a_new_job_is_placed_proven_and_confirmed(world):
    assert [world.ring(f"train/{i}").state for i in range(2)] == [RingState.ACTIVE] * 2
    assert {confirm.node for confirm in world.confirms} == {n for i in range(2) for n in world.chain(f"train/{i}")}
    assert all(command.revert_after > 0 for command in world.commands)
    world.assert_light_is_plan()


def test_a_lost_gpu_is_bypassed_at_once_and_no_other_ring_is_touched(world):
    world.commands.clear()
    victim, other = world.chain("train/0")[1], set(world.chain("train/1"))
    world.fail(FaultKind.GPU_LOST, victim, gpu=2)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.commanded() & other
    assert all(command.revert_after == 0 for command in world.commands)
    world.assert_light_is_plan()


def test_a_failed_node_that_speaks_is_brought_back_to_loopback(world):
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    assert world.plant.table(world.wiring.position(victim)) == world.wiring.loopback


def test_a_recovered_node_is_a_spare_only_after_probation(world):
    victim = world.chain("train/0")[1]
    fault = world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    world.commands.clear()
    world.repair(fault)
    assert world.verdict(victim) == "PROBATION"
    world.advance(599)
    assert world.verdict(victim) == "PROBATION"
    world.advance(2)
    assert world.verdict(victim) == "HEALTHY"
    assert not world.commands, "a recovered node is never put back into a running ring"


def test_faults_of_a_node_are_a_set(world):
    victim = world.chain("train/0")[1]
    first = world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    second = world.fail(FaultKind.GPU_XID, victim, gpu=1, xid=79)
    world.repair(first)
    assert world.verdict(victim) == "FAILED"
    world.repair(second)
    assert world.verdict(victim) == "PROBATION"


def test_a_cut_fibre_is_routed_around_and_its_nodes_are_kept(world):
    first, second = world.chain("train/0")[:2]
    distance = world.wiring.position(second) - world.wiring.position(first)
    world.fail(FaultKind.FIBRE_CUT, first, distance=distance)
    world.advance(1)
    assert HopKey(world.wiring.position(first), distance) in world.engine.state.dead_hops
    assert world.verdict(first) == world.verdict(second) == "HEALTHY"
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_node_without_power_is_bypassed_once_silence_is_confirmed(world):
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.POWER_OFF, victim)
    world.advance(3)
    assert victim in world.chain("train/0"), "before the confirm time nothing is concluded"
    world.advance(4)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.engine.state.dead_hops, "the fibres of a dead node are not to blame"
    world.assert_light_is_plan()


def test_two_neighbours_that_lose_power_together_are_both_bypassed(make_world):
    world = make_world(nodes=24, k=3).start()
    world.submit(rings=2, tp=16)
    one, two = world.chain("train/0")[1:3]
    world.fail(FaultKind.POWER_OFF, one)
    world.fail(FaultKind.POWER_OFF, two)
    world.advance(8)
    assert not {one, two} & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_silence_with_light_moves_nothing(world):
    victim = world.chain("train/0")[1]
    world.commands.clear()
    world.hang_up(victim)
    world.advance(60)
    assert world.verdict(victim) == "UNREACHABLE"
    assert not world.commands
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_everybody_silent_moves_nothing(world):
    world.commands.clear()
    for name in list(world.sessions):
        world.hang_up(name)
    world.advance(60)
    assert not world.commands
    assert {world.verdict(name) for name in world.chain("train/0")} == {"UNKNOWN"}


def test_an_unreachable_node_gets_no_new_ring(world):
    spare = next(n.name for n in world.engine.state.nodes if not n.ring)
    world.hang_up(spare)
    world.advance(10)
    world.submit("more", rings=1, tp=16)
    assert spare not in world.chain("more/0")


def test_a_power_cycle_within_the_confirm_time_is_still_a_failure(world):
    victim = world.chain("train/0")[1]
    fault = world.fail(FaultKind.POWER_OFF, victim)
    world.advance(1)
    world.repair(fault)
    assert world.verdict(victim) == "PROBATION"
    assert victim not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_dead_module_fails_its_node_and_not_the_fibre(world):
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.MODULE_DEAD, victim, bundle=0, module=3)
    world.advance(1)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")
    assert not world.engine.state.dead_hops
    world.assert_light_is_plan()


def test_a_stuck_bundle_is_found_by_reading_back_and_planned_around(world):
    _, victim, third = world.chain("train/0")[:3]
    world.fail(FaultKind.BUNDLE_STUCK, third, bundle=1)
    world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    world.advance(1)
    assert world.verdict(third) == "FAILED"
    assert not {victim, third} & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_bundle_that_comes_unstuck_is_noticed_and_its_node_returns(make_world):
    world = make_world(probation=5.0).start()
    world.submit()
    third = world.chain("train/0")[2]
    stuck = world.fail(FaultKind.BUNDLE_STUCK, third, bundle=1)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(1)
    world.repair(stuck)
    world.advance(30)
    assert world.verdict(third) == "HEALTHY"


def test_a_node_that_does_not_answer_is_planned_around(world):
    spare_candidates = {n.name for n in world.engine.state.nodes if not n.ring}
    world.deaf = set(spare_candidates) - {max(spare_candidates, key=world.wiring.position)}
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(30)
    assert not set(world.chain("train/0")) & world.deaf
    world.assert_light_is_plan()


def test_several_nodes_that_fail_in_one_moment_are_healed_in_few_plans(make_world):
    world = make_world(nodes=32).start()
    world.submit(rings=5, tp=16)
    victims = [world.chain(f"train/{i}")[1] for i in range(4)]
    for victim in victims:
        world.fail(FaultKind.GPU_LOST, victim, gpu=1)
    world.advance(1)
    assert all(world.ring(f"train/{i}").state is RingState.ACTIVE for i in range(5))
    world.assert_light_is_plan()


def test_without_a_spare_the_ring_waits_and_heals_after_a_repair(make_world):
    world = make_world(nodes=8, probation=5.0).start()
    world.submit(rings=2, tp=16, min_rings=1)
    fault = world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    assert world.ring("train/0").state is RingState.BROKEN
    assert world.engine.state.jobs["train"].state == "DEGRADED"
    world.assert_light_is_plan()
    world.repair(fault)
    world.advance(10)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.engine.state.jobs["train"].state == "RUNNING"
    world.assert_light_is_plan()


def test_a_fault_that_opens_and_closes_at_once_is_still_bypassed(world):
    victim = world.chain("train/0")[1]
    world.repair(world.fail(FaultKind.GPU_LOST, victim, gpu=0))
    world.advance(1)
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()


def test_releasing_a_job_frees_its_nodes(world):
    assert world.release("train").error is None
    assert not world.engine.state.rings
    assert all(world.plant.table(p) == world.wiring.loopback for p in range(world.wiring.size))
    assert world.submit("again", rings=4, tp=16).error is None
    world.assert_light_is_plan()


def test_a_second_fault_during_a_repair_is_planned_from_what_is_in_flight(world):
    world.deaf = {n.name for n in world.engine.state.nodes}
    chain = world.chain("train/0")
    world.fail(FaultKind.GPU_LOST, chain[1], gpu=0)
    assert world.ring("train/0").state is RingState.SWITCHING
    world.deaf = set()
    world.fail(FaultKind.GPU_LOST, chain[2], gpu=0)
    world.advance(15)
    assert not {chain[1], chain[2]} & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_hop_that_never_lights_is_found_and_routed_around(world):
    """A fibre that was cut while nothing used it: both ends answer, and no light comes."""
    victim, spare = world.chain("train/0")[-1], "n4"
    last = world.chain("train/0")[-2]
    distance = world.wiring.position(spare) - world.wiring.position(last)
    world.fail(FaultKind.FIBRE_CUT, last, distance=distance)
    world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    assert world.ring("train/0").state is RingState.VERIFYING
    world.advance(2)
    assert HopKey(world.wiring.position(last), distance) in world.engine.state.dead_hops
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_the_wait_for_light_begins_with_the_last_answer(world):
    """However late the answers came: the time for light is counted from them."""
    last = world.chain("train/0")[-2]
    distance = world.wiring.position("n4") - world.wiring.position(last)
    world.fail(FaultKind.FIBRE_CUT, last, distance=distance)
    world.deaf = {"n4"}
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[-1], gpu=0)
    (owed,) = [command for command in world.commands if command.node == "n4"]
    world.advance(0.75)
    world.deaf = set()
    world.answer(owed)
    assert world.ring("train/0").state is RingState.VERIFYING
    world.advance(0.75)
    assert not world.engine.state.dead_hops
    world.advance(1)
    assert world.engine.state.dead_hops
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_every_node_of_a_proven_ring_is_confirmed_in_its_own_transaction(make_world):
    """Also those that were in place before the ring had to be planned again."""
    world = make_world().start()
    world.deaf = {"n2"}
    world.submit(rings=1, tp=16)
    world.advance(3)
    assert world.ring("train/0").state is RingState.ACTIVE
    last = {command.node: command.transaction for command in world.commands}
    confirmed = {confirm.node: confirm.transaction for confirm in world.confirms}
    assert confirmed == {name: last[name] for name in world.chain("train/0")}


def test_a_failure_that_no_bundle_explains_is_not_tried_again_at_once(world):
    """Such as an agent that cannot write down whom it obeys."""
    victim = world.chain("train/0")[1]
    world.unwilling = {world.chain("train/0")[2]}
    world.fail(FaultKind.GPU_LOST, victim, gpu=0)
    assert len(world.commands) < 60
    world.advance(5)
    assert not world.unwilling & set(world.chain("train/0"))
    world.assert_light_is_plan()


def test_the_engine_says_once_when_it_has_come_to_rest(world):
    before = world.kinds().count("settled")
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(5)
    assert world.kinds().count("settled") == before + 1


def test_a_stuck_bundle_that_a_power_cycle_cured_is_noticed(make_world):
    """It comes back in loopback, as wanted, so no command would ever try it again."""
    world = make_world(probation=5.0).start()
    world.submit()
    stuck = world.chain("train/0")[2]
    fault = world.fail(FaultKind.BUNDLE_STUCK, stuck, bundle=1)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(1)
    assert world.verdict(stuck) == "FAILED"
    off = world.fail(FaultKind.POWER_OFF, stuck)
    world.repair(fault)
    world.advance(7)
    world.repair(off)
    world.advance(10)
    assert world.verdict(stuck) == "HEALTHY"


def test_rings_on_other_distances_than_one_to_k_heal_like_any(make_world):
    world = make_world(nodes=18, distances=[1, 2, 4]).start()
    assert world.submit().error is None
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


@pytest.fixture
def torn(make_world):
    """A line in which a second ring waits: there would be room, if one of two fibres that are cut were not."""
    world = make_world(nodes=7, k=1, closed=False, retest=100.0).start()
    assert world.submit(rings=2, tp=12, min_rings=1).error is None
    cuts = []
    for node in ("n0", "n5"):
        cuts.append(world.fail(FaultKind.FIBRE_CUT, node, distance=1))
        world.advance(3)
    assert (world.chain("train/0"), world.chain("train/1")) == (["n1", "n2", "n3"], [])
    world.commands.clear()
    world.cuts = cuts
    return world


def test_a_ring_that_works_is_not_moved_to_try_out_a_fibre_that_was_dark(torn):
    told = len(torn.told)
    torn.advance(350)
    assert torn.kinds()[told:].count("hop-retest") >= 2
    assert not torn.commanded() & {"n1", "n2", "n3"}
    assert torn.ring("train/0").state is RingState.ACTIVE


def test_a_ring_that_waits_tries_it_out_with_nodes_that_serve_nobody(torn):
    torn.repair(torn.cuts[1])
    torn.advance(150)
    assert torn.chain("train/1") == ["n4", "n5", "n6"]
    assert torn.ring("train/1").state is RingState.ACTIVE
    assert not torn.commanded() & {"n1", "n2", "n3"}
    assert torn.engine.state.wiring.parse_hop("n5+1") not in torn.engine.state.untested
    torn.assert_light_is_plan()


def test_a_ring_that_waits_gets_a_fibre_that_a_person_trusts_again(torn):
    torn.advance(150)
    assert torn.engine.state.untested
    torn.repair(torn.cuts[0])
    assert torn.trust_hops("n0+1").error is None
    torn.advance(10)
    assert torn.kinds().count("hop-trusted") == 1
    assert {torn.ring(name).state for name in ("train/0", "train/1")} == {RingState.ACTIVE}
    torn.assert_light_is_plan()


def test_only_hops_that_exist_can_be_trusted(torn):
    assert torn.trust_hops().error is not None
    assert torn.trust_hops("n0+1", "n0+7").error is not None
    assert "hop-trusted" not in torn.kinds()
