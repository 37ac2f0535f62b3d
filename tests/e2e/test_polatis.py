"""Eight nodes over one emulated matrix switch: real processes, and a tiny client that asks the switch itself."""

import asyncio
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest
import yaml

from ringlight.emulator.observer import Observer, observe
from ringlight.emulator.stack import Daemon
from ringlight.fabric.circuits import Path
from ringlight.fabric.file import load_fabric
from ringlight.fabric.trace import canonical_cycle, trace
from ringlight.fabric.wiring import Wiring
from ringlight.protos.v1 import fabric_pb2 as pb

pytestmark = pytest.mark.e2e

NODES = 8
PATIENCE = 20.0  # seconds; reached only when something is broken
FABRIC = {
    "name": "lab",
    "k": 2,
    "gpus": 4,
    "bundles": [{"edge": 0, "modules": 1}, {"edge": 2, "modules": 1}],
    "nodes": {"count": NODES},
}
SETTINGS = {
    "heartbeat": {"interval": 0.4},
    "health": {"probation": 0.5, "start_grace": 3.0, "dead_hop_retest": 60.0},
    "change": {"retry_interval": 0.5},
}


def send(node: int, bundle: int) -> int:
    """The port a bundle sends into."""
    return 2 * node + bundle + 1


def hear(node: int, bundle: int) -> int:
    """The port a bundle listens at."""
    return 16 + send(node, bundle)


PORTS = {f"n{i}": [{"in": send(i, b), "out": hear(i, b)} for b in (0, 1)] for i in range(NODES)}


@dataclass
class Bench:
    """A running fabric and its switch."""

    observer: Observer
    controller: str
    switch: str
    wiring: Wiring
    agents: list[Daemon]

    async def ask(self, line: str) -> str:
        """What the switch itself answers to somebody else."""
        async with asyncio.timeout(PATIENCE):
            host, _, port = self.switch.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"{line}\n".encode())
            answer = (await reader.readline()).decode().strip()
            writer.close()
            return answer

    async def connections(self) -> set[tuple[int, int]]:
        answer = await self.ask(":oxc:swit:conn:stat?")
        lists = answer.removeprefix("(@").removesuffix(")").split("),(@")
        ingresses, egresses = (map(int, ports.split(",") if ports else ()) for ports in lists)
        return set(zip(ingresses, egresses, strict=True))

    async def ringlight(self, *arguments: str) -> int:
        """Run a command against the controller; its exit code."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ringlight.cli.main", *arguments, "--controller", self.controller),
            stdin=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(PATIENCE):
            return await process.wait()

    async def metrics(self, agent: Daemon) -> dict[str, float]:
        """The agent's own page, value by series."""
        async with asyncio.timeout(PATIENCE):
            host, _, port = agent.addresses["metrics"].rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = (await reader.read()).decode()
            writer.close()
        lines = [line.rpartition(" ") for line in page.partition("\r\n\r\n")[2].splitlines() if line[:1] != "#"]
        return {series: float(value) for series, _, value in lines if series}

    async def rings(self) -> list[pb.Ring]:
        """Every ring, at a moment when nothing is in flight."""
        await self.observer.settled()
        return await self.observer.rings()

    async def moves(self) -> int:
        """How many commands have moved a mirror since the switch was made."""
        return int(await self.ask(":emul:moves?"))

    async def heard(self, kind: str, subject: str, *, after: int) -> pb.Event:
        return await self.observer.until(lambda e: e.kind == kind and e.subject == subject, after=after)

    async def assert_switch_is_plan(self) -> list[pb.Ring]:
        """The switch holds what the rings need; whoever is in no ring is in loopback, or dark."""
        rings = await self.rings()
        assert [ring.state for ring in rings] == ["ACTIVE"] * len(rings)
        found = await self.connections()
        wanted = needed(rings)
        assert wanted <= found
        idle = set(range(NODES)) - {number(name) for ring in rings for name in ring.nodes}
        assert found - wanted <= {(send(node, b), hear(node, b)) for node in idle for b in (0, 1)}
        assert lit_cycles(found, self.wiring) >= {canonical_cycle(tuple(ring.gpus)) for ring in rings}
        return rings


def number(node: str) -> int:
    return int(node.removeprefix("n"))


