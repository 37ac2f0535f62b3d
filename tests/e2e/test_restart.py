"""Processes that die and come back: no circuit changes by it."""

import asyncio
import signal

import pytest

from ringlight.emulator.stack import Daemon
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_a_restarted_controller_changes_no_circuit(lab, end):
    async with lab() as running:
        rings = {ring.name: list(ring.nodes) for ring in await running.observer.rings()}
        if end == "kill":
            await running.stack.controller_daemon.kill()
        else:
            assert await running.stack.controller_daemon.stop() == 0
        mark = running.observer.last_sequence
        await running.stack.restart_controller()
        for name in rings:
            await running.event("ring-active", name, after=mark)
        assert {ring.name: list(ring.nodes) for ring in await running.observer.rings()} == rings
        assert not [event for event in running.observer.events if event.sequence > mark and "switching" in event.kind]
        fabric = await running.observer.settled()
        assert fabric.epoch == 2
        await running.assert_light_is_plan(3)


async def test_a_fault_while_the_controller_is_away_is_healed_after_it_returns(lab):
    async with lab() as running:
        ring = await running.ring(1)
        await running.stack.controller_daemon.kill()
        await running.fail(pb.FAULT_KIND_GPU_LOST, ring.nodes[1], gpu=0)
        mark = running.observer.last_sequence
        await running.stack.restart_controller()
        await running.event("ring-switching", ring.name, after=mark)
        await running.event("ring-active", ring.name, after=running.observer.last_sequence - 1)
        assert ring.nodes[1] not in (await running.ring(1)).nodes
        await running.assert_light_becomes_plan(3)  # other rings may still wait for agents that dial in


async def test_events_and_jobs_survive(lab):
    async with lab() as running:
        before = await running.observer.fabric.ListEvents(fabric_pb2.ListEventsRequest(limit=5000))
        await running.stack.controller_daemon.stop()
        await running.stack.restart_controller()
        await running.observer.all_connected(running.nodes)
        after = await running.observer.fabric.ListEvents(fabric_pb2.ListEventsRequest(limit=5000))
        old = {event.sequence: event.text for event in before.events}
        assert old.items() <= {event.sequence: event.text for event in after.events}.items()
        jobs = await running.observer.fabric.ListJobs(fabric_pb2.ListJobsRequest())
        assert [job.name for job in jobs.jobs] == ["train"]


@pytest.mark.parametrize("daemon", ["controller", "emulator"])
async def test_sigterm_stops_a_daemon_in_order(lab, daemon):
    async with lab(nodes=10, rings=0) as running:
        process = running.stack.controller_daemon if daemon == "controller" else running.stack.emulator_daemon
        process.signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            assert await process.wait() == 0
        log = (running.stack.directory / f"{daemon}.log").read_text()
        assert "Traceback" not in log


async def test_sigterm_stops_an_agent_in_order(lab):
    """It says goodbye, and its node keeps its circuits."""
    async with lab() as running:
        node = (await running.ring(0)).nodes[1]
        await running.fail(pb.FAULT_KIND_AGENT_CRASH, node)
        await running.verdict(node, "UNREACHABLE")
        generations, log = await running.generations(), running.stack.directory / "own.log"
        arguments = (
            *("agent", "--id", "own", "--node", node, "--controller", running.stack.controller),
            *("--emulator", str(running.stack.socket), "--state", str(running.stack.directory / "own")),
        )
        agent = Daemon("agent", list(arguments), log)
        await agent.start()
        agent.signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            assert await agent.wait() == 0
        lost = await running.event("agent-lost", "own")
        assert "goodbye" in lost.text
        assert "Traceback" not in log.read_text()
        assert await running.generations() == generations
        await running.assert_light_is_plan(3)
