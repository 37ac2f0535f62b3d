"""What keeps everything from moving: breaker, pause, a later controller; and how it ends."""

import pytest

from ringlight.controller.engine.events import SessionLost, StoreTaken
from ringlight.controller.engine.state import RingState
from ringlight.controller.health.settings import BreakerSettings
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.errors import ErrorCode


@pytest.fixture
def world(make_world):
    """20 nodes, one job of three rings; the third failure within five minutes trips the breaker."""
    world = make_world(nodes=20, breaker=BreakerSettings(burst=2, share=0.01)).start()
    assert world.submit(rings=3, tp=16, min_rings=1).error is None
    world.advance(20)
    world.commands.clear()
    return world


def trip(world):
    """Three nodes fail; the first two are healed."""
    return [world.fail(FaultKind.GPU_LOST, world.chain(ring)[1]) for ring in ("train/0", "train/1", "train/2")]


def test_one_failure_too_many_moves_nothing(world):
    third = world.chain("train/2")
    faults = trip(world)
    assert "3 nodes newly failed" in world.shut()["breaker"]
    assert world.ring("train/0").state is world.ring("train/1").state is RingState.ACTIVE
    assert world.ring("train/2").state is RingState.BROKEN
    assert world.chain("train/2") == third
    world.commands.clear()
    world.advance(120)
    assert not world.commands
    assert len(faults) == 3


def test_while_it_is_tripped_what_would_move_light_is_refused(world):
    trip(world)
    for answer in (
        world.submit("more", rings=1, tp=16),
        world.release("train"),
        world.resize("train", 1),
        world.drain("n19"),
        world.maintenance("n19"),
    ):
        assert answer.error is not None
        assert answer.error.code is ErrorCode.REFUSED
        assert "breaker reset" in answer.error.hint
    assert world.cordon("n19").error is None
    assert world.resize("train", 2, dry_run=True).error is None
    assert world.drain("n19", dry_run=True).error is None


def test_pitfall_10_a_recovery_is_noticed_although_the_breaker_is_tripped(world):
    """The node is well, its ring whole: ACTIVE again without a command, and what is still held is shown."""
    faults = trip(world)
    world.commands.clear()
    world.repair(faults[2])
    world.advance(1)
    assert world.ring("train/2").state is RingState.ACTIVE
    assert not world.commands
    assert "breaker" in world.shut()
    world.assert_light_is_plan()


def test_pitfall_05_a_reset_evaluates_the_present_and_replays_nothing(world):
    faults = trip(world)
    world.repair(faults[0])
    world.repair(faults[2])
    third = world.chain("train/2")
    world.commands.clear()
    world.advance(1)
    assert world.reset_breaker().error is None
    world.advance(1)
    assert world.shut() == {}
    assert world.chain("train/2") == third
    assert not world.commands
    world.assert_light_is_plan()


def test_a_reset_heals_what_is_broken_still(world):
    trip(world)
    victim = world.chain("train/2")[1]
    assert world.reset_breaker().error is None
    world.settle()
    assert world.ring("train/2").state is RingState.ACTIVE
    assert victim not in world.chain("train/2")
    world.assert_light_is_plan()
    assert world.reset_breaker().error is not None


def test_failures_a_long_time_apart_trip_nothing(world):
    for ring in ("train/0", "train/1", "train/2"):
        world.fail(FaultKind.GPU_LOST, world.chain(ring)[1])
        world.advance(200)
    assert world.shut() == {}


def test_a_tripped_breaker_survives_a_restart(world):
    trip(world)
    world.restart()
    world.commands.clear()
    world.advance(60)
    assert "breaker" in world.shut()
    assert not world.commands
    world.reset_breaker()
    world.advance(1)
    assert world.ring("train/2").state is RingState.ACTIVE


def test_old_failures_that_are_found_at_a_start_are_not_new(world):
    for ring in ("train/0", "train/1"):
        world.fail(FaultKind.GPU_LOST, world.chain(ring)[1])
    world.advance(400)
    world.restart()
    world.advance(20)
    world.fail(FaultKind.GPU_LOST, world.chain("train/2")[1])
    assert world.shut() == {}


def test_a_pause_observes_and_changes_nothing(world):
    assert world.pause("firmware").error is None
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_LOST, victim)
    world.advance(30)
    assert world.verdict(victim) == "FAILED"
    assert world.ring("train/0").state is RingState.BROKEN
    assert not world.commands
    assert world.shut() == {"pause": "firmware"}
    assert world.submit("more", rings=1, tp=16).error.code is ErrorCode.REFUSED
    assert world.resume().error is None
    world.settle()
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()
    assert world.resume().error is not None


