"""Drain: a node leaves its ring while it works, or the request is refused; whatever goes wrong in between."""

import pytest

from ringlight.controller.engine.explain import explain
from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.fabric.errors import ErrorCode


@pytest.fixture
def tight(make_world):
    """Nine nodes for two rings of four: one spare in all."""
    world = make_world(nodes=9).start()
    assert world.submit().error is None
    return world


def only_spare(world):
    (spare,) = (node.name for node in world.engine.state.nodes if not node.ring)
    return spare


def silence(world):
    """What one may not see change when nothing was done."""
    state = world.engine.state
    return (
        state.generation,
        len(world.commands),
        len(world.told),
        {name: world.chain(name) for name in state.rings},
        [(node.ring, node.leaving, node.overlay, node.overlay_reason, node.desired) for node in state.nodes],
    )


def test_a_drained_node_leaves_its_ring_and_stays_cordoned(world):
    victim, other = world.chain("train/0")[1], world.chain("train/1")
    world.commands.clear()
    answer = world.drain(victim, reason="fan 3 is loud")
    assert answer.error is None
    (change,) = answer.planned.rings
    assert change.ring == "train/0"
    assert victim in change.former
    assert list(change.chain) == world.chain("train/0")
    assert victim not in change.chain
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.chain("train/1") == other
    assert not world.commanded() & set(other), "I1"
    assert world.overlay(victim) == "cordoned"
    assert world.verdict(victim) == "HEALTHY"
    node = world.engine.state.node(victim)
    assert node.overlay_reason == "fan 3 is loud"
    assert node.observed == world.wiring.loopback
    kinds = [event.kind for event in world.told if event.subject == victim]
    assert kinds[-2:] == ["node-draining", "node-drained"]
    world.assert_light_is_plan()
    world.advance(60)
    assert victim not in world.chain("train/0")
    assert not world.pending
    world.assert_light_is_plan()


def test_a_drain_is_commit_confirmed_on_every_node_it_touches(world):
    victim = world.chain("train/0")[1]
    world.commands.clear()
    world.confirms.clear()
    world.drain(victim)
    assert world.commands
    assert victim in world.commanded()
    assert all(command.revert_after > 0 for command in world.commands)
    assert world.commanded() <= {confirm.node for confirm in world.confirms}
    healed = [event for event in world.told if event.kind == "ring-active"][-1]
    assert "heal_seconds" not in healed.data, "nothing was broken"


def test_a_node_in_no_ring_is_only_cordoned(world):
    world.commands.clear()
    answer = world.drain("n15")
    assert answer.error is None
    assert not answer.planned.rings
    assert world.overlay("n15") == "cordoned"
    assert world.engine.state.node("n15").overlay_reason == "drained"
    assert not world.commands


def test_several_nodes_are_drained_by_one_plan(world):
    victims = [world.chain("train/0")[1], world.chain("train/1")[2], "n15"]
    world.commands.clear()
    answer = world.drain(*victims)
    assert answer.error is None
    assert [change.ring for change in answer.planned.rings] == ["train/0", "train/1"]
    assert len({command.transaction for command in world.commands}) == 1
    assert not set(victims) & {*world.chain("train/0"), *world.chain("train/1")}
    assert [world.overlay(name) for name in victims] == ["cordoned"] * 3
    world.assert_light_is_plan()


def test_nodes_of_several_jobs_compete_for_spares_in_order_of_priority(make_world):
    """One spare for two jobs: the plan of the second sees what the first would take."""
    world = make_world(nodes=9, closed=False).start()
    assert world.submit("low", rings=1, tp=16).error is None
    assert world.submit("high", rings=1, tp=16, priority=5).error is None
    before = silence(world)
    error = world.drain(world.chain("low/0")[1], world.chain("high/0")[1]).error
    assert error.code is ErrorCode.REFUSED
    assert "would cost low/0" in str(error)
    assert silence(world) == before
    world.drain(world.chain("low/0")[1], world.chain("high/0")[1], force=True)
    assert world.ring("high/0").state is RingState.ACTIVE
    assert world.ring("low/0").state is RingState.BROKEN
    world.assert_light_is_plan()


def test_a_drain_that_would_cost_a_ring_is_refused_and_changes_nothing(tight):
    tight.cordon(only_spare(tight))
    victim = tight.chain("train/0")[1]
    before = silence(tight)
    error = tight.drain(victim).error
    assert error.code is ErrorCode.REFUSED
    assert f"draining {victim} would cost train/0" in str(error)
    assert "no room for 1 more" in str(error)
    assert "--force" in error.hint
    assert silence(tight) == before
    tight.advance(30)
    assert tight.ring("train/0").state is RingState.ACTIVE


