"""Messages of agents as the engine's events, and its commands as messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.adapters.wire import circuits_to, confirm_to, event_from, hello_from
from ringlight.controller.engine.effects import SendCircuits, SendConfirm
from ringlight.controller.engine.events import (
    Applied,
    ApplyCode,
    BundleCode,
    FaultCleared,
    FaultReported,
    Heartbeat,
    LightReported,
    NodeBeat,
)
from ringlight.fabric.circuits import Fault, FaultClass, Path
from ringlight.fabric.inventory import BundleInventory, Inventory
from ringlight.protos import codec
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import circuits_pb2

INVENTORY = Inventory(4, (BundleInventory(1, 8, {Path.PATH_1: "n1/b1.p1", Path.PATH_2: "n2/b1.p1"}),))
FAULT = Fault("f1", "gpu3", FaultClass.FATAL, "xid:79", "off the bus")
TABLE = (Path.PATH_1, Path.LOOPBACK)


def test_a_hello():
    node = pb.NodeHello(
        node="n0",
        hardware_boot="power-1",
        inventory=codec.inventory_to(INVENTORY),
        circuits=codec.table_to(TABLE),
        light=[circuits_pb2.PortLight(bundle=1, path=int(Path.PATH_2), lit=True)],
        faults=[codec.fault_to(FAULT)],
        applied_generation=7,
    )
    message = pb.Hello(agent="a", agent_boot="b", protocol=1, fabric="lab", highest_epoch=4, nodes=[node])
    hello = hello_from("s9", message)
    assert (hello.session, hello.agent, hello.agent_boot) == ("s9", "a", "b")
    assert (hello.protocol, hello.fabric, hello.highest_epoch) == (1, "lab", 4)
    (told,) = hello.nodes
    assert (told.node, told.hardware_boot, told.applied_generation) == ("n0", "power-1", 7)
    assert told.inventory == INVENTORY
    assert told.circuits == TABLE
    assert told.light == {(1, Path.PATH_2): True}
    assert told.faults == (FAULT,)


def test_an_empty_hello_is_one_too():
    assert hello_from("s1", pb.Hello()).nodes == ()
    assert hello_from("s1", pb.Hello(nodes=[pb.NodeHello()])).nodes[0].circuits == ()


def test_a_heartbeat():
    beat = pb.NodeHeartbeat(node="n0", applied_generation=3, digest=2**63 + 1)
    message = pb.AgentMessage(heartbeat=pb.Heartbeat(nodes=[beat]))
    assert event_from("s1", message) == Heartbeat("s1", (NodeBeat("n0", 3, 2**63 + 1),))


def test_faults_and_light():
    opened = pb.AgentMessage(health=pb.HealthReport(node="n0", opened=codec.fault_to(FAULT)))
    assert event_from("s1", opened) == FaultReported("s1", "n0", FAULT)
    closed = pb.AgentMessage(health=pb.HealthReport(node="n0", closed="f1"))
    assert event_from("s1", closed) == FaultCleared("s1", "n0", "f1")
    light = [circuits_pb2.PortLight(bundle=0, path=int(Path.PATH_1), lit=False)]
    message = pb.AgentMessage(light=pb.LightReport(node="n0", changed=light))
    assert event_from("s1", message) == LightReported("s1", "n0", {(0, Path.PATH_1): False})


def test_an_answer():
    message = pb.AgentMessage(
        applied=pb.Applied(
            node="n0",
            transaction="t4",
            epoch=2,
            generation=9,
            code=pb.APPLY_CODE_FAILED,
            bundles=[
                pb.BundleResult(bundle=0, code=pb.BUNDLE_CODE_SWITCHED),
                pb.BundleResult(bundle=1, code=pb.BUNDLE_CODE_STUCK),
            ],
            circuits=codec.table_to(TABLE),
            light=[circuits_pb2.PortLight(bundle=0, path=int(Path.PATH_1), lit=True)],
            switch_seconds=0.25,
            reason="bundle 1 is stuck",
            highest_epoch=3,
        )
    )
    assert event_from("s1", message) == Applied(
        session="s1",
        node="n0",
        transaction="t4",
        epoch=2,
        generation=9,
        code=ApplyCode.FAILED,
        bundles={0: BundleCode.SWITCHED, 1: BundleCode.STUCK},
        circuits=TABLE,
        light={(0, Path.PATH_1): True},
        switch_seconds=0.25,
        reason="bundle 1 is stuck",
        highest_epoch=3,
    )


def test_numbers_of_a_newer_release_are_unspecified():
    bundles = [pb.BundleResult(bundle=0, code=88)]
    message = pb.AgentMessage(applied=pb.Applied(node="n0", code=99, bundles=bundles, circuits={"paths": [77]}))
    event = event_from("s1", message)
    assert event.code is ApplyCode.UNSPECIFIED
    assert event.bundles == {0: BundleCode.UNSPECIFIED}
    assert event.circuits == (Path.UNKNOWN,)


@pytest.mark.parametrize(
    "message",
    [
        pb.AgentMessage(),
        pb.AgentMessage(hello=pb.Hello()),
        pb.AgentMessage(goodbye=pb.Goodbye()),
        pb.AgentMessage(health=pb.HealthReport(node="n0")),
    ],
)
def test_what_means_nothing_here(message):
    assert event_from("s1", message) is None


@pytest.mark.parametrize(("ours", "theirs"), [(ApplyCode, pb.ApplyCode), (BundleCode, pb.BundleCode)])
def test_our_numbers_are_those_of_the_protocol(ours, theirs):
    assert {member.name: int(member) for member in ours} == {
        name.partition("_CODE_")[2]: number for name, number in theirs.items()
    }


@given(st.lists(st.sampled_from(Path), max_size=8).map(tuple), st.integers(0, 2**63), st.floats(0, 1e6))
def test_a_command(table, generation, revert_after):
    command = SendCircuits("s1", "n0", 3, generation, "t1", table, revert_after)
    message = circuits_to(command).set_circuits
    assert (message.epoch, message.generation, message.transaction, message.node) == (3, generation, "t1", "n0")
    assert codec.table_from(message.table) == table
    assert message.revert_after == revert_after


def test_a_confirmation():
    message = confirm_to(SendConfirm("s1", "n0", 3, "t1")).confirm
    assert (message.epoch, message.transaction, message.node) == (3, "t1", "n0")
