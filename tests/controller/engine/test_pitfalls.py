"""What went wrong in other controllers, and must not here: one test a report, named after its number.

The rest of them are where they belong: conduct (3, 8, 9), gates (5, 10, 17), incidents (11, 38), the store (16), its
runtime (13), metrics (30, 31), reconnecting (27), and whole lives in tests/simulation (39).
"""

import pytest

from ringlight.controller.engine.events import Applied, FaultCleared, FaultReported, Heartbeat, NodeBeat, Tick
from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.circuits import Fault, FaultClass, digest
from ringlight.fabric.outcomes import ApplyCode


def test_pitfall_01_failover_with_no_agent_connected_does_nothing(world):
    """Everybody looks dead to a controller that has heard nobody."""
    world.silent = {node.name for node in world.spec.nodes}
    world.restart()
    world.commands.clear()
    world.advance(600, step=1.0)
    assert not world.commands
    assert world.chain("train/0")
    assert world.ring("train/0").state is not RingState.BROKEN
    assert "silence" in world.shut()


def test_pitfall_02_if_nobody_is_heard_it_is_us_who_are_blind_and_timers_begin_anew_afterwards(world):
    world.advance(5)
    world.commands.clear()
    for name in sorted(world.sessions):
        world.hang_up(name)
    world.advance(300, step=1.0)
    assert not world.commands
    back = [node.name for node in world.spec.nodes if node.name != world.chain("train/0")[1]]
    for name in back:
        world.silent.discard(name)
        world.dial(name)
    world.advance(4.5)
    assert world.verdict(world.chain("train/0")[1]) not in ("FAILED", "UNREACHABLE")
    assert not world.commands


@pytest.mark.parametrize("lost", [0, 1])
def test_pitfall_04_a_controller_that_dies_between_record_and_deed_acts_after_its_restart(world, lost):
    """What is wanted is on record, or is found wanting again: level, not edge."""
    victim = world.chain("train/0")[1]
    world.deaf = {node.name for node in world.spec.nodes}
    world.fail(FaultKind.GPU_LOST, victim)
    if lost:
        world.persisted = world.persisted[:-1]
    world.deaf = set()
    world.restart()
    world.advance(30)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()


def test_pitfall_06_commands_leave_before_records_and_records_before_whoever_watches(world):
    """Whoever resumes a watch at a number finds on record what that number told."""
    steps = []
    handle = world.engine.handle

    def spy(event, now):
        effects = handle(event, now)
        steps.append([type(effect).__name__ for effect in effects])
        return effects

    world.engine.handle = spy
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    (order,) = [step for step in steps if "SendCircuits" in step]
    assert max(i for i, name in enumerate(order) if name == "SendCircuits") < order.index("Persist")
    assert max(i for i, name in enumerate(order) if name == "Persist") < order.index("Publish")


def test_pitfall_07_a_fault_that_is_over_is_acted_on_by_nobody(world):
    """It opens and closes while nothing may move; afterwards the node is well, and that is what counts."""
    victim = world.chain("train/0")[1]
    world.pause()
    world.repair(world.fail(FaultKind.GPU_LOST, victim))
    world.commands.clear()
    world.resume()
    world.advance(30)
    world.restart()
    world.advance(30)
    assert not world.commands
    assert victim in world.chain("train/0")


def test_pitfall_12_ranks_are_stable_under_faults_that_have_nothing_to_do_with_them(world):
    """And whoever read them sees by the generation that they are the same."""
    before = (world.chain("train/1"), world.ring("train/1").generation)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    world.fail(FaultKind.GPU_LOST, "n15")
    assert (world.chain("train/1"), world.ring("train/1").generation) == before
    moved = world.ring("train/0").generation
    assert moved > before[1]


def test_pitfall_14_only_who_can_command_is_the_leader(world):
    """What it reads says nothing: an agent's refusal, which is a failure to act, tells it that it was succeeded."""
    victim = world.chain("train/0")[1]
    world.deaf = {node.name for node in world.spec.nodes}
    world.fail(FaultKind.GPU_LOST, victim)
    command = world.commands[-1]
    world.handle(
        Applied(
            command.session,
            command.node,
            command.transaction,
            command.epoch,
            command.generation,
            ApplyCode.STALE_EPOCH,
            {},
            world.plant.table(world.wiring.position(command.node)),
            {},
            highest_epoch=command.epoch + 3,
        )
    )
    assert "term" in world.shut()
    world.commands.clear()
    world.advance(30)
    assert not world.commands