def test_a_pause_survives_a_restart_and_a_change_under_way_comes_to_its_end(world):
    world.deaf = {"n16"}
    world.submit("more", rings=1, tp=16)
    slow = [command for command in world.commands if command.node == "n16"]
    world.pause()
    world.deaf = set()
    for command in slow:
        world.answer(command)
    assert world.ring("more/0").state is RingState.ACTIVE
    world.restart()
    assert "pause" in world.shut()
    world.commands.clear()
    world.advance(30)
    assert not world.commands


def test_light_that_nobody_wants_waits_for_the_end_of_a_pause(world):
    world.pause()
    world.fail(FaultKind.POWER_OFF, "n19")
    world.repair(world.plant.faults.all()[0].id)
    world.advance(30)
    assert not world.commands


def test_pitfall_17_a_controller_that_was_succeeded_commands_nothing_any_more(world):
    """It learns so from an agent that has obeyed a later one, lets go of its agents, and says so."""
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])  # it has commanded
    world.commands.clear()
    world.dial("n19", highest_epoch=9)
    assert "epoch 9" in world.shut()["term"]
    assert world.refused
    assert len(world.closed) >= 19
    world.fail(FaultKind.GPU_LOST, world.chain("train/1")[1])
    world.advance(30)
    assert not world.commands
    assert world.engine.state.epoch < 9


def test_a_controller_that_commanded_nothing_outranks_what_its_agents_have_seen(make_world):
    world = make_world(nodes=8)
    world.epochs = {"n3": 7}
    world.start()
    assert world.engine.state.epoch == 8
    assert world.shut() == {}


def test_an_epoch_that_somebody_else_used_is_not_used_again(make_world):
    """After the store was restored from a copy, the next number may have been another controller's."""
    world = make_world(nodes=8)
    world.epochs = {"n3": 1}
    world.start()
    assert world.engine.state.epoch == 2


def test_a_controller_whose_store_was_taken_commands_nothing_any_more(world):
    world.handle(StoreTaken("another controller began epoch 9"))
    assert "began epoch 9" in world.shut()["term"]
    world.fail(FaultKind.GPU_LOST, world.chain("train/1")[1])
    world.advance(30)
    assert not world.commands


def test_nine_of_a_small_fabric_at_once_move_nothing_at_all(make_world):
    """By the defaults: more than 8 nodes, and more than a fifth. They fall dark and silent in one moment."""
    world = make_world(nodes=44).start()
    assert world.submit(rings=9, tp=16).error is None
    world.advance(20)
    world.commands.clear()
    before = {f"train/{number}": world.chain(f"train/{number}") for number in range(9)}
    for name in before:
        world.fail(FaultKind.POWER_OFF, before[name][1])
    world.advance(60)
    assert "9 nodes newly failed within 300 s, more than the 8" in world.shut()["breaker"]
    assert not world.commands
    assert {name: world.chain(name) for name in before} == before


@pytest.mark.parametrize("failures", [8, 9])
def test_eight_are_acted_on(make_world, failures):
    world = make_world(nodes=44).start()
    assert world.submit(rings=9, tp=16, min_rings=1).error is None
    for number in range(failures):
        world.fail(FaultKind.GPU_LOST, world.chain(f"train/{number}")[1])
    assert ("breaker" in world.shut()) is (failures > 8)


def test_a_restart_does_not_let_as_many_fail_again(world):
    """A controller that restarts again and again would take the fabric apart a few nodes at a time."""
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    world.fail(FaultKind.GPU_LOST, world.chain("train/1")[1])
    world.restart()
    world.advance(20)
    world.commands.clear()
    world.fail(FaultKind.GPU_LOST, world.chain("train/2")[1])
    assert "3 nodes newly failed" in world.shut()["breaker"]
    assert not world.commands


def test_failures_that_the_wall_clock_dates_ahead_are_of_no_known_age(world):
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    world.fail(FaultKind.GPU_LOST, world.chain("train/1")[1])
    world.wall_offset -= 3_600
    world.restart()
    world.advance(20)
    world.fail(FaultKind.GPU_LOST, world.chain("train/2")[1])
    assert world.shut() == {}


