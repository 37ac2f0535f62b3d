"""Agents by their files, over modules on I2C buses."""

import pytest

from ringlight.protos.v1 import emulator_pb2
from tests.e2e.site import BUNDLES, MODULES, NODES, run_site

pytestmark = pytest.mark.e2e


async def test_rings_over_modules_heal_and_the_page_tells_of_it(tmp_path):
    async with run_site(tmp_path) as running:
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
    async with run_site(tmp_path) as running:
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
