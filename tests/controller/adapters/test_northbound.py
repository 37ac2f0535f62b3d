"""The northbound API over real connections: every call, the watch, and how errors arrive."""

import asyncio

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ringlight.protos.status import HINT_KEY
from ringlight.protos.v1 import fabric_pb2 as pb

PATIENCE = 30.0


async def fails(call, status, words, hint=""):
    """A call that must be refused so."""
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    assert told.value.code() is status
    assert words in told.value.details()
    assert hint in dict(told.value.trailing_metadata())[HINT_KEY]


@pytest.fixture
def lab(serve):
    """Eight nodes with their agents, each of which does what it is told."""

    class Lab:
        def __init__(self, controller, fabric):
            self.controller = controller
            self.fabric = fabric

        async def submit(self, name="train", **more):
            return await self.fabric.SubmitJob(pb.SubmitJobRequest(name=name, rings=1, tp=16, **more))

    class Context:
        async def __aenter__(self):
            self._serving = serve()
            controller = await self._serving.__aenter__()
            agents = [await controller.dial(number) for number in range(8)]
            for agent in agents:
                await agent.enter()
            self._obeying = [asyncio.create_task(obey(agent)) for agent in agents]
            return Lab(controller, await controller.fabric())

        async def __aexit__(self, *error):
            for task in self._obeying:
                task.cancel()
            await asyncio.gather(*self._obeying, return_exceptions=True)
            return await self._serving.__aexit__(*error)

    async def obey(agent):
        while True:
            await agent.apply(await agent.next("set_circuits"))

    return Context


async def test_the_life_of_a_job_in_every_call(lab):
    async with lab() as running:
        fabric = running.fabric
        job = await running.submit(priority=3, pinned=True)
        assert (job.name, job.rings, job.tp, job.min_rings, job.priority, job.pinned) == ("train", 1, 16, 1, 3, True)
        await running.controller.told("ring-active")
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest(job="train"))).rings
        assert (ring.name, ring.state, len(ring.nodes), len(ring.gpus)) == ("train/0", "ACTIVE", 4, 16)
        (job,) = (await fabric.ListJobs(pb.ListJobsRequest(name="train"))).jobs
        assert (job.state, job.active, job.generation) == ("RUNNING", 1, ring.generation)
        nodes = (await fabric.ListNodes(pb.ListNodesRequest())).nodes
        assert [node.name for node in nodes] == [f"n{number}" for number in range(8)]
        members = [node for node in nodes if node.ring == "train/0"]
        assert {node.name for node in members} == set(ring.nodes)
        assert all(node.paths == node.desired and node.verdict == "HEALTHY" and node.agent for node in nodes)
        assert not (await fabric.ListNodes(pb.ListNodesRequest(abnormal_only=True))).nodes
        explained = await fabric.Explain(pb.ExplainRequest(subject="train/0"))
        assert (explained.subject, explained.kind) == ("train/0", "ring")
        assert explained.summary
        assert explained.reasons
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert (glance.nodes, glance.gpus_per_node, glance.epoch, glance.store) == (8, 4, 1, "ok")
        assert (glance.k, list(glance.distances)) == (2, [1, 2])
        assert (glance.verdicts["HEALTHY"], glance.ring_states["ACTIVE"], glance.spares) == (8, 1, 4)
        assert (glance.gpus_in_rings, glance.invariant_violations) == (16, 0)
        released = await fabric.ReleaseJob(pb.ReleaseJobRequest(name="train"))
        assert (released.name, released.state) == ("train", "RELEASED")
        assert not (await fabric.ListJobs(pb.ListJobsRequest())).jobs
        assert not (await fabric.ListRings(pb.ListRingsRequest())).rings