def test_pitfall_15_without_a_store_agents_keep_their_circuits_and_rings_go_on_healing(world):
    """The engine waits for no record: a store that never answers stops nothing."""
    world.persisted.clear()
    for ring in ("train/0", "train/1"):
        victim = world.chain(ring)[1]
        world.fail(FaultKind.GPU_LOST, victim)
        assert world.ring(ring).state is RingState.ACTIVE
        assert victim not in world.chain(ring)
    world.assert_light_is_plan()


def test_pitfall_32_a_new_start_disturbs_nothing_and_learns_what_is_up_already(world):
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_LOST, victim)
    before = {name: world.chain(name) for name in ("train/0", "train/1")}
    world.restart()
    world.advance(30)
    assert {name: world.chain(name) for name in before} == before
    assert {world.ring(name).state for name in before} == {RingState.ACTIVE}
    assert world.verdict(victim) == "FAILED"
    assert not world.commands


def test_pitfall_35_light_that_goes_and_comes_by_our_own_switching_is_no_evidence(world):
    """Every repair darkens fibres and lights others: nobody is blamed for that."""
    for _ in range(3):
        world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
        world.advance(1)
    assert not world.engine.state.dead_hops
    assert sorted({node.verdict.value for node in world.engine.state.nodes}) == ["FAILED", "HEALTHY"]


def test_pitfall_35_an_agent_that_restarts_causes_no_write(world):
    world.advance(5)
    tables = [world.plant.table(position) for position in range(16)]
    world.commands.clear()
    for node in world.spec.nodes:
        world.hang_up(node.name)
        world.silent.discard(node.name)
        world.dial(node.name)
    world.advance(10)
    assert not world.commands
    assert [world.plant.table(position) for position in range(16)] == tables


@pytest.mark.parametrize("reached", range(6))
def test_pitfall_36_a_change_that_is_half_carried_out_leaks_nothing(world, reached):
    """Some agents obeyed and some did not, and the controller died: it is brought to an end from what is wanted."""
    names = [node.name for node in world.spec.nodes]
    world.deaf = set(names[reached + 4 :])
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[0])
    world.deaf = set()
    world.restart()
    world.advance(60)
    world.assert_light_is_plan()
    assert {world.ring(f"train/{number}").state for number in (0, 1)} == {RingState.ACTIVE}
    lit = {position for ring in world.engine.state.rings.values() for position in ring.chain}
    assert all(world.plant.table(p) == world.wiring.loopback for p in range(16) if p not in lit)


def test_pitfall_37_steady_churn_does_not_put_a_plan_off_for_ever(world):
    """News in every moment, and a ring that is broken: it is planned at once, or after a pause that does not grow."""
    victim = world.chain("train/0")[1]
    other = world.chain("train/1")[0]
    planned = []
    for number in range(200):
        fault = Fault(f"c{number}", "gpu0", FaultClass.INFO, "xid:13")
        world.handle(FaultReported(world.sessions[other], other, fault))
        if number == 20:
            world.plant_fault = world.fail(FaultKind.GPU_LOST, victim)
            planned.append(world.now)
        world.now += 0.002
        world.handle(FaultCleared(world.sessions[other], other, f"c{number}"))
        if victim not in world.chain("train/0"):
            planned.append(world.now)
            break
    assert planned[1] - planned[0] < 0.05


# -- the lessons of a formally verified controller ---------------------------------------------------------------------


def test_rule_01_an_answer_of_another_life_is_no_answer(world):
    """A node that lost power and came back has forgotten what it answered for: its ring is not called ACTIVE."""
    victim = world.chain("train/0")[1]
    fault = world.fail(FaultKind.POWER_OFF, victim)
    world.repair(fault)
    world.advance(2)
    world.assert_light_is_plan()
    assert world.engine.state.node(victim).observed == world.plant.table(world.wiring.position(victim))


def test_rule_02_an_answer_to_a_command_that_was_replaced_proves_nothing(world):
    victim = world.chain("train/0")[1]
    world.deaf = {node.name for node in world.spec.nodes}
    world.fail(FaultKind.GPU_LOST, victim)
    first = world.commands[-1]
    world.advance(1.5)  # no answer: planned again without them
    state = world.engine.state.node(first.node)
    replaced = state.generation != first.generation or not state.ring
    world.handle(
        Applied(
            first.session,
            first.node,
            first.transaction,
            first.epoch,
            first.generation,
            ApplyCode.APPLIED,
            {},
            first.table,
            {},
        )
    )
    assert replaced
    assert world.ring("train/0").state is not RingState.ACTIVE


