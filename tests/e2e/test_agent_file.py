"""Agents by their files over modules on I2C buses: what a site with real modules would run, but for the glass."""

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Daemon
from ringlight.protos.v1 import emulator_pb2
from ringlight.protos.v1 import fabric_pb2 as pb

pytestmark = pytest.mark.e2e

NODES, BUNDLES, MODULES = 8, 2, 2
FABRIC = {
    "name": "lab",
    "k": 2,
    "gpus": 4,
    "bundles": [{"edge": 0, "modules": MODULES}, {"edge": 2, "modules": MODULES}],
    "nodes": {"count": NODES},
}
SETTINGS = {"heartbeat": {"interval": 0.4}, "health": {"probation": 0.5, "start_grace": 3.0}}


@dataclass
class Bench:
    """A running fabric, and the agent of half of its nodes."""

    observer: Observer
    agents: list[Daemon]

    async def page(self) -> dict[tuple[str, ...], float]:
        """The first agent's page: values by name and label values in order of the labels' names."""
        address = self.agents[0].addresses["metrics"]
        async with aiohttp.ClientSession() as client, client.get(f"http://{address}/metrics") as reply:
            text = await reply.text()
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def agent_file(directory, name: str, nodes: range, controller: str) -> str:
    socket = str(directory / "modules.sock")

    def bundles(node: str) -> list[list[dict]]:
        return [
            [{"socket": socket, "bus": node, "select": MODULES * bundle + module} for module in range(MODULES)]
            for bundle in range(BUNDLES)
        ]

    gpus = {"emulator": {"socket": str(directory / "hardware.sock")}}
    file = {
        "id": name,
        "controller": controller,
        "state": str(directory / name),
        "fabric": str(directory / "fabric.yaml"),
        "metrics": "127.0.0.1:0",
        "nodes": {
            f"n{i}": {"circuits": {"cmis": {"profile": "auto", "bundles": bundles(f"n{i}")}}, "gpus": gpus}
            for i in nodes
        },
    }
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump(file), encoding="utf-8")
    return str(path)


@asynccontextmanager
async def bench(directory):
    """Emulated modules, a controller, and two agents with four nodes each."""
    (directory / "fabric.yaml").write_text(yaml.safe_dump(FABRIC), encoding="utf-8")
    (directory / "controller.yaml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    fabric = "--fabric", str(directory / "fabric.yaml")
    here = "--listen", "127.0.0.1:0"
    sockets = "--socket", str(directory / "hardware.sock"), "--module-socket", str(directory / "modules.sock")
    emulated = ["emulator", "run", *fabric, *here, "--no-agents", "--modules", "registers", *sockets]
    deciding = ["controller", *fabric, "--config", str(directory / "controller.yaml"), *here, "--http", "127.0.0.1:0"]
    emulator = Daemon("emulator", [*emulated, "--state", str(directory / "hw")], directory / "emulator.log")
    controller = Daemon("controller", [*deciding, "--state", str(directory / "state")], directory / "controller.log")
    async with AsyncExitStack() as running:
        for daemon in (emulator, controller):
            await daemon.start()
            running.push_async_callback(daemon.stop)
        agents = []
        for number, nodes in enumerate((range(NODES // 2), range(NODES // 2, NODES))):
            path = agent_file(directory, f"a{number}", nodes, controller.addresses["grpc"])
            agents.append(Daemon(f"a{number}", ["agent", "--config", path], directory / f"a{number}.log"))
            await agents[-1].start()
            running.push_async_callback(agents[-1].stop)
        observer = await running.enter_async_context(observe(controller.addresses["grpc"], emulator.addresses["grpc"]))
        await observer.all_connected(NODES)
        await observer.fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=1, tp=24))
        await observer.until(lambda e: e.kind == "ring-active", after=0)
        yield Bench(observer, agents)


async def test_rings_over_modules_heal_and_the_page_tells_of_it(tmp_path):
    async with bench(tmp_path) as running:
        (ring,) = await running.observer.rings()
        assert (await running.observer.compare()).equal
        before = await running.page()
        victim, mark = ring.nodes[2], running.observer.last_sequence
        inject = emulator_pb2.InjectRequest(kind=emulator_pb2.FAULT_KIND_GPU_XID, node=victim, gpu=1, xid=79)
        await running.observer.emulator.Inject(inject)
        await running.observer.until(lambda e: e.kind == "ring-active", after=mark)
        (healed,) = await running.observer.rings()
        assert victim not in healed.nodes
        assert (await running.observer.compare()).equal
        page = await running.page()
        served = [f"n{number}" for number in range(NODES // 2)]
        for node in served:
            assert page["ringlight_agent_hardware_open", node] == 1
            ups = [value for (name, *labels), value in page.items() if name == "ringlight_module_up" and node in labels]
            assert ups == [1.0] * BUNDLES * MODULES
        commanded = sum(page["ringlight_agent_commands_total", node, "applied"] for node in served)
        assert commanded > sum(before["ringlight_agent_commands_total", node, "applied"] for node in served)
        assert sum(page["ringlight_agent_switch_seconds_count", node] for node in served) == commanded
        assert page.keys() >= before.keys()


async def test_an_agent_that_starts_again_finds_every_circuit_as_it_was(tmp_path):
    async with bench(tmp_path) as running:
        (before,) = await running.observer.rings()
        mark = running.observer.last_sequence
        await running.agents[0].kill()
        await running.observer.until(lambda e: e.kind == "agent-lost", after=mark)
        await running.agents[0].start()
        await running.observer.until(lambda e: e.kind == "agent-connected", after=mark)
        await running.observer.settled()
        assert list(await running.observer.rings()) == [before]
        assert (await running.observer.compare()).equal
        page = await running.page()
        assert sum(value for (name, *_), value in page.items() if name == "ringlight_agent_switch_seconds_count") == 0
