"""The cabling audit over real processes: what lies otherwise than the file says is found, and no ring is touched."""

import asyncio
import json
import sys

import grpc
import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

pytestmark = pytest.mark.e2e


async def audit(running, *nodes, loss=0.0):
    """Audit by the API: what it said when it began, and its result."""
    began = None
    request = fabric_pb2.AuditFabricRequest(nodes=nodes, highest_loss=loss)
    async for reply in running.observer.fabric.AuditFabric(request):
        match reply.WhichOneof("news"):
            case "began":
                began = reply.began
            case "result":
                return began, reply.result
    raise AssertionError("no result came")


def found(result):
    return {(finding.kind, *sorted(finding.ports)) for finding in result.findings}


async def test_a_fabric_that_is_cabled_as_the_file_says(lab):
    async with lab(nodes=10, rings=0) as running:
        began, result = await audit(running)

        assert len(began.nodes) == 10
        assert found(result) == set()
        assert len(result.fibres) == 20
        assert all(fibre.audited and 0.3 < fibre.loss < 1.0 for fibre in result.fibres)
        await running.assert_light_becomes_plan(0)
        assert (await running.observer.settled()).overlays["audited"] == 0


async def test_swapped_cut_and_dirty_fibres_are_found_beside_a_ring(lab):
    async with lab(nodes=14, rings=1) as running:
        ring = await running.ring(0)
        commands = await running.commands_to([ring])
        idle = [f"n{at}" for at in range(14) if f"n{at}" not in ring.nodes]
        at = [int(name[1:]) for name in idle]
        a, b, c, d = (at[1], at[3], at[5], at[7])
        await running.fail(pb.FAULT_KIND_FIBRE_SWAPPED, f"n{a}", distance=1, partner=f"n{b}+1")
        await running.fail(pb.FAULT_KIND_FIBRE_CUT, f"n{c}", distance=1)
        await running.fail(pb.FAULT_KIND_FIBRE_DIRTY, f"n{d}", distance=1, loss=4.0)

        began, result = await audit(running)

        assert sorted(began.left_out) == sorted(ring.nodes)
        assert found(result) == {
            ("swapped", *sorted((f"n{a}/b0.p1", f"n{b + 1}/b1.p1"))),
            ("swapped", *sorted((f"n{b}/b0.p1", f"n{a + 1}/b1.p1"))),
            ("missing", *sorted((f"n{c}/b0.p1", f"n{c + 1}/b1.p1"))),
            ("dirty", *sorted((f"n{d}/b0.p1", f"n{d + 1}/b1.p1"))),
        }
        dirty = next(finding for finding in result.findings if finding.kind == "dirty")
        assert 4.0 < dirty.loss < 5.0
        assert await running.commands_to([ring]) == commands, "a ring is not touched"
        await running.assert_light_becomes_plan(1)


async def test_an_audit_that_is_broken_off_gives_its_nodes_back(lab):
    async with lab(nodes=10, rings=0) as running:
        call = running.observer.fabric.AuditFabric(fabric_pb2.AuditFabricRequest())
        async for reply in call:
            if reply.WhichOneof("news") == "progress":
                break
        call.cancel()

        await running.event("audit-ended", "lab")
        await running.assert_light_becomes_plan(0)
        await running.observer.fabric.SubmitJob(fabric_pb2.SubmitJobRequest(name="after", rings=2, tp=16))
        await running.assert_light_is_plan(2)


async def test_a_paused_fabric_is_not_audited(lab):
    async with lab(nodes=10, rings=0) as running:
        await running.observer.fabric.Pause(fabric_pb2.PauseRequest(reason="test"))

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await audit(running)

        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert "paused" in (caught.value.details() or "")


async def test_healing_comes_first(lab):
    async with lab(nodes=6, rings=1) as running:
        ring = await running.ring(0)
        auditing = asyncio.create_task(audit(running))
        await running.event("audit-began", "lab")
        mark = running.observer.last_sequence
        await running.fail(pb.FAULT_KIND_GPU_LOST, ring.nodes[1])
        await running.event("ring-active", ring.name, after=mark)
        await asyncio.wait([auditing])
        await running.assert_light_becomes_plan(1)


async def test_the_command_writes_the_fibres_as_they_lie(lab, tmp_path):
    async with lab(nodes=8, rings=0) as running:
        await running.fail(pb.FAULT_KIND_FIBRE_SWAPPED, "n1", distance=1, partner="n4+1")

        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "ringlight.cli",
                "fabric",
                "audit",
                "--controller",
                running.stack.controller,
                "-o",
                "json",
            ),
            *("--write", str(tmp_path / "found.yaml")),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()

        assert process.returncode == ExitCode.DEGRADED, err
        assert {finding["kind"] for finding in json.loads(out)["findings"]} == {"swapped"}
        assert b"auditing 8 nodes in " in err
        fibres = yaml.safe_load((tmp_path / "found.yaml").read_text())["fibres"]
        assert len(fibres) == 16
        assert ["n1/b0.p1", "n5/b1.p1"] in fibres
        assert ["n4/b0.p1", "n2/b1.p1"] in fibres or ["n2/b1.p1", "n4/b0.p1"] in fibres
