"""Real agents on real sockets, in this process, and what may happen to theirs."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path as FilePath
from random import Random
from typing import Any

import pytest

from ringlight.agents.drivers.emulator import emulator_hardware
from ringlight.emulator.agents import HostedAgents
from ringlight.emulator.emulation import Emulation
from ringlight.emulator.faults import EmulatedFault, FaultKind, FaultRequest
from ringlight.emulator.hardware import HardwareServer
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import Path
from ringlight.protos import codec

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2


class Lab:
    """An emulation whose agents have all said hello."""

    def __init__(self, plant: Plant, emulation: Emulation, hosted: HostedAgents, controller: Any) -> None:
        self.plant = plant
        self.emulation = emulation
        self.hosted = hosted
        self.controller = controller

    async def fail(self, kind: FaultKind, node: str) -> EmulatedFault:
        return await self.emulation.inject(FaultRequest(kind, node))

    async def switch(self, agent: str, node: str, *paths: Path, generation: int) -> None:
        """Have a command carried out."""
        answered = self.controller.count(agent, "applied")
        await self.controller.command(agent, node, [int(path) for path in paths], generation)
        await self.controller.until(lambda: self.controller.count(agent, "applied") > answered)

    async def beats(self, agent: str, count: int) -> None:
        """Wait for that many more heartbeats of an agent: time as the controller sees it."""
        before = self.controller.count(agent, "heartbeat")
        await self.controller.until(lambda: self.controller.count(agent, "heartbeat") >= before + count)


StartLab = Callable[..., AbstractAsyncContextManager[Lab]]


@pytest.fixture
def start_lab(controller, make_wiring, tmp_path: FilePath) -> StartLab:
    @asynccontextmanager
    async def start(nodes: int = 5, per_agent: int = 1, expect: int | None = None) -> AsyncIterator[Lab]:
        plant = Plant(make_wiring(nodes), boot="boot")
        server = HardwareServer(plant, Random(1))
        socket = tmp_path / "hardware.sock"
        await server.start(socket)
        hosted = HostedAgents(
            plant,
            controller=controller.address,
            hardware=emulator_hardware(socket),
            directory=tmp_path / "agents",
            nodes_per_agent=per_agent,
            boot="run",
        )
        hosted.start()
        wanted = -(-nodes // per_agent) if expect is None else expect
        try:
            await controller.until(lambda: len(controller.live) == wanted)
            yield Lab(plant, Emulation(plant, server.publish, hosted), hosted, controller)
        finally:
            await hosted.stop()
            await server.stop()

    return start


async def test_every_node_has_an_agent_that_says_what_its_hardware_is(start_lab: StartLab, controller) -> None:
    async with start_lab(5) as lab:
        for position in range(5):
            (hello,) = controller.hellos(f"agent-n{position}")
            (node,) = hello.nodes
            assert (hello.fabric, node.node, node.hardware_boot) == (
                "test",
                f"n{position}",
                lab.plant.boot_id(position),
            )
            assert codec.table_from(node.circuits) == (L, L)


async def test_one_agent_can_serve_several_nodes(start_lab: StartLab, controller) -> None:
    async with start_lab(5, per_agent=2):
        served = {agent: [node.node for node in controller.hellos(agent)[0].nodes] for agent in controller.live}
        assert served == {"agent-n0": ["n0", "n1"], "agent-n2": ["n2", "n3"], "agent-n4": ["n4"]}


async def test_commands_reach_the_plant_and_light_comes_back(start_lab: StartLab, controller) -> None:
    async with start_lab() as lab:
        await lab.switch("agent-n0", "n0", P1, L, generation=1)
        await lab.switch("agent-n1", "n1", L, P1, generation=1)
        assert lab.plant.table(0) == (P1, L)
        applied = [m.applied for who, m in controller.heard if who == "agent-n1" and m and m.HasField("applied")]
        assert codec.light_from(applied[0].light)[1, P1]
        await controller.until(lambda: controller.count("agent-n0", "light") == 1)


async def test_a_crashed_agent_says_nothing_its_light_stays_and_a_fresh_one_remembers(
    start_lab: StartLab, controller
) -> None:
    async with start_lab() as lab:
        await lab.switch("agent-n0", "n0", P1, L, generation=1)
        fault = await lab.fail(FaultKind.AGENT_CRASH, "n0")
        await controller.until(lambda: controller.ends("agent-n0") == 1)
        assert controller.count("agent-n0", "goodbye") == 0
        assert lab.plant.table(0) == (P1, L)
        await lab.beats("agent-n1", 3)
        assert len(controller.hellos("agent-n0")) == 1
        await lab.emulation.repair([fault.id])
        await controller.until(lambda: "agent-n0" in controller.live)
        before, after = controller.hellos("agent-n0")
        assert after.agent_boot != before.agent_boot
        assert after.highest_epoch == 1
        assert after.nodes[0].hardware_boot == before.nodes[0].hardware_boot
        assert codec.table_from(after.nodes[0].circuits) == (P1, L)


async def test_a_hung_agent_neither_reads_nor_writes_until_it_is_repaired(start_lab: StartLab, controller) -> None:
    async with start_lab() as lab:
        await lab.switch("agent-n0", "n0", P1, L, generation=1)
        fault = await lab.fail(FaultKind.AGENT_HANG, "n0")
        await lab.beats("agent-n1", 2)  # whatever was on its way has arrived
        said = [message for who, message in controller.heard if who == "agent-n0"]
        await controller.command("agent-n0", "n0", [int(L), int(L)], 2)
        await lab.beats("agent-n1", 5)
        assert [message for who, message in controller.heard if who == "agent-n0" and message is not None] == said
        assert lab.plant.table(0) == (P1, L)
        await lab.emulation.repair([fault.id])
        await lab.beats("agent-n0", 2)
        assert controller.count("agent-n0", "goodbye") == 0


async def test_a_hung_agent_can_crash(start_lab: StartLab, controller) -> None:
    async with start_lab() as lab:
        hang = await lab.fail(FaultKind.AGENT_HANG, "n0")
        crash = await lab.fail(FaultKind.AGENT_CRASH, "n0")
        await controller.until(lambda: controller.ends("agent-n0") == 1)
        assert controller.count("agent-n0", "goodbye") == 0
        await lab.emulation.repair([hang.id, crash.id])
        await controller.until(lambda: "agent-n0" in controller.live)


async def test_power_off_takes_the_agent_along_and_power_brings_it_back_on_hardware_that_booted(
    start_lab: StartLab, controller
) -> None:
    async with start_lab() as lab:
        await lab.switch("agent-n0", "n0", P1, L, generation=1)
        fault = await lab.fail(FaultKind.POWER_OFF, "n0")
        await controller.until(lambda: controller.ends("agent-n0") == 1)
        assert controller.count("agent-n0", "goodbye") == 0
        await lab.emulation.repair([fault.id])
        await controller.until(lambda: "agent-n0" in controller.live)
        before, after = controller.hellos("agent-n0")
        assert after.nodes[0].hardware_boot != before.nodes[0].hardware_boot
        assert codec.table_from(after.nodes[0].circuits) == (L, L)


async def test_an_agent_stays_down_until_the_last_fault_that_holds_it_down_is_repaired(
    start_lab: StartLab, controller
) -> None:
    async with start_lab() as lab:
        power = await lab.fail(FaultKind.POWER_OFF, "n0")
        crash = await lab.fail(FaultKind.AGENT_CRASH, "n0")
        again = await lab.fail(FaultKind.AGENT_CRASH, "n0")
        for fault in (crash, power):
            await lab.emulation.repair([fault.id])
            await lab.beats("agent-n1", 3)
            assert len(controller.hellos("agent-n0")) == 1
        await lab.emulation.repair([again.id])
        await controller.until(lambda: len(controller.hellos("agent-n0")) == 2)


async def test_an_agent_of_several_nodes_goes_on_without_the_one_that_lost_power(
    start_lab: StartLab, controller
) -> None:
    async with start_lab(4, per_agent=2) as lab:

        def spoken_of() -> set[str]:
            beats = [m.heartbeat for who, m in controller.heard if who == "agent-n0" and m and m.HasField("heartbeat")]
            return {node.node for node in beats[-1].nodes} if beats else set()

        await controller.until(lambda: spoken_of() == {"n0", "n1"})
        fault = await lab.fail(FaultKind.POWER_OFF, "n1")
        await controller.until(lambda: spoken_of() == {"n0"})
        assert "agent-n0" in controller.live
        await lab.emulation.repair([fault.id])
        await controller.until(lambda: spoken_of() == {"n0", "n1"})
        assert codec.table_from(controller.hellos("agent-n0")[-1].nodes[1].circuits) == (L, L)


async def test_an_agent_that_is_refused_is_logged_and_the_others_go_on(
    start_lab: StartLab, controller, caplog: pytest.LogCaptureFixture
) -> None:
    controller.refuse.add("agent-n2")
    with caplog.at_level(logging.ERROR):
        async with start_lab(4, expect=3) as lab:
            await lab.beats("agent-n1", 2)
            await controller.until(lambda: len(controller.hellos("agent-n2")) == 1)
    assert "agent agent-n2 ended" in caplog.text
    assert "never" in caplog.text


async def test_faults_and_repairs_that_cross_leave_the_agent_as_the_faults_say(start_lab: StartLab, controller) -> None:
    async with start_lab() as lab:
        for round_ in range(5):
            fault_id = f"crossing-{round_}"
            failing = asyncio.create_task(lab.emulation.inject(FaultRequest(FaultKind.AGENT_CRASH, "n0", id=fault_id)))
            await asyncio.sleep(0)  # the fault is open; the agent is still on its way down
            await lab.emulation.repair([fault_id])
            await failing
            await controller.until(lambda: "agent-n0" in controller.live)
            await lab.beats("agent-n0", 1)


async def test_stopping_says_goodbye_for_every_agent_at_once_and_starts_none_again(
    start_lab: StartLab, controller
) -> None:
    async with start_lab(8) as lab:
        welcomed = [f"agent-n{position}" for position in range(8)]
        await controller.until(lambda: all(controller.count(agent, "heartbeat") for agent in welcomed))
        fault = await lab.fail(FaultKind.AGENT_CRASH, "n7")
        began = time.monotonic()
        await lab.hosted.stop()
        assert time.monotonic() - began < 5
        assert [controller.count(agent, "goodbye") for agent in welcomed] == [1] * 7 + [0]
        await lab.emulation.repair([fault.id])
        assert len(controller.hellos("agent-n7")) == 1
        assert not any(task.get_name().startswith("agent-") for task in asyncio.all_tasks())
