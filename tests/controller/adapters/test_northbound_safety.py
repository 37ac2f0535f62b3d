"""The northbound API of what holds things back: gates, breaker, quarantine, maintenance, second witnesses."""

import asyncio

import grpc
import grpc.aio
import pytest

from ringlight.controller.engine.effects import PlannedChange
from ringlight.controller.engine.events import DeclareDead, Drain, Pause, ReleaseQuarantine, ReportStall
from ringlight.controller.engine.state import JobRecord
from ringlight.protos.status import HINT_KEY
from ringlight.protos.v1 import agent_pb2, circuits_pb2
from ringlight.protos.v1 import fabric_pb2 as pb

PATIENCE = 30.0  # seconds no healthy test ever waits for
REFUSED = grpc.StatusCode.FAILED_PRECONDITION
CONFLICT = grpc.StatusCode.ALREADY_EXISTS
NOT_FOUND = grpc.StatusCode.NOT_FOUND
INVALID = grpc.StatusCode.INVALID_ARGUMENT


async def fails(call, status, words, hint=""):
    """A call that must be refused so."""
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    assert told.value.code() is status
    assert words in told.value.details()
    assert hint in dict(told.value.trailing_metadata())[HINT_KEY]


def shut(fabric):
    """The gates that are shut, with the reasons."""
    assert [gate.name for gate in fabric.gates] == ["silence", "breaker", "pause", "term"]
    assert all(bool(gate.reason) is not gate.open for gate in fabric.gates)
    return {gate.name: gate.reason for gate in fabric.gates if not gate.open}


async def breaks(agent, fault="f1"):
    """A GPU of the agent's node falls off the bus."""
    opened = circuits_pb2.Fault(
        id=fault, component="gpu0", fault_class=circuits_pb2.FAULT_CLASS_FATAL, code="xid:79", text="off the bus"
    )
    await agent.say(health=agent_pb2.HealthReport(node=agent.node, opened=opened))


async def dialled(controller, nodes):
    """The agents of all nodes, welcomed."""
    agents = [await controller.dial(number) for number in range(nodes)]
    for agent in agents:
        await agent.enter()
    return agents


@pytest.fixture
def asked(monkeypatch):
    """Replaces what a running controller does with requests: they are kept, and answered as done."""

    def listen(controller):
        requests = []

        async def ask(request):
            requests.append(request)
            return PlannedChange()

        monkeypatch.setattr(controller.runtime, "ask", ask)
        return requests

    return listen


async def test_after_a_start_the_silence_gate_is_shut_and_said_to_be_starting(serve):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert glance.starting
        assert "dialling in" in shut(glance)["silence"]
        await dialled(controller, 4)
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert not glance.starting
        assert not shut(glance)


async def test_a_pause_is_told_survives_in_the_store_and_refuses_what_moves_light(serve, store):
    async with serve(nodes=8) as controller:
        fabric = await controller.fabric()
        await dialled(controller, 8)
        assert shut(await fabric.Pause(pb.PauseRequest(reason="firmware"))) == {"pause": "firmware"}
        assert any(record.hold and record.hold.paused == "firmware" for b in store.batches for record in b.persist)
        submit = pb.SubmitJobRequest(name="train", rings=1, tp=8)
        await fails(fabric.SubmitJob(submit), REFUSED, "paused: firmware", "ringlight resume")
        await fails(fabric.Drain(pb.DrainRequest(nodes=["n1"])), REFUSED, "paused: firmware")
        await fabric.Drain(pb.DrainRequest(nodes=["n1"], dry_run=True))  # asking moves nothing
        assert not shut(await fabric.Resume(pb.ResumeRequest()))
        assert (await fabric.SubmitJob(submit)).name == "train"
        await fails(fabric.Resume(pb.ResumeRequest()), CONFLICT, "not paused", "ringlight status")


async def test_the_breaker_tells_how_much_is_used_and_is_reset(serve):
    async with serve(nodes=10) as controller:
        fabric = await controller.fabric()
        agents = await dialled(controller, 10)
        await fails(fabric.ResetBreaker(pb.ResetBreakerRequest()), CONFLICT, "has not tripped")
        for agent in agents[:8]:
            await breaks(agent)
        for agent in agents[:8]:
            await controller.told("fault-opened", agent.node)
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert (glance.newly_failed, glance.breaker_allowance) == (8, 8)
        assert not shut(glance)
        await breaks(agents[8])
        await controller.told("breaker-tripped")
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert glance.newly_failed == 9
        assert "9 nodes newly failed" in shut(glance)["breaker"]
        submit = fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=1, tp=4))
        await fails(submit, REFUSED, "the breaker tripped", "ringlight breaker reset")
        glance = await fabric.ResetBreaker(pb.ResetBreakerRequest())
        assert not shut(glance)
        assert glance.newly_failed == 0


async def test_a_node_is_quarantined_shown_and_released(serve, store):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        agent, *_ = await dialled(controller, 4)
        for number in range(3):
            await breaks(agent, f"f{number}")
            await agent.say(health=agent_pb2.HealthReport(node=agent.node, closed=f"f{number}"))
        await controller.told("node-quarantined", "n0")
        assert (await fabric.GetFabric(pb.GetFabricRequest())).quarantined == 1
        (node,) = (await fabric.ListNodes(pb.ListNodesRequest(abnormal_only=True))).nodes
        assert (node.name, node.quarantine, node.spare) == ("n0", "failed 3 times in 7 days", False)
        (node,) = (await fabric.ReleaseQuarantine(pb.ReleaseQuarantineRequest(nodes=["n0"]))).nodes
        assert node.quarantine == ""
        assert (await fabric.GetFabric(pb.GetFabricRequest())).quarantined == 0
        kept = [conduct for b in store.batches for record in b.persist for conduct in record.conduct]
        assert kept[-1].node == "n0"
        assert not kept[-1].failures
        release = fabric.ReleaseQuarantine
        await fails(release(pb.ReleaseQuarantineRequest(nodes=["x"])), NOT_FOUND, "'x'")
        await fails(release(pb.ReleaseQuarantineRequest()), INVALID, "no node is named")