def needed(rings: list[pb.Ring]) -> set[tuple[int, int]]:
    """By hand: neighbours of a chain are joined both ways, lower b0 to upper b1; the rest of a chain is in loopback."""
    pairs = set()
    for ring in rings:
        chain = [number(name) for name in ring.nodes]
        joined = {(node, bundle): (node, bundle) for node in chain for bundle in (0, 1)}
        for one, other in pairwise(chain):
            lower, upper = (one, other) if (other - one) % NODES <= 2 else (other, one)
            joined[lower, 0], joined[upper, 1] = (upper, 1), (lower, 0)
        pairs |= {(send(*place), hear(*far)) for place, far in joined.items()}
    return pairs


def lit_cycles(connections: set[tuple[int, int]], wiring: Wiring) -> set[tuple[str, ...]]:
    """The cycles of GPUs that light forms, followed through what the switch says."""
    far = dict(connections)
    tables = [[Path.DARK, Path.DARK] for _ in range(NODES)]
    for node in range(NODES):
        steps = {hear(node, b): (b, Path.LOOPBACK) for b in (0, 1)}
        for distance, path in ((1, Path.PATH_1), (2, Path.PATH_2)):
            steps[hear((node + distance) % NODES, 1)] = (0, path)
            steps[hear((node - distance) % NODES, 0)] = (1, path)
        for bundle in (0, 1):
            reached = steps.get(far.get(send(node, bundle), 0))
            if reached is not None and reached[0] == bundle:
                tables[node][bundle] = reached[1]
    cycles = trace(wiring, [tuple(table) for table in tables]).cycles
    return {canonical_cycle(tuple(f"n{node}/g{gpu}" for node, gpu in cycle)) for cycle in cycles}


def agent_file(directory, name: str, nodes: range, *, controller: str, switch: str) -> str:
    path = directory / f"{name}.yaml"
    file = {
        "id": name,
        "controller": controller,
        "metrics": "127.0.0.1:0",
        "state": str(directory / name),
        "fabric": str(directory / "fabric.yaml"),
        "nodes": {f"n{i}": {"circuits": {"polatis": {"switch": "lab"}}, "gpus": "none"} for i in nodes},
        "switches": {"lab": {"address": switch, "ports": PORTS}},
    }
    path.write_text(yaml.safe_dump(file), encoding="utf-8")
    return str(path)


