"""A fabric of real processes, and somebody who watches it from outside."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Stack, run_stack
from ringlight.fabric.spec import default_bundles
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2

# Fast enough for tests. Silence still takes a second to be confirmed: a loaded machine is not a dead one.
SETTINGS = {
    "heartbeat": {"interval": 0.2},
    "health": {"probation": 0.5, "start_grace": 3.0, "dead_hop_retest": 60.0},
    "change": {"retry_interval": 0.5},
}


@dataclass
class Lab:
    """A running fabric with one job of rings, as a test sees it."""

    stack: Stack
    observer: Observer
    nodes: int

    async def ring(self, index: int) -> fabric_pb2.Ring:
        return (await self.observer.rings())[index]

    async def generations(self) -> dict[str, int]:
        """By node, the generation of the last table wanted there: it grows with every command."""
        reply = await self.observer.fabric.ListNodes(fabric_pb2.ListNodesRequest())
        return {node.name: node.generation for node in reply.nodes}

    async def node(self, name: str) -> fabric_pb2.Node:
        reply = await self.observer.fabric.ListNodes(fabric_pb2.ListNodesRequest())
        return next(node for node in reply.nodes if node.name == name)

    async def fail(self, kind: "pb.FaultKind.ValueType", node: str, **details) -> pb.EmulatedFault:
        return await self.observer.emulator.Inject(pb.InjectRequest(kind=kind, node=node, **details))

    async def repair(self, fault: pb.EmulatedFault) -> None:
        await self.observer.emulator.Repair(pb.RepairRequest(id=fault.id))

    async def verdict(self, node: str, verdict: str, *, after: int = 0) -> fabric_pb2.Event:
        """Wait until a node gets this verdict."""
        return await self.observer.until(
            lambda e: e.kind == "verdict" and e.subject == node and e.data["verdict"] == verdict, after=after
        )

    async def event(self, kind: str, subject: str, *, after: int = 0) -> fabric_pb2.Event:
        return await self.observer.until(lambda e: e.kind == kind and e.subject == subject, after=after)

    async def assert_light_is_plan(self, rings: int) -> None:
        comparison = await self.observer.compare()
        assert comparison.equal, (comparison.lit ^ comparison.planned, comparison.rings)
        assert len(comparison.planned) == rings
        fabric = await self.observer.settled()
        assert fabric.invariant_violations == 0

    async def assert_light_becomes_plan(self, rings: int) -> None:
        """After a start: what a former controller lit in vain is let go in a while, which is a quiet moment later."""
        while not (await self.observer.compare()).equal:
            await self.event("settled", "lab", after=self.observer.last_sequence)
        await self.assert_light_is_plan(rings)

    async def commands_to(self, rings: list[fabric_pb2.Ring]) -> dict[str, int]:
        """The generations of the nodes of some rings; equal before and after means that none got a command."""
        generations = await self.generations()
        return {node: generations[node] for ring in rings for node in ring.nodes}


@pytest.fixture(params=["fast", "registers"])
def fidelity(request) -> str:
    """How closely the hardware is emulated: every test of the suite holds for both."""
    return request.param


@pytest.fixture
def lab(tmp_path, fidelity):
    """Starts a lab: `async with lab() as running`."""

    @asynccontextmanager
    async def start(
        *, nodes: int = 20, rings: int = 3, tp: int = 16, k: int = 2, settings=None, name: str = "lab", **more
    ):
        fabric = {"name": "lab", "k": k, "gpus": 4, "nodes": {"count": nodes}}
        if fidelity == "registers":  # two modules a bundle are enough to disagree
            fabric["bundles"] = [{"edge": bundle.edge, "modules": 2} for bundle in default_bundles(k, 4)]
        async with (
            run_stack(
                tmp_path / name, fabric, settings={**SETTINGS, **(settings or {})}, modules=fidelity, **more
            ) as stack,
            observe(stack.controller, stack.emulator) as observer,
        ):
            running = Lab(stack, observer, nodes)
            await observer.all_connected(nodes)
            if rings:
                await observer.fabric.SubmitJob(fabric_pb2.SubmitJobRequest(name="train", rings=rings, tp=tp))
                await running.assert_light_is_plan(rings)
            yield running

    return start
