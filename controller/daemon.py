"""The controller process: wires engine, store, gRPC and HTTP together, and stops them in order.

Stopping changes no circuit: sessions are ended, what is unwritten is written, and agents keep what they have.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import SystemRandom

import grpc.aio

from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.garbage import KnownToStay
from ringlight.controller.adapters.loop_lag import LoopLag
from ringlight.controller.adapters.mqtt import ControllerOnMqtt
from ringlight.controller.adapters.northbound import FabricService
from ringlight.controller.adapters.page.site import Page
from ringlight.controller.adapters.probe import ProbeHook
from ringlight.controller.adapters.prometheus import Metrics
from ringlight.controller.adapters.southbound import AgentService
from ringlight.controller.adapters.sqlite import SqliteStore
from ringlight.controller.engine.engine import Engine
from ringlight.controller.metrics.census import take_census
from ringlight.controller.metrics.samples import Process
from ringlight.controller.runtime import Runtime
from ringlight.controller.settings import Settings
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import Wiring
from ringlight.protos.bus.broker import Broker
from ringlight.protos.channel import server_options
from ringlight.protos.http_face import HttpFace, serve_http
from ringlight.protos.serving import add_health_and_reflection, bind, set_serving
from ringlight.protos.v1 import agent_pb2, agent_pb2_grpc, fabric_pb2, fabric_pb2_grpc

_log = logging.getLogger(__name__)

_STOP_GRACE = 1.0  # seconds for calls in progress to end by themselves
_SERVICES = [
    agent_pb2.DESCRIPTOR.services_by_name["AgentService"].full_name,
    fabric_pb2.DESCRIPTOR.services_by_name["FabricService"].full_name,
]


async def run_controller(
    *,
    fabric: FabricSpec,
    settings: Settings,
    state_dir: Path,
    listen: str,
    http: str,
    broker: Broker | None = None,
    ready: Callable[[str], None],
) -> None:
    """Run the controller until cancelled; cancellation is the orderly way to stop it.

    Args:
        fabric: what is controlled.
        settings: how.
        state_dir: where the store is; made when missing.
        listen: ``HOST:PORT`` for agents and operators.
        http: ``HOST:PORT`` for the page, metrics and health.
        broker: where events and jobs are told, and heartbeats heard, over MQTT; None for nowhere.
        ready: called once with one line that names both addresses.

    Raises:
        RinglightError: an address or the store cannot be used.
    """
    engine = Engine(Wiring(fabric), settings)
    clock = SystemClock()
    kept = settings.store
    store = SqliteStore(state_dir, clock, events_kept=kept.events_kept, block=kept.generation_block)
    runtime = Runtime(engine, store, clock)
    runtime.observers.append(KnownToStay().take_event)
    service = AgentService(runtime)
    mqtt = ControllerOnMqtt(broker, runtime, service, SystemRandom()) if broker is not None else None
    lag = LoopLag(clock.monotonic)

    def process() -> Process:
        bus = mqtt.report() if mqtt is not None else None
        return Process(not runtime.store_trouble, runtime.events_dropped, lag.worst, bus)

    metrics = Metrics(lambda: take_census(engine.state, runtime.now), runtime.tally, process)
    hint = "is another controller running? choose another --http address"
    face = HttpFace(metrics.render, runtime.why_not_ready, hint=hint, more=Page(runtime).install)
    probe = ProbeHook(settings.probe, runtime.feed)
    runtime.probe = probe.ask
    async with _open_store(runtime), asyncio.TaskGroup() as tasks:
        owned = [
            tasks.create_task(runtime.write_forever(), name="store writer"),
            tasks.create_task(probe.run_forever(), name="probe"),
            tasks.create_task(lag.run_forever(), name="loop lag"),
        ]
        try:
            async with serve_http(face, http) as http_address, _serve_grpc(runtime, service, listen) as grpc_address:
                owned.append(tasks.create_task(service.watch(), name="session watch"))
                if mqtt is not None:
                    owned.append(tasks.create_task(mqtt.run_forever(), name="MQTT"))
                ready(f"ready grpc={grpc_address} http={http_address}")
                await asyncio.Event().wait()
        finally:
            for task in owned:
                task.cancel()


@asynccontextmanager
async def _open_store(runtime: Runtime) -> AsyncIterator[None]:
    try:
        runtime.feed(await runtime.store.open())
        yield
        # Not reached: the daemon runs until it is cancelled.
    finally:
        await runtime.stop()
        await runtime.store.close()


@asynccontextmanager
async def _serve_grpc(runtime: Runtime, service: AgentService, address: str) -> AsyncIterator[str]:
    server = grpc.aio.server(options=server_options())
    agent_pb2_grpc.add_AgentServiceServicer_to_server(service, server)
    fabric_pb2_grpc.add_FabricServiceServicer_to_server(FabricService(runtime), server)
    health = add_health_and_reflection(server, _SERVICES)
    bound = bind(server, address)
    await server.start()
    await set_serving(health, _SERVICES, serving=True)
    try:
        yield bound
    finally:
        await set_serving(health, _SERVICES, serving=False)
        service.close_all("the controller is stopping")
        await server.stop(_STOP_GRACE)
        _log.info("stopped; every circuit stays as it is")
