"""What is foretold of a fault is what then happens, over real processes and with the real command line."""

import asyncio
import json
import sys

import pytest

from ringlight.protos.v1 import emulator_pb2 as pb

pytestmark = pytest.mark.e2e

PATIENCE = 30.0


async def plan(lab, *arguments):
    """Ask the lab's controller what would be done: exit code and answer."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ringlight.cli.main", "plan", *arguments),
        *("--controller", lab.stack.controller, "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    return process.returncode, json.loads(out)


async def test_a_broken_node_is_answered_as_foretold(lab):
    async with lab(nodes=13) as running:
        before = await running.observer.rings()
        victim = before[1].nodes[1]
        assert await plan(running) == (0, {"jobs": [], "reasons": []})
        generations, mark = await running.generations(), running.observer.last_sequence
        code, foretold = await plan(running, "--what-if", f"fail={victim}")
        assert code == 0
        (job,) = foretold["jobs"]
        assert (job["state"], job["rings_now"], job["rings"]) == ("RUNNING", 3, 3)
        chains = {ring["change"]["ring"]: ring["change"]["chain"] for ring in job["changes"]}
        code, worse = await plan(running, "--what-if", f"fail={victim},{before[0].nodes[0]}")
        assert code == 2, "there is one spare in all"
        assert worse["jobs"][0]["rings"] == 2
        assert await running.generations() == generations
        assert await running.observer.rings() == before
        await running.fail(pb.FAULT_KIND_GPU_XID, victim, gpu=1, xid=79)
        for ring in chains:
            await running.event("ring-active", ring, after=mark)
        await running.assert_light_is_plan(3)
        after = {ring.name: list(ring.nodes) for ring in await running.observer.rings()}
        assert after == {ring.name: list(ring.nodes) for ring in before} | chains
