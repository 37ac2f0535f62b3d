"""What a site with real modules would run, but for the glass: agents by their files, over modules on I2C buses."""

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Daemon, lasting_address
from ringlight.protos.v1 import fabric_pb2 as pb

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
class Site:
    """A running fabric, and its agents, each with half of the nodes."""

    observer: Observer
    emulator: Daemon
    controller: Daemon
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


def agent_file(directory, name: str, nodes: range, controller: str, *, gpus=None, mqtt=None) -> str:
    socket = str(directory / "modules.sock")

    def bundles(node: str) -> list[list[dict]]:
        return [
            [{"socket": socket, "bus": node, "select": MODULES * bundle + module} for module in range(MODULES)]
            for bundle in range(BUNDLES)
        ]

    emulated = {"emulator": {"socket": str(directory / "hardware.sock")}}

    def node(number: int) -> dict:
        circuits = {"cmis": {"profile": "auto", "bundles": bundles(f"n{number}")}}
        return {"circuits": circuits, "gpus": gpus(number) if gpus else emulated}

    file = {
        "id": name,
        "controller": controller,
        "state": str(directory / name),
        "fabric": str(directory / "fabric.yaml"),
        "metrics": lasting_address(),
        "nodes": {f"n{number}": node(number) for number in nodes},
    }
    if mqtt is not None:
        file["mqtt"] = {"broker": mqtt}
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump(file), encoding="utf-8")
    return str(path)


@asynccontextmanager
async def run_site(directory, *, tp: int = 24, settings=None, gpus=None, mqtt: str | None = None):
    """Emulated modules, a controller, two agents with four nodes each, and one ring. Addresses outlast restarts.

    `gpus` says of a node of the second agent where the health of its GPUs is from, as the agent's file does; `mqtt` is
    the address of a broker for all of them.
    """
    directory.mkdir(exist_ok=True)
    (directory / "fabric.yaml").write_text(yaml.safe_dump(FABRIC), encoding="utf-8")
    (directory / "controller.yaml").write_text(yaml.safe_dump({**SETTINGS, **(settings or {})}), encoding="utf-8")
    fabric = "--fabric", str(directory / "fabric.yaml")
    sockets = "--socket", str(directory / "hardware.sock"), "--module-socket", str(directory / "modules.sock")
    hardware = "--no-agents", "--modules", "registers", *sockets
    emulated = ["emulator", "run", *fabric, "--listen", "127.0.0.1:0", *hardware]
    addresses = "--listen", lasting_address(), "--http", lasting_address()
    deciding = ["controller", *fabric, "--config", str(directory / "controller.yaml"), *addresses]
    deciding += [] if mqtt is None else ["--mqtt", mqtt]
    emulator = Daemon("emulator", [*emulated, "--state", str(directory / "hw")], directory / "emulator.log")
    controller = Daemon("controller", [*deciding, "--state", str(directory / "state")], directory / "controller.log")
    async with AsyncExitStack() as running:
        for daemon in (emulator, controller):
            await daemon.start()
            running.push_async_callback(daemon.stop)
        agents = []
        for number, nodes in enumerate((range(NODES // 2), range(NODES // 2, NODES))):
            more = {"gpus": gpus if number else None, "mqtt": mqtt}
            path = agent_file(directory, f"a{number}", nodes, controller.addresses["grpc"], **more)
            agents.append(Daemon(f"a{number}", ["agent", "--config", path], directory / f"a{number}.log"))
            await agents[-1].start()
            running.push_async_callback(agents[-1].stop)
        observer = await running.enter_async_context(observe(controller.addresses["grpc"], emulator.addresses["grpc"]))
        await observer.all_connected(NODES)
        await observer.fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=1, tp=tp))
        await observer.until(lambda e: e.kind == "ring-active", after=0)
        yield Site(observer, emulator, controller, agents)
