"""A controller in this process: the real engine and services on a real port, and agents that are raw streams."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import grpc.aio
import pytest

from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.northbound import FabricService
from ringlight.controller.adapters.southbound import AgentService
from ringlight.controller.engine.engine import Engine
from ringlight.controller.health.settings import HeartbeatSettings
from ringlight.controller.runtime import Runtime
from ringlight.controller.settings import SessionSettings, Settings
from ringlight.fabric.circuits import all_loopback
from ringlight.fabric.inventory import inventory_of
from ringlight.protos import codec
from ringlight.protos.channel import client_options, server_options
from ringlight.protos.serving import add_health_and_reflection, bind, set_serving
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc, circuits_pb2, fabric_pb2_grpc

PATIENCE = 30.0  # seconds no healthy test ever waits for


class Agent:
    """One session as an agent's end of a raw stream."""

    def __init__(self, call, wiring, number):
        self.call = call
        self.node = f"n{number}"
        self.name = f"agent-{number}"
        self._wiring = wiring
        self._number = number

    def hello(self, **changes):
        position = self._wiring.position(self.node)
        node = pb.NodeHello(
            node=self.node,
            hardware_boot="power-1",
            inventory=codec.inventory_to(inventory_of(self._wiring, position)),
            circuits=codec.table_to(all_loopback(self._wiring.bundles)),
        )
        hello = {
            "agent": self.name,
            "agent_boot": "boot-1",
            "protocol": 1,
            "fabric": self._wiring.spec.name,
            "nodes": [node],
        }
        return pb.Hello(**{**hello, **changes})

    async def say(self, **body):
        await self.call.write(pb.AgentMessage(**body))

    async def read(self):
        """The next message; its end is `grpc.aio.EOF`."""
        async with asyncio.timeout(PATIENCE):
            return await self.call.read()

    async def next(self, kind):
        """The next message of a kind; others are passed over."""
        while (message := await self.read()) is not grpc.aio.EOF:
            if message.WhichOneof("body") == kind:
                return getattr(message, kind)
        raise AssertionError(f"the session ended before any {kind} came")

    async def enter(self, **changes):
        """Say hello and be welcomed."""
        await self.say(hello=self.hello(**changes))
        return await self.next("welcome")

    async def beat(self):
        await self.say(heartbeat=pb.Heartbeat(nodes=[pb.NodeHeartbeat(node=self.node)]))

    async def apply(self, command):
        """Answer a command as if it was done, with light at every port."""
        node = self.node
        light = [
            circuits_pb2.PortLight(bundle=port.bundle, path=int(port.path), lit=True)
            for port in self._wiring.ports(self._wiring.position(node))
        ]
        applied = pb.Applied(
            node=node,
            transaction=command.transaction,
            epoch=command.epoch,
            generation=command.generation,
            code=pb.APPLY_CODE_APPLIED,
            circuits=command.table,
            light=light,
            bundles=[
                pb.BundleResult(bundle=bundle, code=pb.BUNDLE_CODE_SWITCHED) for bundle in range(self._wiring.bundles)
            ],
        )
        await self.say(applied=applied)

    async def ended(self):
        """Wait for the end of the session; its error."""
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await self._read_on()
        return told.value

    async def _read_on(self):
        while await self.read() is not grpc.aio.EOF:
            pass


class Running:
    """A controller that serves, and ways to reach it."""

    def __init__(self, runtime, service, server, address):
        self.runtime = runtime
        self.service = service
        self.server = server
        self.address = address
        self.events = []
        self._exits = AsyncExitStack()
        runtime.observers.append(self.events.append)

    @property
    def state(self):
        return self.runtime.engine.state

    async def channel(self):
        return await self._exits.enter_async_context(grpc.aio.insecure_channel(self.address, options=client_options()))

    async def dial(self, number=0):
        """A new session of the agent of a node, on a connection of its own. It said nothing yet."""
        channel = await self.channel()
        return Agent(agent_pb2_grpc.AgentServiceStub(channel).Session(), self.state.wiring, number)

    async def fabric(self):
        """The northbound stub."""
        return fabric_pb2_grpc.FabricServiceStub(await self.channel())

    async def told(self, kind, subject=""):
        """Wait until an event was published; the first such one."""

        def found():
            return [event for event in self.events if event.kind == kind and subject in ("", event.subject)]

        async with asyncio.timeout(PATIENCE):
            while not found():  # noqa: ASYNC110 - what is awaited is a plain list that observers fill
                await asyncio.sleep(0.001)
        return found()[0]

    async def close(self):
        await self._exits.aclose()


@pytest.fixture
def serve(make_wiring, store):
    """Starts a controller: `async with serve() as controller`. A heartbeat interval that no slow machine misses."""

    @asynccontextmanager
    async def start(*, nodes=8, interval=60.0, clock=None, sessions=None):
        settings = Settings(heartbeat=HeartbeatSettings(interval=interval), sessions=sessions or SessionSettings())
        engine = Engine(make_wiring(nodes), settings)
        runtime = Runtime(engine, store, clock or SystemClock())
        server = grpc.aio.server(options=server_options())
        service = AgentService(runtime)
        agent_pb2_grpc.add_AgentServiceServicer_to_server(service, server)
        fabric_pb2_grpc.add_FabricServiceServicer_to_server(FabricService(runtime), server)
        services = ["ringlight.v1.AgentService", "ringlight.v1.FabricService"]
        health = add_health_and_reflection(server, services)
        address = bind(server, "127.0.0.1:0")
        runtime.feed(await store.open())
        await server.start()
        await set_serving(health, services, serving=True)
        running = Running(runtime, service, server, address)
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(runtime.write_forever()), tasks.create_task(service.watch())]
            try:
                yield running
            finally:
                await running.close()
                await server.stop(None)
                for task in owned:
                    task.cancel()
        await runtime.stop()

    return start