def test_rule_03_a_node_is_cleaned_up_before_it_is_on_offer(world):
    """It comes back with fibres selected that nobody wants: it is a spare only when it was read in loopback."""
    world.hang_up("n15")
    bundles = world.wiring.bundles
    port = world.wiring.ports(15)[0]
    world.plant.select(15, port.bundle, port.path)
    world.silent.discard("n15")
    world.unwilling = {"n15"}
    world.dial("n15")
    assert world.engine.state.node("n15").observed != world.wiring.loopback
    world.unwilling = set()
    world.advance(25)
    assert world.engine.state.node("n15").observed == world.wiring.loopback
    assert len(world.engine.state.node("n15").observed) == bundles


def test_rule_04_a_second_plan_is_made_from_what_is_wanted_changes_in_flight_included(world):
    """Two plans never end up installed at once: no node is in two rings, and light is the last plan."""
    first, second = world.chain("train/0")[1], world.chain("train/1")[1]
    slow = {node.name for node in world.spec.nodes}
    world.deaf = slow
    world.fail(FaultKind.GPU_LOST, first)
    world.deaf = set()
    world.fail(FaultKind.GPU_LOST, second)
    world.advance(10)
    world.assert_light_is_plan()
    members = [name for ring in ("train/0", "train/1") for name in world.chain(ring)]
    assert len(members) == len(set(members))


def test_rule_05_a_plan_that_changes_nothing_sends_nothing(world):
    world.commands.clear()
    for node in world.spec.nodes:
        world.cordon(node.name)
        world.uncordon(node.name)
    world.handle(Tick())
    assert not world.commands


def test_rule_06_a_ring_belongs_to_one_job_and_a_node_to_one_ring(world):
    world.submit("b", rings=1, tp=16, priority=5)
    world.fail(FaultKind.GPU_LOST, world.chain("b/0")[0])
    owners = [position for ring in world.engine.state.rings.values() for position in ring.chain]
    assert len(owners) == len(set(owners))
    assert all(
        world.engine.state.nodes[position].ring == ring.name
        for ring in world.engine.state.rings.values()
        for position in ring.chain
    )


def test_rule_07_a_start_does_not_wait_for_devices_that_are_down(world):
    """They are picked up when they come back."""
    world.silent.add("n12")
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    world.restart()
    world.advance(11)
    assert world.submit("more", rings=1, tp=8).error is None
    world.silent.discard("n12")
    world.dial("n12")
    assert world.engine.state.node("n12").usable


def test_rule_08_the_devices_truth_counts_and_not_the_former_masters_notes(world):
    """The notes say ACTIVE; a node of it selects something else."""
    victim = world.chain("train/0")[1]
    position = world.wiring.position(victim)
    world.silent.add(victim)
    for bundle in range(world.wiring.bundles):
        world.plant.select(position, bundle, world.wiring.loopback[bundle])
    world.silent.discard(victim)
    world.restart()
    world.advance(15)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_rule_09_nothing_is_applied_twice_over_a_take_over(world):
    """Equal tables are not written again, whoever asks for them."""
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    before = len(world.commands)
    world.restart()
    world.advance(30)
    assert len(world.commands) == 0
    assert before > 0


def test_rule_10_what_cannot_be_done_now_is_done_later_and_not_forgotten(world):
    """A plan that comes too soon after another waits for its time; it is not skipped."""
    state = world.engine.state
    victim = world.chain("train/0")[1]
    state.jobs["train"].plan_again_at = world.now + 0.5
    world.fail(FaultKind.GPU_LOST, victim)
    assert victim in world.chain("train/0")
    world.advance(1)
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()


def test_a_beat_that_echoes_what_was_commanded_is_no_drift(world):
    chain = world.chain("train/0")
    told = len(world.told)
    for name in chain:
        position = world.wiring.position(name)
        beat = NodeBeat(name, world.applied[name], digest(world.plant.table(position)))
        world.handle(Heartbeat(world.sessions[name], (beat,)))
    assert "drift" not in [event.kind for event in world.told[told:]]