async def test_a_node_is_cordoned_and_given_back(lab):
    async with lab() as running:
        fabric = running.fabric
        (node,) = (await fabric.Cordon(pb.CordonRequest(nodes=["n3", "n3"], reason="fan"))).nodes
        assert (node.name, node.overlay, node.overlay_reason, node.spare) == ("n3", "cordoned", "fan", False)
        assert (node.verdict, node.position) == ("HEALTHY", 3)
        glance = await fabric.GetFabric(pb.GetFabricRequest())
        assert (glance.overlays, glance.spares) == ({"audited": 0, "cordoned": 1, "draining": 0, "maintenance": 0}, 7)
        assert "cordoned: fan" in (await fabric.Explain(pb.ExplainRequest(subject="n3"))).summary
        (node,) = (await fabric.Uncordon(pb.UncordonRequest(nodes=["n3"]))).nodes
        assert (node.overlay, node.overlay_reason, node.spare) == ("", "", True)
        for call in (
            fabric.Cordon(pb.CordonRequest(nodes=["x"])),
            fabric.Uncordon(pb.UncordonRequest(nodes=["x"])),
            fabric.Drain(pb.DrainRequest(nodes=["x"])),
        ):
            await fails(call, grpc.StatusCode.NOT_FOUND, "'x'")
        await fails(fabric.Drain(pb.DrainRequest()), grpc.StatusCode.INVALID_ARGUMENT, "no node is named")


async def test_a_drain_is_told_before_and_after_or_refused_with_the_reason(lab, store):
    async with lab() as running:
        fabric = running.fabric
        await running.submit()
        await running.controller.told("ring-active")
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest())).rings
        victim = ring.nodes[1]
        dry = await fabric.Drain(pb.DrainRequest(nodes=[victim], dry_run=True))
        (change,) = dry.rings
        assert (change.ring, change.former) == ("train/0", ring.nodes)
        assert victim not in change.chain
        assert dry.nodes[0].overlay == ""
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest())).rings
        assert ring.nodes == change.former, "a dry run changes nothing"
        done = await fabric.Drain(pb.DrainRequest(nodes=[victim], reason="fan"))
        assert done.rings == dry.rings
        assert done.nodes[0].overlay in {"draining", "cordoned"}
        await running.controller.told("node-drained", victim)
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest())).rings
        assert (ring.state, ring.nodes) == ("ACTIVE", change.chain)
        spares = [node.name for node in (await fabric.ListNodes(pb.ListNodesRequest())).nodes if node.spare]
        await fabric.Cordon(pb.CordonRequest(nodes=spares))
        refused = fabric.Drain(pb.DrainRequest(nodes=[ring.nodes[1]]))
        await fails(refused, grpc.StatusCode.FAILED_PRECONDITION, "would cost train/0", "--force")
        forced = await fabric.Drain(pb.DrainRequest(nodes=[ring.nodes[1]], force=True))
        assert not forced.rings[0].chain
        assert forced.reasons
        assert any(record.overlays for batch in store.batches for record in batch.persist)


async def test_a_job_is_resized(lab):
    async with lab() as running:
        fabric = running.fabric
        await running.submit()
        await running.controller.told("ring-active")
        dry = await fabric.ResizeJob(pb.ResizeJobRequest(name="train", rings=2, dry_run=True))
        assert (dry.job.rings, [change.ring for change in dry.rings]) == (1, ["train/1"])
        grown = await fabric.ResizeJob(pb.ResizeJobRequest(name="train", rings=2))
        assert (grown.job.rings, grown.job.min_rings, grown.rings) == (2, 1, dry.rings)
        await running.controller.told("ring-active", "train/1")
        refused = fabric.ResizeJob(pb.ResizeJobRequest(name="train", rings=3, min_rings=3))
        await fails(refused, grpc.StatusCode.FAILED_PRECONDITION, "would have 2 rings", "--min-rings 2")
        unknown = fabric.ResizeJob(pb.ResizeJobRequest(name="x", rings=3))
        await fails(unknown, grpc.StatusCode.NOT_FOUND, "no job 'x'", "jobs: train")
        shrunk = await fabric.ResizeJob(pb.ResizeJobRequest(name="train", rings=1))
        assert [(change.ring, list(change.chain)) for change in shrunk.rings] == [("train/1", [])]
        assert [ring.name for ring in (await fabric.ListRings(pb.ListRingsRequest())).rings] == ["train/0"]


