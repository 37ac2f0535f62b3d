"""Cordon and uncordon: what an operator lays over a node, whatever its verdict."""

from ringlight.controller.engine.explain import explain
from ringlight.controller.engine.state import RingState
from ringlight.controller.engine.view import view_fabric, view_nodes
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.errors import ErrorCode


def spares(world):
    return {node.name for node in view_nodes(world.engine.state, world.now) if node.spare}


def test_a_cordoned_spare_is_given_to_no_ring(world):
    assert world.cordon(*spares(world), reason="new firmware").error is None
    assert not spares(world)
    assert world.submit("other", rings=1, tp=16).error.code is ErrorCode.INVALID
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(2)
    assert world.ring("train/0").state is RingState.BROKEN
    world.assert_light_is_plan()


def test_an_uncordoned_node_heals_a_ring_that_waits(world):
    idle = spares(world)
    world.cordon(*idle)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(2)
    assert world.ring("train/0").state is RingState.BROKEN
    world.uncordon(*idle)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_ring_keeps_a_node_that_is_cordoned(world):
    member = world.chain("train/0")[1]
    world.commands.clear()
    world.cordon(member)
    world.advance(5)
    assert member in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.commands


def test_a_ring_that_is_laid_anew_goes_on_using_its_cordoned_member(world):
    """Everything else would lose the ring: every spare but one is cordoned, too."""
    chain = world.chain("train/0")
    keep = min(spares(world), key=lambda name: abs(int(name[1:]) - int(chain[3][1:])))
    world.cordon(chain[3], *(spares(world) - {keep}))
    world.fail(FaultKind.GPU_LOST, chain[1], gpu=0)
    world.advance(2)
    assert chain[3] in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_the_verdict_is_independent_of_the_overlay(world):
    name = world.chain("train/0")[1]
    world.cordon(name)
    assert (world.verdict(name), world.overlay(name)) == ("HEALTHY", "cordoned")
    fault = world.fail(FaultKind.GPU_LOST, name, gpu=0)
    assert (world.verdict(name), world.overlay(name)) == ("FAILED", "cordoned")
    world.repair(fault)
    world.uncordon(name)
    assert (world.verdict(name), world.overlay(name)) == ("PROBATION", "")


def test_views_events_and_explanations_show_the_overlay(world):
    world.cordon("n15", reason="fan 3 is loud")
    node = view_nodes(world.engine.state, world.now)[15]
    assert (node.overlay, node.overlay_reason, node.spare) == ("cordoned", "fan 3 is loud", False)
    assert view_fabric(world.engine.state, world.now).overlays == {
        "audited": 0,
        "cordoned": 1,
        "draining": 0,
        "maintenance": 0,
    }
    told = explain(world.engine.state, "n15")
    assert "cordoned: fan 3 is loud" in told.summary
    assert any("node-cordoned: fan 3 is loud" in reason for reason in told.reasons)
    world.uncordon("n15")
    assert view_nodes(world.engine.state, world.now)[15].overlay == ""
    assert world.told[-1].kind == "node-uncordoned"


def test_the_same_request_again_changes_nothing(world):
    world.cordon("n15", reason="fan")
    told = len(world.told)
    assert world.cordon("n15").error is None
    assert world.cordon("n15", reason="fan").error is None
    world.uncordon("n15")
    world.uncordon("n15")
    assert [event.kind for event in world.told[told:]] == ["node-uncordoned"]


def test_an_unknown_node_refuses_the_whole_request(world):
    assert world.cordon("n15", "nowhere").error.code is ErrorCode.NOT_FOUND
    assert world.overlay("n15") == ""
    assert world.uncordon().error.code is ErrorCode.INVALID


def test_overlays_survive_a_restart(world):
    world.cordon("n14", "n15", reason="fan")
    world.uncordon("n14")
    world.restart()
    world.advance(2)
    assert world.overlay("n14") == ""
    assert world.overlay("n15") == "cordoned"
    assert "n15" not in spares(world)
    assert world.engine.state.node("n15").overlay_reason == "fan"


def test_a_node_that_is_cordoned_in_maintenance_does_not_come_back_by_itself(world):
    world.maintenance("n15", seconds=10)
    world.cordon("n15", reason="fan")
    world.advance(20)
    assert (world.overlay("n15"), world.engine.state.node("n15").overlay_reason) == ("maintenance", "fan")
    world.restart()
    world.advance(20)
    assert world.overlay("n15") == "maintenance"
    world.uncordon("n15")
    world.advance(1)
    assert "n15" in spares(world)


def test_a_node_that_is_cordoned_while_it_drains_for_maintenance_stays_cordoned(world):
    victim = world.chain("train/0")[1]
    world.deaf = {node.name for node in world.spec.nodes}
    world.maintenance(victim, seconds=10)
    world.cordon(victim)
    world.deaf = set()
    world.advance(30)
    assert victim not in world.chain("train/0")
    assert world.overlay(victim) == "cordoned"
