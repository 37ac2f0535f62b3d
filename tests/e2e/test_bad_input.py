"""Wrong input to running daemons: a clear message, a non-zero exit, and everything else goes on."""

import asyncio
import sys

import grpc.aio
import pytest
import yaml

from ringlight.emulator.stack import Daemon, StackError
from ringlight.protos.v1 import agent_pb2, agent_pb2_grpc, fabric_pb2
from ringlight.protos.v1 import emulator_pb2 as pb

pytestmark = pytest.mark.e2e


async def ringlight(*arguments):
    """Run a command; its exit code, and what it printed on standard error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ringlight.cli", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, errors.decode()


def agent(running, node, *, agent_id="newcomer", socket=None, state="newcomer"):
    return (
        *("agent", "--id", agent_id, "--node", node),
        *("--controller", running.stack.controller, "--emulator", str(socket or running.stack.socket)),
        *("--state", str(running.stack.directory / state)),
    )


async def refused(running, arguments, *words):
    """A command that must fail with these words, and change nothing."""
    generations = await running.generations()
    code, errors = await ringlight(*arguments)
    assert code == 1, errors
    for word in (*words, "error:", "hint:"):
        assert word in errors, errors
    assert "Traceback" not in errors
    assert await running.generations() == generations
    await running.assert_light_is_plan(3)


async def test_agents_that_do_not_fit(lab):
    async with lab() as running:
        await refused(running, agent(running, "n0", agent_id="second"), "agent-n0", "already")
        await refused(running, agent(running, "n0", agent_id="agent-n0"), "live session")
        # Another emulated fabric, larger and named otherwise: an unknown node, another name, other cabling.
        for changes, node, words in (
            ({"nodes": {"count": 30}}, "n25", ("n25", "does not have")),
            ({"name": "elsewhere"}, "n0", ("elsewhere",)),
            ({"k": 1}, "n0", ("differs from the fabric file",)),
        ):
            fabric = {"name": "lab", "k": 2, "gpus": 4, "nodes": {"count": 20}} | changes
            file = running.stack.directory / "other.yaml"
            file.write_text(yaml.safe_dump(fabric))
            emulator = Daemon(
                "emulator",
                ["emulator", "run", "--fabric", str(file), "--no-agents", "--listen", "127.0.0.1:0"],
                running.stack.directory / "other.log",
            )
            await emulator.start()
            try:
                socket = emulator.addresses["socket"]
                await refused(running, agent(running, node, socket=socket), *words)
            finally:
                await emulator.stop()


async def test_an_agent_of_another_protocol(lab):
    async with lab() as running, grpc.aio.insecure_channel(running.stack.controller) as channel:
        call = agent_pb2_grpc.AgentServiceStub(channel).Session()
        hello = agent_pb2.Hello(agent="future", agent_boot="1", protocol=2, fabric="lab")
        await call.write(agent_pb2.AgentMessage(hello=hello))
        with pytest.raises(grpc.aio.AioRpcError, match="protocol 2"):
            await call.read()
        await running.assert_light_is_plan(3)


async def test_jobs_that_do_not_fit(lab):
    async with lab() as running:
        submit = ("jobs", "submit", "--controller", running.stack.controller)
        await refused(running, (*submit, "big", "--rings", "9", "--tp", "16"), "does not fit")
        await refused(running, (*submit, "odd", "--rings", "1", "--tp", "18"), "not a multiple", "tp 16 or 20")
        await refused(running, (*submit, "train", "--rings", "1", "--tp", "16"), "exists already")


async def test_a_second_controller(lab):
    async with lab() as running:
        directory = running.stack.directory
        same_store = running.stack.controller_arguments()
        same_store[same_store.index("--listen") + 1] = same_store[same_store.index("--http") + 1] = "127.0.0.1:0"
        await refused(running, same_store, "another controller uses this state directory")
        same_address = running.stack.controller_arguments()
        same_address[same_address.index("--state") + 1] = str(directory / "other-state")
        await refused(running, same_address, "cannot listen")


async def test_a_malformed_fabric_file(tmp_path):
    file = tmp_path / "fabric.yaml"
    file.write_text("name: lab\nk: 2\ngpus: 4\nclosd: true\nnodes: [a, a]\n")
    code, errors = await ringlight("controller", "--fabric", str(file), "--state", str(tmp_path / "state"))
    assert code == 1
    assert "closd: unknown key; did you mean 'closed'?" in errors
    assert "nodes[1]: 'a' is nodes[0] already" in errors
    with pytest.raises(StackError, match="did you mean"):
        await Daemon("controller", ["controller", "--fabric", str(file)], tmp_path / "log").start()


async def test_faults_that_do_not_exist(lab):
    async with lab() as running:
        fail = ("emulator", "fail", "--emulator", running.stack.emulator)
        await refused(running, (*fail, "gpu-lost", "n99"), "n99")
        await refused(running, (*fail, "gpu-lost", "n1", "--gpu", "7"), "no GPU 7")
        await refused(running, (*fail, "fibre-cut", "n1+3"), "n1")


async def test_an_agent_of_its_own_process_serves_a_node(lab):
    """A real agent process takes the place of a crashed one; killed, it leaves the light as it is."""
    async with lab() as running:
        ring = await running.ring(0)
        node = ring.nodes[1]
        await running.fail(pb.FAULT_KIND_AGENT_CRASH, node)
        await running.verdict(node, "UNREACHABLE")
        generations, mark = await running.generations(), running.observer.last_sequence
        process = Daemon("agent", list(agent(running, node, agent_id="own")), running.stack.directory / "own.log")
        await process.start()
        await running.verdict(node, "HEALTHY", after=mark)
        await process.kill()
        await running.verdict(node, "UNREACHABLE", after=running.observer.last_sequence)
        assert await running.generations() == generations
        await running.assert_light_is_plan(3)
        jobs = await running.observer.fabric.ListJobs(fabric_pb2.ListJobsRequest())
        assert jobs.jobs[0].state == "RUNNING"
