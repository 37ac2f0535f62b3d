"""kill -9 of the controller at any moment of a transaction: light = plan afterwards, and no untouched ring moved."""

import asyncio
import contextlib
from random import Random

import grpc.aio
import pytest

from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

pytestmark = pytest.mark.e2e

LABS = 5  # side by side: most of the time goes by until the agents have dialled in again
KILLS = 10  # in each lab
LONGEST = 0.02  # seconds: a transaction takes some 5 to 15 ms, from the report to the ring ACTIVE
RINGS = 3

# The same nodes fail again and again here. A start that is over before every agent has dialled in again, which may take
# an agent 5 s, knows fewer spares: it may rightly move more rings than were foretold. And so may a controller on a
# machine that is so busy, with five labs on it, that an answer takes a second.
PATIENT = {
    "change": {"retry_interval": 0.5, "apply_timeout": 5.0, "light_timeout": 5.0, "revert_after": 12.0},
    "flap": {"penalty": 1.0, "quarantine_faults": 0, "quarantine_flaps": 0},
    "breaker": {"burst": 1000},
    "health": {"probation": 0.5, "start_grace": 15.0, "dead_hop_retest": 60.0},
}


async def cut_off(running, rng, node, *, planned):
    """Begin a repair, or a planned change, and kill the controller somewhere on its way."""
    delay = rng.uniform(0, LONGEST)
    fault = None
    if planned:
        asking = asyncio.create_task(_asked(running.observer.fabric.Drain(fabric_pb2.DrainRequest(nodes=[node]))))
    else:
        fault = await running.fail(pb.FAULT_KIND_GPU_LOST, node, gpu=rng.randrange(4))
    await asyncio.sleep(delay)  # the moment is the test's parameter
    await running.stack.controller_daemon.kill()
    if planned:
        await asking
    return fault


async def _asked(call):
    """A request that may be cut off with the controller."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        await call


async def foretold(running, node):
    """The rings that may change when a node leaves or fails."""
    plan = await running.observer.fabric.Plan(fabric_pb2.PlanRequest(failed_nodes=[node]))
    return {ring.change.ring for job in plan.jobs for ring in job.changes}


async def put_right(running, node, fault):
    """Everything is as it was before: the node serves again."""
    if fault is not None:
        await running.repair(fault)
    await running.observer.fabric.Uncordon(fabric_pb2.UncordonRequest(nodes=[node]), wait_for_ready=True)
    await running.observer.all_connected(running.nodes)


async def chains(running):
    return {ring.name: list(ring.nodes) for ring in await running.observer.rings()}


async def kill_again_and_again(lab, seed):
    rng = Random(seed)
    async with lab(settings=PATIENT, name=f"lab-{seed}", nodes_per_agent=5) as running:
        for kill in range(KILLS):
            planned = kill % 3 == 0
            before = await chains(running)
            node = rng.choice([name for chain in before.values() for name in chain])
            touched = await foretold(running, node)
            told = f"kill {kill} of seed {seed}: {node}, {'drain' if planned else 'fault'}, {touched} may change"
            mark = running.observer.last_sequence
            fault = await cut_off(running, rng, node, planned=planned)
            await running.stack.restart_controller()
            await running.event("gate-open", "silence", after=mark)
            await running.assert_light_becomes_plan(RINGS)
            after = await chains(running)
            assert {name for name in after if after[name] != before[name]} <= touched, told
            assert planned or all(node not in chain for chain in after.values()), told
            await put_right(running, node, fault)


async def test_fifty_kills_of_the_controller_at_any_moment_of_a_transaction(lab):
    async with asyncio.TaskGroup() as labs:
        for seed in range(LABS):
            labs.create_task(kill_again_and_again(lab, seed))
