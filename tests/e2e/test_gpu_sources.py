"""An agent by its file, with real sources of GPU health: a command of the site's own, and NVML where there is none."""

import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Daemon
from ringlight.protos.v1 import fabric_pb2 as pb

pytestmark = pytest.mark.e2e

NODES = 8
BLIND = "n7"  # its GPUs should be watched with NVML, which nobody can on a machine without GPUs
SETTINGS = {"heartbeat": {"interval": 0.2}, "health": {"probation": 0.5, "start_grace": 3.0}}


@dataclass
class Bench:
    """A running fabric, and what the nodes' commands print."""

    observer: Observer
    directory: Path
    metrics: str

    def say(self, node: str, *faults: dict) -> None:
        """From now on, the node's command prints this."""
        write(self.directory / f"{node}.json", json.dumps({"faults": faults, "temperatures": {"0": 41}}))

    async def verdict(self, node: str, verdict: str, *, after: int) -> pb.Event:
        return await self.observer.until(
            lambda e: e.kind == "verdict" and e.subject == node and e.data["verdict"] == verdict, after=after
        )

    async def node(self, name: str) -> pb.Node:
        reply = await self.observer.fabric.ListNodes(pb.ListNodesRequest())
        return next(node for node in reply.nodes if node.name == name)

    async def page(self) -> dict[str, str]:
        async with aiohttp.ClientSession() as client, client.get(f"http://{self.metrics}/metrics") as reply:
            lines = (await reply.text()).splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def write(path: Path, text: str) -> None:
    """As a whole: a command that runs meanwhile prints the old or the new."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def agent_file(directory: Path, controller: str) -> Path:
    circuits = {"emulator": {"socket": str(directory / "hardware.sock")}}
    nodes = {}
    for number in range(NODES):
        name = f"n{number}"
        write(directory / f"{name}.json", json.dumps({"faults": []}))
        command = {"run": ["/bin/cat", str(directory / f"{name}.json")], "every": 0.1}
        nodes[name] = {"circuits": circuits, "gpus": {"nvml": {}} if name == BLIND else {"command": command}}
    file = {
        "id": "rack",
        "controller": controller,
        "state": str(directory / "agent"),
        "fabric": str(directory / "fabric.yaml"),
        "metrics": "127.0.0.1:0",
        "nodes": nodes,
    }
    path = directory / "agent.yaml"
    write(path, yaml.safe_dump(file))
    return path


@asynccontextmanager
async def bench(directory):
    """Hardware without agents, a controller, and one agent that is described by a file."""
    write(directory / "fabric.yaml", yaml.safe_dump({"name": "lab", "k": 2, "gpus": 4, "nodes": {"count": NODES}}))
    write(directory / "controller.yaml", yaml.safe_dump(SETTINGS))
    fabric = "--fabric", str(directory / "fabric.yaml")
    here = "--listen", "127.0.0.1:0"
    hardware = ["emulator", "run", *fabric, *here, "--no-agents", "--socket", str(directory / "hardware.sock")]
    deciding = ["controller", *fabric, "--config", str(directory / "controller.yaml"), *here, "--http", "127.0.0.1:0"]
    emulator = Daemon("emulator", [*hardware, "--state", str(directory / "hw")], directory / "emulator.log")
    controller = Daemon("controller", [*deciding, "--state", str(directory / "state")], directory / "controller.log")
    async with AsyncExitStack() as running:
        for daemon in (emulator, controller):
            await daemon.start()
            running.push_async_callback(daemon.stop)
        path = agent_file(directory, controller.addresses["grpc"])
        agent = Daemon("agent", ["agent", "--config", str(path)], directory / "agent.log")
        await agent.start()
        running.push_async_callback(agent.stop)
        observer = await running.enter_async_context(observe(controller.addresses["grpc"], emulator.addresses["grpc"]))
        await observer.all_connected(NODES)
        await observer.fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=1, tp=16))
        await observer.until(lambda e: e.kind == "ring-active", after=0)
        yield Bench(observer, directory, agent.addresses["metrics"])


async def test_what_a_command_says_moves_rings_and_what_it_cannot_say_does_not(tmp_path):
    async with bench(tmp_path) as running:
        (ring,) = await running.observer.rings()
        victim, mark = ring.nodes[1], running.observer.last_sequence
        running.say(victim, {"gpu": 2, "code": "xid:79"})
        await running.observer.until(lambda e: e.kind == "ring-active", after=mark)
        (healed,) = await running.observer.rings()
        assert victim not in healed.nodes
        assert [(fault.component, fault.code) for fault in (await running.node(victim)).faults] == [("gpu2", "xid:79")]

        well = next(name for name in healed.nodes if name != BLIND)
        # A command that fails takes nothing back, and says nothing against anybody.
        for name in (victim, well):
            mark = running.observer.last_sequence
            (tmp_path / f"{name}.json").unlink()
            await running.observer.until(
                lambda e, name=name: e.subject == name and e.data.get("code") == "health-feed-lost", after=mark
            )
        assert (await running.node(victim)).verdict == "FAILED"
        assert (await running.node(well)).verdict == "HEALTHY"

        mark = running.observer.last_sequence
        running.say(victim)
        await running.verdict(victim, "HEALTHY", after=mark)
        running.say(well)
        comparison = await running.observer.compare()
        assert comparison.equal
        assert (await running.observer.rings())[0].nodes == healed.nodes


async def test_a_machine_without_gpus_serves_circuits_all_the_same(tmp_path):
    async with bench(tmp_path) as running:
        blind = await running.node(BLIND)
        assert (blind.verdict, [fault.code for fault in blind.faults]) == ("HEALTHY", ["health-feed-lost"])
        page = await running.page()
        assert page[f'ringlight_agent_hardware_open{{node="{BLIND}"}}'] == "1.0"
        assert page[f'ringlight_agent_health_feed_open{{node="{BLIND}"}}'] == "0.0"
        assert page['ringlight_agent_health_feed_open{node="n0"}'] == "1.0"
        assert page["ringlight_agent_connected"] == "1.0"
        async with aiohttp.ClientSession() as client, client.get(f"http://{running.metrics}/readyz") as reply:
            assert reply.status == 200
