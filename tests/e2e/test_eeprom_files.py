"""Emulated modules as files, driven by an agent of its own process as those of a kernel are."""

from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import yaml

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Daemon
from ringlight.protos.v1 import emulator_pb2, fabric_pb2
from tests.emulator.fuse import needs_fuse

pytestmark = pytest.mark.e2e

NODES, BUNDLES, MODULES = 6, 2, 2
FABRIC = {
    "name": "lab",
    "k": 2,
    "gpus": 4,
    "bundles": [{"edge": 0, "modules": MODULES}, {"edge": 2, "modules": MODULES}],
    "nodes": {"count": NODES},
}
SETTINGS = {
    "heartbeat": {"interval": 0.4},
    "health": {"probation": 0.5, "start_grace": 3.0, "dead_hop_retest": 60.0},
    "change": {"retry_interval": 5.0},  # what is told to a dead module takes a while to fail, again and again
}


def agent_file(directory, controller):
    """One agent for all nodes."""

    def cmis(node):
        bundles = [
            [
                {"eeprom": str(directory / "modules" / f"{node}-{bundle * MODULES + at}" / "eeprom")}
                for at in range(MODULES)
            ]
            for bundle in range(BUNDLES)
        ]
        return {"bundles": bundles, "poll": 0.2}  # files show no lines: what changes by itself must be looked for

    gpus = {"emulator": {"socket": str(directory / "hardware.sock")}}
    nodes = [f"n{number}" for number in range(NODES)]
    return {
        "id": "lab",
        "controller": controller,
        "state": str(directory / "agent"),
        "fabric": str(directory / "fabric.yaml"),
        "nodes": {node: {"circuits": {"cmis": cmis(node)}, "gpus": gpus} for node in nodes},
    }


@asynccontextmanager
async def bench(directory):
    """A controller, an emulator without agents, and one agent, as processes."""
    (directory / "fabric.yaml").write_text(yaml.safe_dump(FABRIC))
    (directory / "controller.yaml").write_text(yaml.safe_dump(SETTINGS))
    fabric = "--fabric", str(directory / "fabric.yaml")
    settings = "--config", str(directory / "controller.yaml"), "--state", str(directory / "state")
    places = "--socket", str(directory / "hardware.sock"), "--eeprom-files", str(directory / "modules")
    here = "--listen", "127.0.0.1:0"
    controller = Daemon(
        "controller", ["controller", *fabric, *settings, *here, "--http", "127.0.0.1:0"], directory / "controller.log"
    )
    emulator = Daemon(
        "emulator",
        ["emulator", "run", *fabric, "--no-agents", "--modules", "registers", *places, *here],
        directory / "emulator.log",
    )
    agent = Daemon("agent", ["agent", "--config", str(directory / "agent.yaml")], directory / "agent.log")
    async with AsyncExitStack() as running:
        for daemon in (controller, emulator):
            await daemon.start()
            running.push_async_callback(daemon.stop)
        address = controller.addresses["grpc"]
        (directory / "agent.yaml").write_text(yaml.safe_dump(agent_file(directory, address)))
        await agent.start()
        running.push_async_callback(agent.stop)
        observer = await running.enter_async_context(observe(address, emulator.addresses["grpc"]))
        await observer.all_connected(NODES)
        yield observer, emulator


async def assert_light_is_plan(observer: Observer) -> list[fabric_pb2.Ring]:
    comparison = await observer.compare()
    assert comparison.equal, (comparison.lit ^ comparison.planned, comparison.rings)
    assert len(comparison.planned) == 1
    return comparison.rings


@needs_fuse
async def test_a_ring_is_placed_and_healed_around_a_module_that_is_gone(tmp_path):
    async with bench(tmp_path) as (observer, emulator):
        await observer.fabric.SubmitJob(fabric_pb2.SubmitJobRequest(name="train", rings=1, tp=16))
        await observer.until(lambda event: event.kind == "ring-active")
        (ring,) = await assert_light_is_plan(observer)
        mark = observer.last_sequence
        dead = emulator_pb2.InjectRequest(kind=emulator_pb2.FAULT_KIND_MODULE_DEAD, node=ring.nodes[1], module=1)
        await observer.emulator.Inject(dead)
        await observer.until(lambda event: event.kind == "ring-active", after=mark)
        (healed,) = await assert_light_is_plan(observer)
        assert ring.nodes[1] not in healed.nodes
        await emulator.kill()
        await emulator.start()  # what the killed one left is no hindrance
        await observer.until(lambda event: event.kind == "ring-active", after=observer.last_sequence)
