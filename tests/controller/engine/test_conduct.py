"""Trust that is lost by failing again and again: suppression, quarantine, maintenance."""

from dataclasses import replace

import pytest

from ringlight.controller.engine.effects import StoredConduct
from ringlight.controller.engine.events import FaultCleared, FaultReported, Restored
from ringlight.controller.health.settings import BreakerSettings, FlapSettings
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.circuits import Fault, FaultClass

HOUR, DAY = 3_600.0, 86_400.0


@pytest.fixture
def world(make_world):
    world = make_world(nodes=16, probation=5.0, breaker=BreakerSettings(burst=100)).start()
    assert world.submit().error is None
    return world


def fail_and_mend(world, node, times=1, pause=10.0):
    for _ in range(times):
        fault = world.fail(FaultKind.GPU_LOST, node)
        world.advance(1)
        world.repair(fault)
        world.advance(pause, step=max(0.25, pause / 200))


def quarantined(world):
    return {node.name: node.quarantine for node in world.engine.state.nodes if node.quarantine}


def sleep(world, seconds):
    """A long time passes without anything, in coarse steps."""
    world.advance(seconds, step=2.0)


def test_a_node_that_failed_twice_in_a_moment_is_trusted_only_when_the_penalty_wore_off(make_world):
    world = make_world(probation=5.0, flap=FlapSettings(penalty=1_100.0)).start()
    fail_and_mend(world, "n15", times=2, pause=0.5)
    world.advance(10)
    assert world.verdict("n15") == "PROBATION"
    assert "too often lately" in world.engine.state.node("n15").judgement.reason
    sleep(world, 1_500)
    assert world.verdict("n15") == "HEALTHY"


def test_three_failures_quarantine_a_node_until_a_person_releases_it(world):
    fail_and_mend(world, "n15", times=3)
    fail_and_mend(world, "n15")
    assert quarantined(world) == {"n15": "failed 3 times in 7 days"}
    assert world.kinds().count("node-quarantined") == 1
    sleep(world, 4_000)
    assert world.verdict("n15") == "HEALTHY"
    assert not world.engine.state.node("n15").usable
    assert world.release_quarantine("n15").error is None
    assert quarantined(world) == {}
    world.advance(1)
    assert world.engine.state.node("n15").usable


def test_a_ring_that_waits_takes_a_node_the_moment_it_is_released(make_world):
    world = make_world(nodes=5, probation=1.0, breaker=BreakerSettings(burst=100)).start()
    fail_and_mend(world, "n4", times=3)
    world.advance(100)
    assert world.submit("big", rings=1, tp=20).error is not None
    world.release_quarantine("n4")
    world.advance(1)
    assert world.submit("big", rings=1, tp=20).error is None


def test_a_ring_keeps_a_member_that_is_quarantined_for_degrading(world):
    """Quarantine keeps a node from new rings; it takes nobody out of a ring that works."""
    member = world.chain("train/0")[1]
    chain = world.chain("train/0")
    for _ in range(3):
        session = world.sessions[member]
        world.handle(FaultReported(session, member, Fault("d", "gpu0", FaultClass.DEGRADED, "xid:63")))
        world.advance(1)
        world.handle(FaultCleared(session, member, "d"))
        world.advance(10)
    assert member in quarantined(world)
    assert world.chain("train/0") == chain


def test_one_episode_counts_once_however_often_the_controller_restarts(world):
    world.fail(FaultKind.GPU_LOST, "n15")
    for _ in range(4):
        world.restart()
        world.advance(5)
    assert len(world.engine.state.node("n15").failures) == 1
    assert quarantined(world) == {}


def test_pitfall_09_recovered_and_failed_again_in_quick_succession_is_failed(world):
    """The new fault wins, though the old one's end is told after it began."""
    victim = world.chain("train/0")[1]
    first = world.fail(FaultKind.GPU_LOST, victim)
    second = world.fail(FaultKind.GPU_LOST, victim)
    world.repair(first)
    assert world.verdict(victim) == "FAILED"
    world.repair(second)
    assert world.verdict(victim) != "FAILED"