def test_a_forced_drain_lets_the_ring_wait_and_uncordon_brings_it_back(tight):
    tight.cordon(only_spare(tight))
    victim, other = tight.chain("train/0")[1], tight.chain("train/1")
    answer = tight.drain(victim, force=True)
    assert answer.error is None
    assert answer.planned.rings[0].chain == ()
    assert answer.planned.reasons
    assert tight.ring("train/0").state is RingState.BROKEN
    assert tight.overlay(victim) == "cordoned"
    assert tight.chain("train/1") == other
    tight.advance(30)
    assert tight.ring("train/0").state is RingState.BROKEN
    tight.assert_light_is_plan()
    tight.uncordon(victim)
    assert tight.ring("train/0").state is RingState.ACTIVE
    tight.assert_light_is_plan()


def test_a_dry_run_tells_the_same_and_changes_nothing(world):
    victim = world.chain("train/0")[1]
    before = silence(world)
    dry = world.drain(victim, dry_run=True)
    assert silence(world) == before
    assert dry.dry
    assert dry.planned == world.drain(victim).planned


def test_a_dry_run_of_a_drain_that_is_refused_is_refused(tight):
    tight.cordon(only_spare(tight))
    assert tight.drain(tight.chain("train/0")[1], dry_run=True).error.code is ErrorCode.REFUSED
    assert tight.drain("nowhere", dry_run=True).error.code is ErrorCode.NOT_FOUND


def test_while_the_ring_is_switched_its_node_is_draining(world):
    victim = world.chain("train/0")[1]
    spare = world.drain(victim, dry_run=True).planned.rings[0].chain
    world.deaf = set(spare)
    world.drain(victim)
    assert world.overlay(victim) == "draining"
    assert "leaves train/0 as soon as" in explain(world.engine.state, victim).summary
    assert "is being drained" in world.ring("train/0").cause


def test_a_spare_that_does_not_switch_is_planned_around(world):
    victim = world.chain("train/0")[1]
    chain = world.drain(victim, dry_run=True).planned.rings[0].chain
    (spare,) = set(chain) - set(world.chain("train/0"))
    world.fail(FaultKind.BUNDLE_STUCK, spare, bundle=0)
    world.fail(FaultKind.BUNDLE_STUCK, spare, bundle=1)
    world.drain(victim)
    world.advance(5)
    assert world.verdict(spare) != "HEALTHY"
    assert not {spare, victim} & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.overlay(victim) == "cordoned"
    world.advance(30)
    assert not world.pending
    world.assert_light_is_plan()


def test_a_spare_that_does_not_answer_is_planned_around(world):
    victim = world.chain("train/0")[1]
    chain = world.drain(victim, dry_run=True).planned.rings[0].chain
    world.deaf = set(chain) - set(world.chain("train/0"))
    world.drain(victim)
    world.advance(5)
    assert not ({victim} | world.deaf) & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.overlay(victim) == "cordoned"
    world.assert_light_is_plan()


@pytest.mark.parametrize("trouble", ["stuck", "deaf", "dark"])
def test_a_drain_that_turns_out_to_cost_the_ring_is_given_up(tight, trouble):
    """The only spare fails in the middle: the ring gets its node back, which stays cordoned."""
    victim, spare = tight.chain("train/0")[1], only_spare(tight)
    match trouble:
        case "stuck":
            tight.fail(FaultKind.BUNDLE_STUCK, spare, bundle=0)
            tight.fail(FaultKind.BUNDLE_STUCK, spare, bundle=1)
        case "deaf":
            tight.deaf = {spare}
        case "dark":
            position = int(spare[1:])
            for far in range(-2, 3):
                if far:
                    low = (position + min(far, 0)) % 9
                    tight.plant.inject(_cut(f"n{low}", abs(far)))
    assert tight.drain(victim).error is None
    tight.advance(8)
    assert victim in tight.chain("train/0")
    assert tight.ring("train/0").state is RingState.ACTIVE
    assert tight.overlay(victim) == "cordoned"
    assert "drain given up" in tight.engine.state.node(victim).overlay_reason
    assert "node-drain-failed" in [event.kind for event in tight.told if event.subject == victim]
    tight.advance(30)
    assert not tight.pending
    tight.assert_light_is_plan()


