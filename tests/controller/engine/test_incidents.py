"""XIDs in a running fabric, and bursts: one fault makes its neighbours complain, and only the cause is bypassed."""

from ringlight.controller.engine.events import FaultCleared, FaultReported
from ringlight.controller.engine.state import RingState
from ringlight.fabric.circuits import Fault, FaultClass


def report(world, node, code, *, fault_id="x", component="gpu1", recovery="", fault_class=FaultClass.DEGRADED):
    fault = Fault(fault_id, component, fault_class, code, recovery=recovery)
    world.handle(FaultReported(world.sessions[node], node, fault))
    world.settle()


def clear(world, node, fault_id="x"):
    world.handle(FaultCleared(world.sessions[node], node, fault_id))
    world.settle()


def faults(world, node):
    return {fault.id: fault.fault_class.name for fault in world.engine.state.node(node).faults}


def test_pitfall_38_one_link_fault_and_eight_complaints_bypass_only_the_first_cause(make_world):
    world = make_world(nodes=24).start()
    world.submit(rings=1, tp=32)
    chain = world.chain("train/0")
    world.advance(30)
    world.commands.clear()
    report(world, chain[3], "xid:79")
    bypassed = world.commanded()
    world.advance(0.5)
    others = [name for name in chain if name != chain[3]]
    for number, name in enumerate(others):
        report(world, name, "xid:74", fault_id=f"link{number}")
    assert chain[3] not in world.chain("train/0")
    assert set(others) <= set(world.chain("train/0"))
    assert world.commanded() == bypassed
    assert {world.verdict(name) for name in others} == {"HEALTHY"}
    world.assert_light_is_plan()


def test_what_is_still_open_after_the_burst_is_judged_by_itself(world):
    chain = world.chain("train/0")
    world.advance(30)
    report(world, chain[1], "xid:79")
    report(world, chain[2], "xid:119", fault_id="gsp")
    assert world.verdict(chain[2]) == "HEALTHY"
    world.advance(11)
    assert world.verdict(chain[2]) == "DEGRADED"
    world.advance(55)
    assert world.verdict(chain[2]) == "FAILED"
    assert chain[2] not in world.chain("train/0")
    world.assert_light_is_plan()


def test_two_causes_at_once_are_both_bypassed(world):
    chain = world.chain("train/0")
    report(world, chain[1], "xid:79")
    report(world, chain[2], "xid:79")
    assert not {chain[1], chain[2]} & set(world.chain("train/0"))
    assert world.ring("train/0").state is RingState.ACTIVE


def test_a_reset_that_cures_costs_no_ring_anything(world):
    chain = world.chain("train/0")
    world.commands.clear()
    report(world, chain[1], "xid:46")
    assert world.verdict(chain[1]) == "DEGRADED"
    world.advance(30)
    clear(world, chain[1])
    world.advance(120)
    assert not world.commands
    assert world.chain("train/0") == chain


def test_a_reset_that_does_not_cure_is_not_waited_for_for_ever(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:46")
    world.advance(61)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")
    assert "no reset cured it" in world.engine.state.node(victim).judgement.reason


def test_the_driver_that_asks_for_a_reboot_is_believed_at_once(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:154", recovery="node-reboot")
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_link_errors_that_switching_provokes_are_noted_and_nothing_more(world):
    victim, *_ = world.chain("train/0")
    report(world, victim, "xid:79")
    member = world.chain("train/0")[0]
    assert member in world.commanded()
    report(world, member, "xid:145", fault_id="training")
    assert faults(world, member) == {"training": "INFO"}
    assert world.verdict(member) == "HEALTHY"


def test_a_storm_of_xid_45_marks_nobody(make_world):
    """One job crashed, and its programs are cleaned up on every node."""
    world = make_world(nodes=80).start()
    world.submit(rings=4, tp=64)
    world.commands.clear()
    for node in world.spec.nodes[:77]:
        for gpu in range(4):
            report(world, node.name, "xid:45", fault_id=f"c{gpu}", component=f"gpu{gpu}")
    world.advance(20)
    assert {node.verdict.value for node in world.engine.state.nodes} == {"HEALTHY"}
    assert not world.commands


def test_162_closes_163_of_the_same_gpu(world):
    report(world, "n1", "xid:163", fault_id="a", component="gpu0")
    report(world, "n1", "xid:163", fault_id="b", component="gpu1")
    report(world, "n1", "xid:162", fault_id="c", component="gpu0")
    assert faults(world, "n1") == {"b": "INFO", "c": "INFO"}


def test_pitfall_11_a_service_that_is_absent_is_no_fault(world):
    """An agent without a source of GPU health says nothing about GPUs, and its node is as good as any other."""
    assert faults(world, "n1") == {}
    assert world.verdict("n1") == "HEALTHY"


def test_a_lost_health_feed_is_not_a_lost_gpu(world):
    chain = world.chain("train/0")
    world.commands.clear()
    report(world, chain[1], "health-feed-lost", component="gpus", fault_class=FaultClass.INFO)
    assert faults(world, chain[1]) == {"x": "INFO"}
    assert world.verdict(chain[1]) == "HEALTHY"
    assert not world.commands