def test_pitfall_08_faults_of_an_episode_that_is_over_are_nobodys_after_a_cold_start(world):
    """What the hello does not hold has closed, whatever was reported before the restart."""
    victim = world.chain("train/0")[1]
    fault = world.fail(FaultKind.GPU_LOST, victim)
    world.repair(fault)
    world.restart()
    world.advance(10)
    assert world.verdict(victim) == "HEALTHY"
    assert world.engine.state.node(victim).faults == ()
    assert not world.engine.state.node(victim).failing


def test_conduct_and_quarantine_survive_a_restart(world):
    fail_and_mend(world, "n15", times=2)
    world.restart()
    world.advance(20)
    fail_and_mend(world, "n15")
    assert "n15" in quarantined(world)
    world.restart()
    world.advance(10)
    assert "n15" in quarantined(world)


@pytest.mark.parametrize("shift", [-HOUR, HOUR])
def test_pitfall_03_a_wall_clock_that_was_set_decides_nothing_now(world, shift):
    """Not even between two lives of the controller: only how long ago something was is off by as much."""
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    world.wall_offset += shift
    world.restart()
    world.advance(30)
    assert sorted(node.verdict.value for node in world.engine.state.nodes).count("FAILED") == 1
    assert all(when <= world.now for node in world.engine.state.nodes for when in node.failures)
    world.assert_light_is_plan()


def test_conduct_of_the_future_counts_as_of_now(make_world):
    world = make_world(nodes=8)
    later = world.now + world.wall_offset + 1e6
    world.start(Restored(1, wall=world.now + world.wall_offset, conduct=(StoredConduct("n1", (later,), (later,)),)))
    assert world.engine.state.node("n1").failures == [1000.0]


def test_a_failure_of_a_week_ago_is_forgotten(world):
    fail_and_mend(world, "n15")
    sleep(world, 100)
    record = world.engine.state.node("n15")
    record.failures = [when - 8 * DAY for when in record.failures]
    record.flaps = [when - 8 * DAY for when in record.flaps]
    fail_and_mend(world, "n15", times=2)
    assert quarantined(world) == {}


# -- maintenance -----------------------------------------------------------------------------------------------------


def test_what_a_node_does_in_maintenance_does_not_count(world):
    assert world.maintenance("n15", seconds=300).error is None
    assert world.overlay("n15") == "maintenance"
    fail_and_mend(world, "n15", times=5)
    record = world.engine.state.node("n15")
    assert (record.failures, record.flaps, record.quarantine) == ([], [], "")


def test_maintenance_takes_a_node_out_of_its_ring_and_ends_by_itself(world):
    victim = world.chain("train/0")[1]
    assert world.maintenance(victim, seconds=60, reason="psu").error is None
    world.advance(1)
    assert victim not in world.chain("train/0")
    assert world.overlay(victim) == "maintenance"
    world.advance(58)
    assert world.overlay(victim) == "maintenance"
    world.advance(2)
    assert world.overlay(victim) == ""
    assert world.engine.state.node(victim).usable
    world.assert_light_is_plan()


def test_maintenance_goes_on_over_a_restart_and_ends_in_it(world):
    world.maintenance("n15", seconds=60)
    world.advance(20)
    world.restart()
    assert world.overlay("n15") == "maintenance"
    world.advance(39)
    assert world.overlay("n15") == "maintenance"
    world.advance(2)
    assert world.overlay("n15") == ""
    world.maintenance("n15", seconds=5)
    world.restart()
    world.advance(6)
    assert world.overlay("n15") == ""


def test_maintenance_can_be_prolonged_and_ended_early(world):
    world.maintenance("n15", seconds=10)
    world.advance(5)
    world.maintenance("n15", seconds=60)
    world.advance(30)
    assert world.overlay("n15") == "maintenance"
    world.uncordon("n15")
    assert world.overlay("n15") == ""
    world.advance(60)
    assert world.overlay("n15") == ""