async def test_errors_keep_status_message_and_hint(lab):
    async with lab() as running:
        fabric = running.fabric
        await running.submit()
        not_found, invalid = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT
        await fails(running.submit(), grpc.StatusCode.ALREADY_EXISTS, "'train' exists already", "release it")
        await fails(running.submit("a b"), invalid, "'a b' is not a job name", "letters")
        await fails(fabric.SubmitJob(pb.SubmitJobRequest(name="odd", rings=1, tp=15)), invalid, "tp 15", "tp 12 or 16")
        await fails(fabric.SubmitJob(pb.SubmitJobRequest(name="big", rings=9, tp=16)), invalid, "does not fit")
        await fails(fabric.ReleaseJob(pb.ReleaseJobRequest(name="x")), not_found, "no job 'x'", "jobs: train")
        await fails(fabric.ListRings(pb.ListRingsRequest(job="x")), not_found, "no job 'x'", "jobs: train")
        await fails(fabric.ListJobs(pb.ListJobsRequest(name="x")), not_found, "no job 'x'", "jobs: train")
        await fails(fabric.Explain(pb.ExplainRequest(subject="x")), not_found, "x")
        await fails(fabric.ListEvents(pb.ListEventsRequest(limit=10_001)), invalid, "at most 10000", "after")


async def test_a_store_in_trouble_shows_and_answers_say_so(lab, store):
    async with lab() as running:
        store.refuse("disk full")
        await fails(running.submit(), grpc.StatusCode.UNAVAILABLE, "not on record: disk full", "free some space")
        assert (await running.fabric.GetFabric(pb.GetFabricRequest())).store == "disk full"
        await running.controller.told("ring-active")
        store.trouble = None


async def test_events_are_listed_by_sequence_number_subject_and_limit(lab):
    async with lab() as running:

        async def listed(**request):
            reply = await running.fabric.ListEvents(pb.ListEventsRequest(**request))
            return [event.sequence for event in reply.events]

        newest = running.controller.state.sequence
        assert await listed() == list(range(1, newest + 1))
        assert await listed(after=newest - 2) == [newest - 1, newest]
        assert await listed(limit=3) == [newest - 2, newest - 1, newest]
        assert await listed(after=newest) == []
        assert await listed(after=2**64 - 1) == []
        about = [event.sequence for event in running.controller.events if event.subject == "agent-3"]
        assert await listed(subject="agent-3") == [number for number in about if number <= newest]


async def watched(watch, number):
    """So many replies of a watch: sequence numbers of events, and those of markers as negative numbers."""
    found = []
    async with asyncio.timeout(PATIENCE):
        for _ in range(number):
            reply = await watch.read()
            assert reply is not grpc.aio.EOF
            found.append(reply.event.sequence if reply.HasField("event") else -reply.synced.sequence)
    return found


async def test_a_watch_resumes_over_what_only_the_store_has_then_a_marker_then_live(lab, store, monkeypatch):
    monkeypatch.setattr("ringlight.controller.feed._REMEMBERED", 5)
    async with lab() as running:
        newest = running.controller.state.sequence
        assert newest > 10
        await store.until_written(newest)
        watch = running.fabric.Watch(pb.WatchRequest(after=3))
        assert await watched(watch, newest - 2) == [*range(4, newest + 1), -newest]
        assert store.reads == 1
        await running.submit()
        assert await watched(watch, 3) == [newest + 1, newest + 2, newest + 3]
        watch.cancel()


