"""The cabling audit in the engine: it takes only what is idle, yields to every repair, and leaves nothing lit."""

import pytest

from ringlight.controller.engine.effects import AuditBegan, AuditOver
from ringlight.controller.engine.events import EndAudit
from ringlight.controller.engine.view import view_nodes
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.errors import ErrorCode


def idle(world):
    return tuple(node.name for node in world.engine.state.nodes if not node.ring)


def over(world):
    return next(news for news in world.audit_news if isinstance(news, AuditOver))


def found(world):
    report = over(world).report
    assert report is not None
    return {(finding.kind.value, *map(world.wiring.port_name, finding.ports)) for finding in report.findings}


def idle_is_back(world):
    nodes = [node for node in world.engine.state.nodes if not node.ring]
    return all(node.observed == world.wiring.loopback and node.in_place for node in nodes)


def test_idle_nodes_are_audited_and_no_ring_is_touched(world):
    world.commands.clear()
    assert world.audit().error is None
    began = world.audit_news[0]
    assert isinstance(began, AuditBegan)
    assert began.nodes == idle(world)
    assert len(began.nodes) == len(began.left_out) == 8
    world.advance(10)

    assert found(world) == set()
    assert {command.node for command in world.commands} == set(idle(world))
    assert idle_is_back(world)
    world.assert_light_is_plan()


def test_what_lies_otherwise_is_found(world):
    world.fail(FaultKind.FIBRE_SWAPPED, "n9", distance=1, partner="n12+1")
    world.fail(FaultKind.FIBRE_CUT, "n10", distance=2)
    world.fail(FaultKind.FIBRE_DIRTY, "n13", distance=1, loss=5.0)
    world.audit()
    world.advance(10)

    assert found(world) == {
        ("swapped", "n9/b0.p1", "n13/b1.p1"),
        ("swapped", "n10/b1.p1", "n12/b0.p1"),
        ("missing", "n10/b0.p2", "n12/b1.p2"),
        ("dirty", "n13/b0.p1", "n14/b1.p1"),
    }


def test_audited_nodes_are_given_to_no_new_job_and_show_that_they_are(world):
    world.audit()
    shown = {node.name for node in view_nodes(world.engine.state, world.now) if node.overlay == "audited"}
    assert shown == set(idle(world))
    refused = world.submit("more", rings=1, tp=8).error
    assert refused is not None
    assert "8 nodes are being audited" in refused.hint
    world.advance(10)
    assert world.submit("later", rings=1, tp=8).error is None


@pytest.mark.parametrize("hold", ["pause", "named", "second"])
def test_an_audit_is_refused(world, hold):
    nodes = ()
    if hold == "pause":
        world.pause("firmware")
    elif hold == "named":
        nodes = ("n0", "n9")
    else:
        world.audit(name="first")
    error = world.audit(*nodes, name="asked").error

    assert error is not None
    assert error.code is (ErrorCode.CONFLICT if hold == "second" else ErrorCode.REFUSED)
    assert {"pause": "firmware", "named": "n0 carries train/0", "second": "under way"}[hold] in str(error)


def test_a_pause_breaks_it_off_and_its_nodes_go_back_when_it_ends(world):
    world.audit()
    world.pause("firmware")

    assert "firmware" in over(world).why
    assert over(world).report is None
    assert not world.engine.state.audits.members
    world.resume()
    world.advance(30)
    assert idle_is_back(world)


def test_whoever_asked_may_break_it_off(world):
    world.audit()
    world.handle(EndAudit("audit", "whoever asked for it is gone"))
    world.advance(30)

    assert over(world).why == "whoever asked for it is gone"
    assert idle_is_back(world)


def test_a_ring_that_lost_a_node_takes_what_it_needs_and_the_audit_goes_on(world):
    world.audit()
    world.fail(FaultKind.GPU_LOST, "n5")
    world.advance(10)

    assert world.ring("train/1").state == "ACTIVE"
    taken = set(over(world).left)
    assert taken
    assert all("was needed by train/1" in why for why in over(world).left.values())
    assert over(world).report is not None
    world.assert_light_is_plan()


def test_several_that_are_taken_at_once_are_told_nothing_more_by_the_audit(make_world):
    """Found by the simulator: the first to leave had the next round laid, for those too that were about to leave."""
    world = make_world(nodes=13).start()
    world.submit(rings=1, tp=20)
    chain = world.chain("train/0")
    world.audit()
    for name in chain[:3]:
        world.fail(FaultKind.GPU_LOST, name)
        world.settle()
    world.advance(20)

    assert world.engine.state.violations == 0
    world.assert_light_is_plan()


def test_a_node_that_does_not_say_where_light_is_leaves_and_the_others_are_audited(world):
    world.deaf.add("n12")
    world.audit()
    world.advance(60)

    assert set(over(world).left) == {"n12"}
    assert all("n12" in "".join(ports) for _, *ports in found(world))


def test_a_restart_in_the_middle_finds_light_that_nobody_wants_and_parks_it(world):
    world.audit()
    rings = {name: world.chain(name) for name in ("train/0", "train/1")}
    world.restart()
    world.advance(60)

    assert {name: world.chain(name) for name in rings} == rings
    assert set(world.engine.state.jobs) == {"train"}
    assert idle_is_back(world)
    world.assert_light_is_plan()
