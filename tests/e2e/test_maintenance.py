"""A node is taken out for maintenance and given back, over real processes and with the real command line."""

import asyncio
import json
import sys

import pytest

from ringlight.protos.v1 import fabric_pb2 as pb

pytestmark = pytest.mark.e2e

PATIENCE = 30.0


async def ringlight(lab, *arguments):
    """Run a command against the lab's controller: exit code, standard output as JSON, standard error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ringlight.cli.main", *arguments, "--controller", lab.stack.controller, "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, json.loads(out) if out else None, err.decode()


async def test_a_node_is_drained_and_given_back(lab):
    async with lab(nodes=13) as running:
        before = await running.observer.rings()
        victim = before[1].nodes[1]
        code, dry, _ = await ringlight(running, "drain", victim, "--dry-run")
        assert code == 0
        touched = [change["ring"] for change in dry["rings"]]
        mark = running.observer.last_sequence
        code, done, err = await ringlight(running, "drain", victim, "--yes", "--reason", "fan", "--wait", "20")
        assert (code, err) == (0, "")
        assert done["rings"] == dry["rings"]
        assert done["nodes"][0]["overlay"] == "cordoned"
        await running.event("node-drained", victim, after=mark)
        after = await running.observer.rings()
        assert all(victim not in ring.nodes for ring in after)
        assert [ring for ring in after if ring.name not in touched] == [r for r in before if r.name not in touched]
        await running.assert_light_is_plan(3)
        node = await running.node(victim)
        assert (node.verdict, node.overlay, node.overlay_reason, node.ring, node.spare) == (
            *("HEALTHY", "cordoned", "fan", "", False),
        )
        # That was the last spare: what would cost a ring is refused, and moves nothing.
        generations = await running.generations()
        code, _, err = await ringlight(running, "drain", after[0].nodes[2], "--yes")
        assert code == 3
        assert "would cost train/" in err
        assert "--force" in err
        assert await running.generations() == generations
        code, given, _ = await ringlight(running, "uncordon", victim)
        assert (code, given["nodes"][0]["spare"]) == (0, True)
        assert await running.generations() == generations, "it is a spare now, and nothing moves"
        code, _, _ = await ringlight(running, "drain", after[0].nodes[2], "--yes", "--wait", "20")
        assert code == 0
        await running.assert_light_is_plan(3)


async def test_a_job_grows_and_shrinks(lab):
    async with lab(nodes=13, rings=2) as running:
        code, grown, _ = await ringlight(running, "jobs", "resize", "train", "--rings", "3")
        assert (code, [change["ring"] for change in grown["rings"]]) == (0, ["train/2"])
        await running.event("ring-active", "train/2")
        await running.assert_light_is_plan(3)
        code, _, err = await ringlight(running, "jobs", "resize", "train", "--rings", "4", "--min-rings", "4")
        assert code == 3
        assert "would have 3 rings" in err
        code, shrunk, _ = await ringlight(running, "jobs", "resize", "train", "--rings", "1", "--yes")
        assert (code, [change["ring"] for change in shrunk["rings"]]) == (0, ["train/1", "train/2"])
        await running.assert_light_is_plan(1)
        (job,) = (await running.observer.fabric.ListJobs(pb.ListJobsRequest())).jobs
        assert (job.state, job.rings, job.min_rings) == ("RUNNING", 1, 1)