async def test_a_watch_from_the_newest_event_on(lab):
    async with lab() as running:
        newest = running.controller.state.sequence
        watch = running.fabric.Watch(pb.WatchRequest(after=newest))
        assert await watched(watch, 1) == [-newest]
        await running.submit()
        assert await watched(watch, 1) == [newest + 1]
        watch.cancel()


async def test_a_watcher_that_fell_behind_is_ended_and_told_to_resume(lab, told, monkeypatch):
    monkeypatch.setattr("ringlight.controller.feed._QUEUE", 3)
    async with lab() as running:
        newest = running.controller.state.sequence
        watch = running.fabric.Watch(pb.WatchRequest(after=newest))
        assert await watched(watch, 1) == [-newest]
        for number in range(1, 6):  # all before the watch has its turn
            running.controller.runtime._publish(told(newest + number).event)

        async def read_on():
            async with asyncio.timeout(PATIENCE):
                while await watch.read() is not grpc.aio.EOF:
                    pass

        await fails(read_on(), grpc.StatusCode.UNAVAILABLE, "fell too far behind", "resume")


async def test_a_watch_that_needs_a_store_which_cannot_be_read(lab, store, monkeypatch):
    monkeypatch.setattr("ringlight.controller.feed._REMEMBERED", 5)
    async with lab() as running:
        store.refuse("unreadable")
        watch = running.fabric.Watch(pb.WatchRequest())
        await fails(watch.read(), grpc.StatusCode.UNAVAILABLE, "unreadable", "free some space")
        store.trouble = None


async def test_health_and_reflection_answer(serve):
    async with serve() as controller:
        channel = await controller.channel()
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "ringlight.v1.AgentService", "ringlight.v1.FabricService"):
            reply = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        listed = {service.name for service in (await call.read()).list_services_response.service}
        assert {"ringlight.v1.AgentService", "ringlight.v1.FabricService", "grpc.health.v1.Health"} <= listed
        await call.done_writing()


async def test_what_would_be_done_is_told_and_not_done(lab):
    async with lab() as running:
        fabric = running.fabric
        assert not (await fabric.Plan(pb.PlanRequest())).jobs
        await running.submit()
        await running.controller.told("ring-active")
        (ring,) = (await fabric.ListRings(pb.ListRingsRequest())).rings
        last = (await fabric.GetFabric(pb.GetFabricRequest())).last_event
        victim, spare = ring.nodes[1], next(f"n{i}" for i in range(8) if f"n{i}" not in ring.nodes)
        foretold = await fabric.Plan(pb.PlanRequest(failed_nodes=[victim, spare], dark_hops=[f"{spare}+1"]))
        (job,) = foretold.jobs
        assert (job.job, job.state, job.rings_now, job.rings) == ("train", "RUNNING", 1, 1)
        assert (job.rings_wanted, job.min_rings) == (1, 1)
        assert job.bundles > 0
        (after,) = job.changes
        assert (after.change.ring, after.change.former) == ("train/0", ring.nodes)
        assert not {victim, spare} & set(after.change.chain)
        assert after.cause == f"{victim} failed: as supposed"
        assert after.reasons
        assert f"{spare} is in no ring" in foretold.reasons
        (lost,) = (await fabric.Plan(pb.PlanRequest(failed_nodes=[f"n{number}" for number in range(5)]))).jobs
        assert (lost.state, lost.rings, list(lost.changes[0].change.chain)) == ("WAITING", 0, [])
        assert lost.reasons
        assert (await fabric.ListRings(pb.ListRingsRequest())).rings[0] == ring
        assert (await fabric.GetFabric(pb.GetFabricRequest())).last_event == last
        await fails(fabric.Plan(pb.PlanRequest(failed_nodes=["x"])), grpc.StatusCode.NOT_FOUND, "'x'", "n0 .. n7")
        await fails(
            fabric.Plan(pb.PlanRequest(dark_hops=["n1+7"])), grpc.StatusCode.NOT_FOUND, "'n1+7'", "distances are"
        )
