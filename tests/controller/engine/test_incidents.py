"""XIDs in a running fabric, and bursts: one fault makes its neighbours complain, and only the cause is bypassed."""

from dataclasses import replace

from ringlight.controller.engine.events import FaultCleared, FaultReported, NodeHello
from ringlight.controller.engine.state import RingState
from ringlight.controller.health.gpu_settings import GpuSettings
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.inventory import inventory_of


def report(world, node, code, *, fault_id="x", component="gpu1", recovery="", fault_class=FaultClass.DEGRADED):
    fault = Fault(fault_id, component, fault_class, code, recovery=recovery)
    world.handle(FaultReported(world.sessions[node], node, fault))
    world.settle()


def clear(world, node, fault_id="x"):
    world.handle(FaultCleared(world.sessions[node], node, fault_id))
    world.settle()


LOST = Fault("health-feed", "gpus", FaultClass.INFO, "health-feed-lost")


def xid(number, fault_id):
    return Fault(fault_id, "gpu1", FaultClass.DEGRADED, f"xid:{number}")


def redial(world, name, *open_faults):
    """The agent of a node says hello, and names these faults."""
    node, position = world.engine.state.node(name), world.wiring.position(name)
    reading = world.plant.read(position)
    hello = NodeHello(
        node=name,
        hardware_boot=node.hardware_boot,
        inventory=inventory_of(world.wiring, position),
        circuits=reading.circuits,
        light=reading.light,
        faults=open_faults,
        applied_generation=world.applied.get(name, 0),
    )
    world.hang_up(name)
    world.silent.discard(name)
    world.dial(name, nodes=(hello,))
    assert world.engine.state.node(name).session == world.sessions[name], "refused"
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


def test_what_was_taken_back_stays_so_when_the_agent_dials_again(world):
    """An agent names every fault it has open, and knows nothing of what takes back what."""
    gone, takes_back = xid(163, "a"), xid(162, "c")
    for fault in (gone, takes_back):
        world.handle(FaultReported(world.sessions["n1"], "n1", fault))
    redial(world, "n1", gone, takes_back)
    assert faults(world, "n1") == {"c": "INFO"}
    clear(world, "n1", "a")
    report(world, "n1", "xid:163", fault_id="a", component="gpu1")
    assert faults(world, "n1") == {"a": "INFO", "c": "INFO"}


def test_the_end_of_what_was_taken_back_is_told_once(world):
    for number, fault_id in ((163, "a"), (162, "b"), (162, "c")):
        report(world, "n1", f"xid:{number}", fault_id=fault_id)
    clear(world, "n1", "a")
    assert world.kinds().count("fault-closed") == 1


def test_time_makes_nothing_of_what_was_taken_back(make_world):
    world = make_world(gpu=GpuSettings(overrides={"xid:163": "recoverable"})).start()
    report(world, "n1", "xid:163", fault_id="a")
    report(world, "n1", "xid:162", fault_id="b")
    world.advance(61)
    assert "fault-ruled" not in world.kinds()
    assert faults(world, "n1") == {"b": "INFO"}


def test_repetitions_count_under_one_id_too(world):
    """Some agents have one fault a GPU, whose number changes."""
    for number in (95, 46, 95, 46):
        report(world, "n1", f"xid:{number}")
    assert faults(world, "n1") == {"x": "DEGRADED"}
    report(world, "n1", "xid:95")
    assert faults(world, "n1") == {"x": "FATAL"}


def test_a_fault_without_a_code_is_closed_by_no_other(world):
    report(world, "n1", "", fault_id="a", fault_class=FaultClass.FATAL)
    report(world, "n1", "xid:13", fault_id="b")
    assert faults(world, "n1") == {"a": "FATAL", "b": "INFO"}


def test_a_fault_that_got_worse_between_two_sessions_is_believed(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:46")
    redial(world, victim, replace(xid(46, "x"), recovery="node-reboot"))
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_dialling_again_gives_a_reset_no_new_time(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:46")
    world.advance(40)
    redial(world, victim, xid(46, "x"))
    world.advance(21)
    assert world.verdict(victim) == "FAILED"
    assert "no reset cured it" in world.engine.state.node(victim).judgement.reason


def test_an_agent_that_was_restarted_and_hears_nothing_of_its_gpus_cures_none(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:79")
    report(world, victim, "module-dead", fault_id="m", component="b0.m1")
    redial(world, victim, LOST)
    assert faults(world, victim) == {"x": "FATAL", "health-feed": "INFO"}
    assert world.verdict(victim) == "FAILED"


def test_when_its_feed_is_back_only_what_was_read_is_open(world):
    victim = world.chain("train/0")[1]
    report(world, victim, "xid:46", fault_id="old")
    report(world, victim, "xid:63", fault_id="still")
    opened_at = world.engine.state.node(victim).reported["still"].opened_at
    world.advance(5)
    redial(world, victim, LOST)
    world.handle(FaultReported(world.sessions[victim], victim, xid(63, "still")))
    clear(world, victim, LOST.id)
    assert faults(world, victim) == {"still": "DEGRADED"}
    assert world.engine.state.node(victim).reported["still"].opened_at == opened_at
    redial(world, victim, LOST)
    redial(world, victim, xid(63, "still"))
    assert world.engine.state.node(victim).reported["still"].opened_at == opened_at
    redial(world, victim)
    assert faults(world, victim) == {}


def test_a_lost_health_feed_is_not_a_lost_gpu(world):
    chain = world.chain("train/0")
    world.commands.clear()
    report(world, chain[1], "health-feed-lost", component="gpus", fault_class=FaultClass.INFO)
    assert faults(world, chain[1]) == {"x": "INFO"}
    assert world.verdict(chain[1]) == "HEALTHY"
    assert not world.commands