@asynccontextmanager
async def bench(tmp_path, *, agents: int = 1):
    """A switch, a controller and its agents, as processes."""
    (tmp_path / "fabric.yaml").write_text(yaml.safe_dump(FABRIC), encoding="utf-8")
    (tmp_path / "controller.yaml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    files = "--fabric", str(tmp_path / "fabric.yaml"), "--config", str(tmp_path / "controller.yaml")
    here = "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", str(tmp_path / "state")
    switch = Daemon("switch", ["emulator", "polatis", "--listen", "127.0.0.1:0"], tmp_path / "switch.log")
    controller = Daemon("controller", ["controller", *files, *here], tmp_path / "controller.log")
    async with AsyncExitStack() as running:
        for daemon in (switch, controller):
            await daemon.start()
            running.push_async_callback(daemon.stop)
        address = controller.addresses["grpc"]
        where = {"controller": address, "switch": switch.addresses["scpi"]}
        share = NODES // agents
        serving = []
        for number in range(agents):
            nodes = range(number * share, (number + 1) * share)
            file = agent_file(tmp_path, f"a{number}", nodes, **where)
            serving.append(Daemon(f"a{number}", ["agent", "--config", file], tmp_path / f"a{number}.log"))
            await serving[-1].start()
            running.push_async_callback(serving[-1].stop)
        observer = await running.enter_async_context(
            observe(address, emulator=address)
        )  # nothing is asked of the latter
        await observer.all_connected(NODES)
        yield Bench(observer, **where, wiring=Wiring(load_fabric(tmp_path / "fabric.yaml")), agents=serving)


async def _train(running: Bench, *, rings: int = 2, tp: int = 12) -> list[pb.Ring]:
    await running.observer.fabric.SubmitJob(pb.SubmitJobRequest(name="train", rings=rings, tp=tp))
    for rank in range(rings):
        await running.heard("ring-active", f"train/{rank}", after=0)
    return await running.assert_switch_is_plan()


async def test_rings_are_placed_drained_and_healed(tmp_path):
    async with bench(tmp_path) as running:
        before = await _train(running)
        assert [len(ring.nodes) for ring in before] == [3, 3]
        assert await running.moves() <= 2, "six nodes are one command; two, where the machine is slow"
        victim = before[0].nodes[1]
        assert await running.ringlight("drain", victim, "--yes", "--wait", "15") == 0
        drained = await running.assert_switch_is_plan()
        assert all(victim not in ring.nodes for ring in drained)
        broken, mark = drained[1].nodes[1], running.observer.last_sequence
        await running.ask(f":emul:port:fail (@{hear(number(broken), 0)});*opc?")
        await running.heard("ring-active", "train/1", after=mark)
        healed = await running.assert_switch_is_plan()
        assert all(broken not in ring.nodes for ring in healed)
        assert await running.ask(":syst:err?") == '0,"No error"'
        page = await running.metrics(running.agents[0])
        assert page['ringlight_polatis_connections_total{node="n0",switch="lab"}'] == 1
        assert page['ringlight_polatis_switch_errors_total{node="n0",switch="lab"}'] == 0
        member = healed[0].nodes[0]
        assert page[f'ringlight_polatis_moves_total{{node="{member}",switch="lab"}}'] >= 2


async def test_nothing_moves_when_the_connection_or_the_power_is_gone_for_a_while(tmp_path):
    """Mirrors stay where they are, and so do rings: the agent comes back with all its nodes, and reads."""
    async with bench(tmp_path) as running:
        await running.ask(":oxc:swit:conn:add (@1:16),(@17:32);*opc?")
        before = await _train(running)
        moves = await running.moves()
        for trouble in (":emul:drop", ":emul:pow:cycl 0.3"):
            mark = running.observer.last_sequence
            await running.ask(f"*opc?;{trouble}")
            await running.heard("agent-lost", "a0", after=mark)
            await running.observer.until(
                lambda e: e.kind == "agent-connected" and len(e.data["nodes"].split()) == NODES, after=mark
            )
            assert await running.assert_switch_is_plan() == before
            assert await running.moves() == moves
            kinds = {event.kind for event in running.observer.events if event.sequence > mark}
            assert kinds <= {"agent-lost", "agent-connected", "settled"}


async def test_rings_come_back_after_a_power_cut_that_the_switch_does_not_remember(tmp_path):
    async with bench(tmp_path) as running:
        await _train(running)
        await running.ask(":oxc:boot:mode dark;*opc?")
        mark = running.observer.last_sequence
        await running.ask("*opc?;:emul:pow:cycl 0.3")
        for ring in ("train/0", "train/1"):
            await running.heard("ring-active", ring, after=mark)
        rings = await running.assert_switch_is_plan()
        assert [len(ring.nodes) for ring in rings] == [3, 3]
        fault = await running.observer.until(lambda e: e.kind == "fault-opened", after=mark)
        assert (fault.data["code"], fault.data["fault_class"]) == ("boot-mode-dark", "INFO")


async def test_nothing_moves_when_the_agent_crashes_and_starts_again(tmp_path):
    async with bench(tmp_path) as running:
        await running.ask(":oxc:swit:conn:add (@1:16),(@17:32);*opc?")
        before = await _train(running)
        moves, mark = await running.moves(), running.observer.last_sequence
        (agent,) = running.agents
        await agent.kill()
        await running.heard("agent-lost", "a0", after=mark)
        await agent.start()
        await running.observer.all_connected(NODES)
        assert await running.assert_switch_is_plan() == before
        assert await running.moves() == moves


async def test_two_agents_share_a_switch(tmp_path):
    """Neighbours that different agents serve wait for each other, and none of them steals."""
    async with bench(tmp_path, agents=2) as running:
        (before,) = await _train(running, rings=1, tp=24)
        chain = [number(name) for name in before.nodes]
        across = [(one, other) for one, other in pairwise(chain) if one // 4 != other // 4]
        assert len(across) == 1
        victim, mark = across[0][1], running.observer.last_sequence
        await running.ask(f":emul:port:fail (@{send(victim, 1)});*opc?")
        await running.heard("ring-active", "train/0", after=mark)
        (healed,) = await running.assert_switch_is_plan()
        assert f"n{victim}" not in healed.nodes
        assert len(healed.nodes) == 6
        assert {number(name) // 4 for name in healed.nodes} == {0, 1}