def test_a_failure_that_outlasts_maintenance_counts_only_when_it_comes_again(world):
    world.maintenance("n15", seconds=20)
    fault = world.fail(FaultKind.GPU_LOST, "n15")
    world.advance(30)
    assert world.engine.state.node("n15").failures == []
    world.repair(fault)
    world.advance(10)
    fail_and_mend(world, "n15")
    assert len(world.engine.state.node("n15").failures) == 1


def test_an_episode_is_not_over_by_silence(world):
    """The node is restarted while the controller is: it comes back as broken as it was."""
    world.fail(FaultKind.GPU_LOST, "n15")
    world.hang_up("n15")
    world.restart()
    world.advance(30)
    assert world.verdict("n15") == "UNREACHABLE"
    world.silent.discard("n15")
    world.dial("n15")
    assert world.verdict("n15") == "FAILED"
    assert len(world.engine.state.node("n15").failures) == 1


@pytest.mark.parametrize("early", [True, False])
def test_a_failure_of_maintenance_that_outlasts_it_does_not_count_after_a_restart_either(world, early):
    world.maintenance("n15", seconds=20)
    world.fail(FaultKind.GPU_LOST, "n15")
    if early:
        world.uncordon("n15")
    world.advance(30)
    assert world.overlay("n15") == ""
    world.restart()
    world.advance(5)
    record = world.engine.state.node("n15")
    assert (record.verdict, record.failures, record.failing) == ("FAILED", [], True)
    assert not world.engine.state.new_failures


@pytest.mark.parametrize("failing", [True, False])
def test_probation_goes_on_over_a_restart(make_world, failing):
    """Slow up: a node that failed a moment ago is not trusted because the controller forgot."""
    world = make_world(probation=100.0).start()
    fault = world.fail(FaultKind.GPU_LOST, "n15")
    world.advance(5)
    if not failing:
        world.repair(fault)
    world.restart()
    world.advance(5)
    if failing:
        world.repair(fault)
    world.advance(80)
    assert world.verdict("n15") == "PROBATION"
    world.restart()
    world.advance(30)
    assert world.verdict("n15") == "HEALTHY"


def test_what_degrades_flaps_and_does_not_fail(world):
    """Three flaps in half a day quarantine it; the same spread over two days do not."""
    for node, pause in (("n14", 60.0), ("n15", 50_000.0)):
        record = world.engine.state.node(node)
        for _ in range(3):
            world.handle(FaultReported(world.sessions[node], node, Fault("d", "gpu0", FaultClass.DEGRADED, "xid:63")))
            world.handle(FaultCleared(world.sessions[node], node, "d"))
            record.flaps = [when - pause for when in record.flaps]
        assert record.failures == []
    assert quarantined(world) == {"n14": "failed or degraded 3 times in 12 hours"}


def test_a_degraded_node_that_is_found_so_at_a_start_has_not_flapped_again(world):
    world.handle(FaultReported(world.sessions["n15"], "n15", Fault("d", "gpu0", FaultClass.DEGRADED, "xid:63")))
    before = len(world.engine.state.node("n15").flaps)
    degraded = replace(hello(world, "n15"), faults=(Fault("d", "gpu0", FaultClass.DEGRADED, "xid:63"),))
    for _ in range(3):
        world.silent.add("n15")
        world.restart()
        world.silent.clear()
        world.dial("n15", nodes=(degraded,))
        assert world.verdict("n15") == "DEGRADED"
    assert len(world.engine.state.node("n15").flaps) == before == 1


def hello(world, node):
    """What a node's agent says of it when it dials."""
    said = []
    handle = world.handle
    world.handle = said.append
    world.dial(node)
    world.handle = handle
    return said[0].nodes[0]


def test_a_node_that_was_mended_while_nobody_looked_waits_out_its_probation(make_world):
    world = make_world(probation=100.0).start()
    fault = world.fail(FaultKind.GPU_LOST, "n15")
    world.plant.repair(fault)
    world.now += 3_600
    world._next_beat = world.now
    world.restart()
    world.advance(90)
    assert world.verdict("n15") == "PROBATION"
    world.advance(20)
    assert world.verdict("n15") == "HEALTHY"