def test_in_maintenance_nothing_counts_towards_the_breaker(world):
    world.maintenance("n12", "n13", "n14", "n15", seconds=600)
    for number in range(12, 16):
        world.fail(FaultKind.GPU_LOST, f"n{number}")
    assert world.shut() == {}


def test_pitfall_10_a_fibre_that_is_lit_again_is_noticed_although_nothing_may_move(world):
    """Level, not edge: a hop that was believed dead and sees light at both ends is not dead."""
    world.pause()
    hop = world.ring("train/0").hops[1]
    fault = world.fail(FaultKind.FIBRE_CUT, world.wiring.name(hop.key.position), distance=hop.key.distance)
    world.advance(5)
    assert world.ring("train/0").state is RingState.BROKEN
    world.repair(fault)
    world.advance(1)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.engine.state.dead_hops == {}
    assert "hop-lit" in world.kinds()
    world.resume()
    world.advance(10)
    assert not world.commands
    world.assert_light_is_plan()


def test_a_fibre_that_stays_dark_over_a_pause_is_routed_around_afterwards(world):
    world.pause()
    hop = world.ring("train/0").hops[1]
    world.fail(FaultKind.FIBRE_CUT, world.wiring.name(hop.key.position), distance=hop.key.distance)
    world.advance(60)
    assert not world.commands
    world.resume()
    world.advance(1)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert hop.key not in {other.key for other in world.ring("train/0").hops}
    world.assert_light_is_plan()


def test_an_answer_that_comes_late_in_a_pause_proves_its_ring(world):
    world.deaf = {node.name for node in world.spec.nodes} - set(world.chain("train/0"))
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[0])
    slow = [command for command in world.commands if command.node in world.deaf]
    world.pause()
    world.commands.clear()
    world.advance(5)
    assert world.ring("train/0").state is RingState.BROKEN
    world.deaf = set()
    for command in slow:
        world.answer(command)
    world.advance(1)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.commands
    world.assert_light_is_plan()


@pytest.mark.parametrize("restarted", [True, False])
def test_a_planned_change_that_a_pause_cuts_off_is_undone_by_its_agents_and_by_nobody_else(world, restarted):
    member, before = world.chain("train/0")[1], world.chain("train/0")
    world.deaf = {node.name for node in world.spec.nodes} - set(before)
    assert world.drain(member).error is None
    assert world.chain("train/0") != before
    world.pause()
    world.commands.clear()
    world.advance(30)
    world.deaf = set()
    if restarted:
        world.restart()
        world.advance(20)
    assert not world.commands
    world.resume()
    world.advance(30)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_one_that_was_succeeded_neither_confirms_nor_goes_on(world):
    world.deaf = {"n16"}
    world.submit("more", rings=1, tp=16)
    slow = [command for command in world.commands if command.node == "n16"]
    assert slow
    world.dial("n19", highest_epoch=9)
    world.confirms.clear()
    for command in slow:
        world.handle(SessionLost(command.session, "a later controller took over"))
    world.advance(30)
    assert not world.confirms
    assert world.submit("again", rings=1, tp=4).error.code is ErrorCode.REFUSED
    assert world.reset_breaker().error is not None


def test_after_a_reset_as_many_may_fail_as_before(world):
    """What a person has looked at is not held against the fabric again."""
    trip(world)
    world.reset_breaker()
    world.advance(1)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    assert world.shut() == {}


def test_a_node_in_maintenance_that_does_not_answer_counts_for_nothing(world):
    """Somebody works on it: it comes up with fibres selected, and hears nobody."""
    world.maintenance("n15", seconds=600)
    port = world.wiring.ports(15)[0]
    world.plant.select(15, port.bundle, port.path)
    world.deaf = {"n15"}
    world.hang_up("n15")
    world.silent.clear()
    world.dial("n15")
    world.advance(25)
    assert world.engine.state.node("n15").unanswered
    assert not world.engine.state.new_failures


def test_the_same_pause_again_is_told_once_and_another_reason_replaces_it(world):
    for reason in ("firmware", "firmware", "cabling"):
        assert world.pause(reason).error is None
    assert world.kinds().count("paused") == 2
    assert world.shut() == {"pause": "cabling"}


def test_nodes_that_do_not_answer_count_towards_the_breaker(world):
    """Each repair that nobody carries out would take more spares."""
    world.deaf = {node.name for node in world.spec.nodes} - set(world.chain("train/0"))
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[0])
    world.advance(30)
    assert "breaker" in world.shut()
