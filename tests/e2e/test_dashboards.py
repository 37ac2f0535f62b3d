"""Every query of every panel, asked of a real Prometheus after real daemons lived through faults: all have data."""

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2
from tests.e2e.mosquitto import Mosquitto, needs_mosquitto
from tests.e2e.prometheus import needs_prometheus, run_prometheus
from tests.e2e.site import NODES, run_site

pytestmark = [pytest.mark.e2e, needs_prometheus, needs_mosquitto]

BOARDS = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
CHOSEN = {"$__rate_interval": "60s", "$__range": "60s", "$fabric": ".*", "$node": ".*"}


@asynccontextmanager
async def dcgm_exporter():
    """A page of four well GPUs for each node; its address."""
    values = {"XID_ERRORS": 0, "GPU_TEMP": 41, "CORRECTABLE_REMAPPED_ROWS": 1, "UNCORRECTABLE_REMAPPED_ROWS": 0}
    text = "".join(
        f'DCGM_FI_DEV_{name}{{gpu="{gpu}",UUID="GPU-{gpu}"}} {value}\n'
        for gpu in range(4 * NODES)
        for name, value in values.items()
    )

    async def show(_: web.Request) -> web.Response:
        return web.Response(text=text)

    application = web.Application()
    application.router.add_get("/metrics", show)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
    await runner.cleanup()


def of_exporter(url):
    return lambda node: {"dcgm": {"url": url, "devices": [4 * node + gpu for gpu in range(4)]}}


async def live(site):
    """A node dies and is bypassed, another is drained and given back, and an agent is restarted."""
    controller, emulator = site.observer.fabric, site.observer.emulator
    (ring,) = await site.observer.rings()
    mark = site.observer.last_sequence
    lost = await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=ring.nodes[1], gpu=2))
    await site.observer.until(lambda event: event.kind == "ring-active", after=mark)
    await emulator.Repair(pb.RepairRequest(id=lost.id))
    await site.observer.settled()
    (ring,) = await site.observer.rings()
    mark = site.observer.last_sequence
    await controller.Drain(fabric_pb2.DrainRequest(nodes=[ring.nodes[-1]]))
    await site.observer.until(lambda event: event.kind == "node-drained", after=mark)
    await controller.Uncordon(fabric_pb2.UncordonRequest(nodes=[ring.nodes[-1]]))
    await site.agents[1].stop()
    await site.agents[1].start()
    await site.observer.settled()


def queries():
    for file in sorted(BOARDS.glob("*.json")):
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                expression = target["expr"]
                for name, value in CHOSEN.items():
                    expression = expression.replace(name, value)
                yield f"{board['title']}, {panel['title']}, {target['refId']}", expression


@pytest.mark.timeout(300)
async def test_every_query_of_every_panel_has_data(tmp_path):
    broker = Mosquitto(tmp_path / "broker")
    await broker.start()
    async with (
        dcgm_exporter() as url,
        run_site(tmp_path / "site", tp=16, gpus=of_exporter(url), mqtt=f"mqtt://{broker.address}") as site,
    ):
        agents = [agent.addresses["metrics"] for agent in site.agents]
        async with run_prometheus(
            tmp_path / "prometheus", controllers=[site.controller.addresses["http"]], agents=agents
        ) as prometheus:
            await prometheus.until("ringlight_agent_connected == 1 and on() ringlight_settled == 1")
            await prometheus.until("ringlight_gpu_temperature_celsius and on() ringlight_module_rx_power_dbm")
            await live(site)
            await prometheus.until('ringlight_events_total{kind="node-drained"}')
            # One node is abnormal while the boards are looked at.
            dying = pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node="n0", gpu=1)
            await site.observer.emulator.Inject(dying)
            await prometheus.until('ringlight_node_abnormal{verdict="FAILED"}')
            empty = [where for where, expression in queries() if not await prometheus.query(expression)]
            assert not empty
    await broker.stop()
