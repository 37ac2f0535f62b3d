"""Agents that are nothing but a stream: they say hello for one node each, and whatever they are told to say."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import grpc.aio

from bench.fabrics import NAME
from ringlight.fabric.circuits import EXTERNAL_PATHS, digest
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.wiring import Wiring
from ringlight.protos import codec
from ringlight.protos.channel import client_options
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

_PATIENCE = 60.0  # seconds; whoever does not answer by then never will

Call = grpc.aio.StreamStreamCall[pb.AgentMessage, pb.ControllerMessage]


class Stream:
    """One agent's stream."""

    def __init__(self, channel: grpc.aio.Channel, agent: str) -> None:
        self._agent = agent
        self._call: Call = agent_pb2_grpc.AgentServiceStub(channel).Session(timeout=10 * _PATIENCE)

    async def say(self, message: pb.AgentMessage) -> None:
        """Send a message."""
        await self._call.write(message)

    async def hear(self, kind: str) -> pb.ControllerMessage:
        """The next message that came, which must be of this kind; signs of life are passed over.

        Raises:
            UnavailableError: it is another, or the stream ended.
        """
        while True:
            message = await self._call.read()
            if not isinstance(message, pb.ControllerMessage):
                raise UnavailableError(f"the stream of {self._agent} ended: {await self._call.details()}")
            if message.WhichOneof("body") == kind:
                return message
            if message.WhichOneof("body") != "heard":
                raise UnavailableError(f"{self._agent} was told {message.WhichOneof('body')} instead of {kind}")

    async def introduce(self, hello: pb.AgentMessage) -> None:
        """Say hello and wait for the welcome."""
        await self.say(hello)
        await self.hear("welcome")

    async def leave(self) -> None:
        """Say goodbye and wait until the other side has read it, and so everything before it."""
        await self.say(pb.AgentMessage(goodbye=pb.Goodbye(reason="measured")))
        while isinstance(await self._call.read(), pb.ControllerMessage):
            pass


@asynccontextmanager
async def open_channels(address: str, count: int) -> AsyncIterator[Sequence[grpc.aio.Channel]]:
    """So many connections, each connected; closed when the block ends."""
    options = (*client_options(), ("grpc.use_local_subchannel_pool", 1))  # else they would share one
    async with AsyncExitStack() as exits:
        channels = [
            await exits.enter_async_context(grpc.aio.insecure_channel(address, options=options)) for _ in range(count)
        ]
        async with asyncio.timeout(_PATIENCE):
            await asyncio.gather(*(channel.channel_ready() for channel in channels))
        yield channels


def hello_of(wiring: Wiring, position: int) -> pb.AgentMessage:
    """What the agent of one idle node says first."""
    node = pb.NodeHello(
        node=wiring.name(position),
        hardware_boot="boot",
        inventory=codec.inventory_to(inventory_of(wiring, position)),
        circuits=codec.table_to(wiring.loopback),
        light=codec.light_to({(bundle, path): False for bundle in range(wiring.bundles) for path in EXTERNAL_PATHS}),
    )
    agent = f"agent-{node.node}"
    hello = pb.Hello(agent=agent, agent_boot="boot", protocol=1, fabric=NAME, nodes=[node], version="bench")
    return pb.AgentMessage(hello=hello)


def heartbeat_of(wiring: Wiring, position: int) -> pb.AgentMessage:
    """Its heartbeat."""
    node = pb.NodeHeartbeat(node=wiring.name(position), applied_generation=0, digest=digest(wiring.loopback))
    return pb.AgentMessage(heartbeat=pb.Heartbeat(nodes=[node]))
