"""Hellos that must be refused: each says what to do, and everything else goes on."""

from dataclasses import replace

import pytest

from ringlight.controller.engine.events import FaultReported, NodeHello
from ringlight.controller.engine.state import RingState
from ringlight.fabric.circuits import Fault, FaultClass, Path
from ringlight.fabric.errors import ErrorCode
from ringlight.fabric.inventory import inventory_of


def node_hello(world, name="n0", **changes):
    position = world.wiring.position("n0")
    hello = NodeHello(name, "boot", inventory_of(world.wiring, position), world.wiring.loopback, {})
    return replace(hello, **changes)


def refused(world, name, **changes):
    """Dial once more with something wrong; the error the agent gets."""
    world.refused.clear()
    sessions = dict(world.sessions)
    world.dial(name, **changes)
    world.sessions = sessions
    (refusal,) = world.refused
    return refusal.error


def test_another_protocol_version(world):
    error = refused(world, "n0", protocol=2, agent="newcomer")
    assert error.code is ErrorCode.INVALID
    assert "protocol 2" in str(error)
    assert "same release" in error.hint


def test_another_fabric(world):
    error = refused(world, "n0", fabric="elsewhere", agent="newcomer")
    assert error.code is ErrorCode.INVALID
    assert "'elsewhere'" in str(error)


def test_an_unknown_node(world):
    error = refused(world, "n0", agent="newcomer", nodes=(node_hello(world, "n99"),))
    assert error.code is ErrorCode.INVALID
    assert "'n99'" in str(error)
    assert "fabric file" in error.hint


def test_no_node_at_all(world):
    assert refused(world, "n0", agent="newcomer", nodes=()).code is ErrorCode.INVALID


def test_a_node_twice(world):
    world.hang_up("n0")
    world.silent.clear()
    error = refused(world, "n0", nodes=(node_hello(world), node_hello(world)))
    assert "twice" in str(error)


@pytest.mark.parametrize("field", ["gpus", "edge", "peer"])
def test_cabling_that_differs_from_the_fabric_file(world, field):
    hello = node_hello(world)
    inventory = hello.inventory
    bundle = inventory.bundles[0]
    if field == "gpus":
        inventory = replace(inventory, gpus=7)
    elif field == "edge":
        inventory = replace(inventory, bundles=(replace(bundle, edge=1), *inventory.bundles[1:]))
    else:
        crossed = replace(bundle, peers={**bundle.peers, Path.PATH_1: "n9/b1.p1"})
        inventory = replace(inventory, bundles=(crossed, *inventory.bundles[1:]))
    error = refused(world, "n0", agent="newcomer", nodes=(replace(hello, inventory=inventory),))
    assert error.code is ErrorCode.INVALID
    assert "differs from the fabric file" in str(error)


def test_two_agents_with_one_id(world):
    error = refused(world, "n0", agent_boot="another process")
    assert error.code is ErrorCode.CONFLICT
    assert "live session" in str(error)
    assert world.engine.state.node("n0").session == world.sessions["n0"]


def test_two_agents_for_one_node(world):
    error = refused(world, "n0", agent="second")
    assert error.code is ErrorCode.CONFLICT
    assert "agent-n0" in str(error)


def test_an_agent_that_dials_again_replaces_its_own_session(world):
    session = world.sessions["n0"]
    boot = world.engine.state.sessions[session].agent_boot
    world.dial("n0", agent_boot=boot)
    assert [close.session for close in world.closed] == [session]
    assert world.engine.state.node("n0").session == world.sessions["n0"] != session


def test_a_dead_session_gives_way_to_a_restarted_agent(world):
    world.silent.add("n0")
    world.advance(4)
    world.dial("n0", agent_boot="restarted")
    assert not world.refused


def test_a_refused_hello_changes_nothing(world):
    before = world.chain("train/0"), world.engine.state.generation
    refused(world, "n0", agent="newcomer", fabric="elsewhere")
    world.advance(5)
    assert (world.chain("train/0"), world.engine.state.generation) == before
    assert world.ring("train/0").state is RingState.ACTIVE
    assert "agent-refused" in world.kinds()


def test_messages_of_an_ended_session_are_ignored(world):

    fault = Fault("late", "gpu0", FaultClass.FATAL, "gpu-lost")
    world.handle(FaultReported("a session long gone", "n0", fault))
    world.handle(FaultReported(world.sessions["n0"], "n1", fault))
    world.handle(FaultReported(world.sessions["n0"], "no such node", fault))
    assert {world.verdict("n0"), world.verdict("n1")} == {"HEALTHY"}