def _cut(node, distance):
    return FaultRequest(FaultKind.FIBRE_CUT, node, distance=distance)


def test_a_forced_drain_is_not_given_up(tight):
    victim, spare = tight.chain("train/0")[1], only_spare(tight)
    tight.fail(FaultKind.BUNDLE_STUCK, spare, bundle=0)
    tight.fail(FaultKind.BUNDLE_STUCK, spare, bundle=1)
    tight.drain(victim, force=True)
    tight.advance(8)
    assert tight.ring("train/0").state is RingState.BROKEN
    assert tight.overlay(victim) == "cordoned"
    tight.advance(30)
    assert not tight.pending
    tight.assert_light_is_plan()


def test_a_fault_during_a_drain_takes_the_node_back_rather_than_lose_the_ring(tight):
    victim, spare = tight.chain("train/0")[1], only_spare(tight)
    tight.deaf = {spare}
    tight.drain(victim)
    tight.fail(FaultKind.GPU_LOST, spare, gpu=0)
    tight.deaf = set()
    tight.advance(3)
    assert victim in tight.chain("train/0")
    assert tight.ring("train/0").state is RingState.ACTIVE
    tight.assert_light_is_plan()


def test_a_controller_that_dies_in_the_middle_leaves_the_former_ring_lit(world):
    """Every agent goes back, the drained node's too; the next controller carries the drain through."""
    victim, chain = world.chain("train/0")[1], world.chain("train/0")
    spare = set(world.drain(victim, dry_run=True).planned.rings[0].chain) - set(chain)
    world.deaf = spare
    world.drain(victim)
    lost, world.sessions = world.sessions, {}
    world.engine = world.engine.__class__(world.wiring, world.settings)  # it never hears of what follows
    world.advance(20)
    world.sessions = lost
    gpus = {(world.wiring.position(name), gpu) for name in chain for gpu in range(4)}
    assert any(set(cycle) == gpus for cycle in world.plant.trace().cycles), "the former ring is lit again"
    world.deaf = set()
    world.restart()
    world.advance(30)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert victim not in world.chain("train/0")
    assert world.overlay(victim) == "cordoned"
    assert not world.pending
    world.assert_light_is_plan()


def test_a_drain_cut_off_by_a_restart_may_still_be_given_up(tight):
    victim, spare = tight.chain("train/0")[1], only_spare(tight)
    tight.deaf = {spare}
    tight.drain(victim)
    tight.restart()
    tight.advance(40)
    assert victim in tight.chain("train/0")
    assert tight.ring("train/0").state is RingState.ACTIVE
    assert tight.overlay(victim) == "cordoned"
    tight.assert_light_is_plan()


def test_a_node_that_was_slow_to_let_go_is_confirmed_when_it_answers(world):
    victim = world.chain("train/0")[1]
    world.deaf = {victim}
    world.commands.clear()
    world.drain(victim)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.overlay(victim) == "cordoned"
    world.deaf = set()
    (command,) = (command for command in world.commands if command.node == victim)
    world.answer(command)
    assert not world.pending
    world.advance(30)
    assert world.engine.state.node(victim).observed == world.wiring.loopback
    assert world.engine.state.settled


def test_a_drain_is_lifted_while_it_goes_on(world):
    victim = world.chain("train/0")[1]
    world.deaf = set(world.drain(victim, dry_run=True).planned.rings[0].chain)
    world.drain(victim)
    world.uncordon(victim)
    assert world.overlay(victim) == ""
    world.deaf = set()
    world.advance(30)
    assert world.overlay(victim) == ""
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.pending
    world.assert_light_is_plan()


def test_a_job_released_during_a_drain_ends_the_drain(world):
    victim = world.chain("train/0")[1]
    world.deaf = set(world.drain(victim, dry_run=True).planned.rings[0].chain)
    world.drain(victim)
    world.release("train")
    assert world.overlay(victim) == "cordoned"
    world.deaf = set()
    world.advance(60)
    assert not world.pending
    assert world.engine.state.settled
    world.assert_light_is_plan()


def test_before_the_agents_have_dialled_in_a_refusal_says_so(make_world):
    world = make_world().start()
    world.submit()
    victim = world.chain("train/0")[1]
    members = {*world.chain("train/0"), *world.chain("train/1")}
    world.silent = {node.name for node in world.spec.nodes} - members
    world.restart()
    error = world.drain(victim).error
    assert error.code is ErrorCode.REFUSED
    assert "dialled in" in error.hint