async def test_hops_are_trusted_by_name(serve):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        assert (await fabric.TrustHops(pb.TrustHopsRequest(hops=["n0+1"]))).nodes == 4
        await fails(fabric.TrustHops(pb.TrustHopsRequest(hops=["n0+9"])), NOT_FOUND, "'n0+9'")
        await fails(fabric.TrustHops(pb.TrustHopsRequest()), INVALID, "no hop is named")


async def test_a_well_node_in_quarantine_is_not_left_out_as_normal(serve):
    async with serve(nodes=4) as controller:
        await dialled(controller, 4)
        controller.state.node("n2").quarantine = "failed 3 times in 7 days"
        fabric = await controller.fabric()
        (node,) = (await fabric.ListNodes(pb.ListNodesRequest(abnormal_only=True))).nodes
        assert (node.name, node.verdict, node.quarantine) == ("n2", "HEALTHY", "failed 3 times in 7 days")


async def test_maintenance_has_an_end_that_is_shown_and_is_lifted_early(serve):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        await dialled(controller, 4)
        (node,) = (await fabric.Drain(pb.DrainRequest(nodes=["n1"], maintenance=7_200, reason="psu"))).nodes
        assert (node.overlay, node.overlay_reason) == ("maintenance", "psu")
        assert 7_100 < node.overlay_seconds <= 7_200
        assert (await fabric.GetFabric(pb.GetFabricRequest())).overlays["maintenance"] == 1
        (node,) = (await fabric.Uncordon(pb.UncordonRequest(nodes=["n1"]))).nodes
        assert (node.overlay, node.overlay_seconds) == ("", 0.0)


@pytest.mark.parametrize("seconds", [-1.0, 30 * 86_400 + 1.0, float("inf"), float("nan")])
async def test_a_maintenance_that_makes_no_sense_reaches_no_engine(serve, asked, seconds):
    async with serve(nodes=4) as controller:
        requests = asked(controller)
        fabric = await controller.fabric()
        call = fabric.Drain(pb.DrainRequest(nodes=["n1"], maintenance=seconds))
        await fails(call, INVALID, "makes no sense", "up to 30 days")
        assert not requests


async def test_a_stall_is_answered_with_the_nodes_that_may_be_its_cause(serve):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        agents = await dialled(controller, 4)
        await fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=1, tp=8))
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest())).rings
        for agent in agents:
            if agent.node in ring.nodes:
                await agent.apply(await agent.next("set_circuits"))
        await controller.told("ring-active")
        assert not (await fabric.ReportStall(pb.ReportStallRequest(job="train"))).nodes
        await controller.told("job-stalled", "train")
        warm = circuits_pb2.Fault(
            id="f1", component="gpu0", fault_class=circuits_pb2.FAULT_CLASS_DEGRADED, code="site:warm", text="warm"
        )
        outside = next(agent for agent in agents if agent.node not in ring.nodes)
        inside = next(agent for agent in agents if agent.node in ring.nodes)
        for agent in (outside, inside):
            await agent.say(health=agent_pb2.HealthReport(node=agent.node, opened=warm))
            await controller.told("fault-opened", agent.node)
        (node,) = (await fabric.ReportStall(pb.ReportStallRequest(job="train"))).nodes
        assert (node.name, node.verdict) == (inside.node, "DEGRADED")
        await fails(fabric.ReportStall(pb.ReportStallRequest(job="x")), NOT_FOUND, "no job 'x'")


async def test_a_node_that_speaks_cannot_be_declared_dead(serve):
    async with serve(nodes=4) as controller:
        fabric = await controller.fabric()
        await dialled(controller, 4)
        declare = fabric.DeclareDead
        await fails(declare(pb.DeclareDeadRequest(nodes=["n1"])), REFUSED, "its agent speaks", "ringlight drain")
        await fails(declare(pb.DeclareDeadRequest(nodes=["x"])), NOT_FOUND, "'x'")
        await fails(declare(pb.DeclareDeadRequest()), INVALID, "no node is named")


async def test_requests_arrive_as_they_were_asked(serve, asked):
    async with serve(nodes=4) as controller:
        requests = asked(controller)
        controller.state.jobs["train"] = JobRecord("train", rings_wanted=1, tp=8, min_rings=1, priority=0, order=1)
        fabric = await controller.fabric()
        drain = pb.DrainRequest(nodes=["n2"], reason="psu", force=True, maintenance=90, dry_run=True)
        dead = await fabric.DeclareDead(pb.DeclareDeadRequest(nodes=["n3", "n1"], reason="no power"))
        assert [node.name for node in dead.nodes] == ["n1", "n3"]
        async with asyncio.timeout(PATIENCE):
            await fabric.Drain(drain)
            await fabric.Pause(pb.PauseRequest(reason="firmware"))
            await fabric.ReleaseQuarantine(pb.ReleaseQuarantineRequest(nodes=["n0"]))
            await fabric.ReportStall(pb.ReportStallRequest(job="train"))
        assert requests == [
            DeclareDead("", ("n3", "n1"), "no power"),
            Drain("", ("n2",), "psu", force=True, maintenance=90.0, dry_run=True),
            Pause("", "firmware"),
            ReleaseQuarantine("", ("n0",)),
            ReportStall("", "train"),
        ]
