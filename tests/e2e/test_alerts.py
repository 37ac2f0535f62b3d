"""The shipped alerts over real daemons and emulated modules: those that must fire do, and no other."""

import asyncio

import pytest

from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2
from tests.e2e.prometheus import needs_prometheus, run_prometheus
from tests.e2e.site import run_site

pytestmark = [pytest.mark.e2e, needs_prometheus]

HURRY = 120.0  # an hour takes 30 seconds
QUIET = 8.0  # seconds: longer than any waiting period of an alert but that of a pause


@pytest.mark.timeout(300)
async def test_what_must_fire_fires_and_nothing_else(tmp_path):
    async with run_site(tmp_path / "site", tp=16) as site:
        controller, emulator = site.observer.fabric, site.observer.emulator
        agents = [agent.addresses["metrics"] for agent in site.agents]
        async with run_prometheus(
            tmp_path / "prometheus", controllers=[site.controller.addresses["http"]], agents=agents, hurry=HURRY
        ) as prometheus:
            await prometheus.until("ringlight_agent_connected == 1 and on() ringlight_settled == 1")
            await asyncio.sleep(QUIET)  # the test's own parameter: so long nothing may fire
            assert await prometheus.fired_within(QUIET) == set()

            # A node of the ring dies and is bypassed. Seven are left, and a ring has four.
            (ring,) = await site.observer.rings()
            lost = await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=ring.nodes[1], gpu=2))
            await prometheus.until_firing("RinglightNodeFailed", "RinglightWaste")
            await emulator.Repair(pb.RepairRequest(id=lost.id))
            await prometheus.until_firing()

            # An agent dies, and with it the word of four nodes; light stays.
            mark = site.observer.last_sequence
            await site.agents[1].kill()
            await prometheus.until_firing("RinglightAgentAbsent", "RinglightNodesSilent")
            events = (await controller.ListEvents(fabric_pb2.ListEventsRequest(after=mark))).events
            assert not [event for event in events if event.kind.startswith("ring-")]
            await site.agents[1].start()
            await prometheus.until_firing()

            # Paused, a ring breaks and is left so.
            await controller.Pause(fabric_pb2.PauseRequest(reason="a test"))
            (ring,) = await site.observer.rings()
            lost = await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=ring.nodes[0], gpu=0))
            await prometheus.until_firing(
                "RinglightNodeFailed", "RinglightRingBroken", "RinglightPausedTooLong", "RinglightWaste"
            )
            await emulator.Repair(pb.RepairRequest(id=lost.id))
            await controller.Resume(fabric_pb2.ResumeRequest())
            await prometheus.until_firing()

            # A module gets hot.
            hot = pb.InjectRequest(
                kind=pb.FAULT_KIND_MODULE_FAULT, node=ring.nodes[0], bundle=0, module=0, how="hot", amount=35.0
            )
            hot_fault = await emulator.Inject(hot)
            await prometheus.until_firing("RinglightModuleHot")
            await emulator.Repair(pb.RepairRequest(id=hot_fault.id))
            await prometheus.until_firing()

            # The controller dies. It comes back, and finds everything as it was.
            await site.controller.kill()
            await prometheus.until_firing("RinglightControllerAbsent", "RinglightAgentDisconnected")
            await site.controller.start()
            await prometheus.until("ringlight_agent_connected == 1 and on() ringlight_settled == 1")
            await prometheus.until_firing()
