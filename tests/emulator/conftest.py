"""A controller as far as agents can tell: it answers hellos, is heard, and remembers what it heard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio
import pytest

from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

PATIENCE = 15.0  # seconds; reached only when something is broken


class FakeController(agent_pb2_grpc.AgentServiceServicer):
    """Accepts every agent.

    Attributes:
        heard: every message of every session, with the agent's id, in order of arrival. The end of a session is None.
        refuse: agent ids that are refused for good.
    """

    def __init__(self, interval: float) -> None:
        self.heard: list[tuple[str, pb.AgentMessage | None]] = []
        self.refuse: set[str] = set()
        self.live: dict[str, grpc.aio.ServicerContext[Any, Any]] = {}
        self.address = ""
        self._interval = interval
        self._writing = asyncio.Lock()
        self._news = asyncio.Event()

    async def Session(self, _requests: object, context: Any) -> None:  # noqa: N802 - the name of the RPC
        hello = await context.read()
        agent = hello.hello.agent
        self._hear(agent, hello)
        if agent in self.refuse:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "never")
        welcome = pb.Welcome(session="s", epoch=1, heartbeat_interval=self._interval)
        await self._write(context, pb.ControllerMessage(welcome=welcome))
        self.live[agent] = context
        self._news.set()
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                if message.WhichOneof("body") == "heartbeat":
                    await self._write(context, pb.ControllerMessage(heard=pb.Heard(epoch=1)))
                self._hear(agent, message)
        finally:
            if self.live[agent] is context:
                del self.live[agent]
            self._hear(agent, None)

    async def command(self, agent: str, node: str, paths: list[int], generation: int) -> None:
        table = pb.SetCircuits(epoch=1, generation=generation, transaction=f"t{generation}", node=node)
        table.table.paths.extend(paths)
        await self._write(self.live[agent], pb.ControllerMessage(set_circuits=table))

    async def until(self, satisfied: Callable[[], bool]) -> None:
        """Wait until something is true that depends on what was heard."""
        async with asyncio.timeout(PATIENCE):
            while not satisfied():
                self._news.clear()
                await self._news.wait()

    def count(self, agent: str, kind: str) -> int:
        """Messages of a kind that an agent sent in all its sessions."""
        return sum(1 for who, message in self.heard if who == agent and message and message.WhichOneof("body") == kind)

    def hellos(self, agent: str) -> list[pb.Hello]:
        return [m.hello for who, m in self.heard if who == agent and m and m.WhichOneof("body") == "hello"]

    def ends(self, agent: str) -> int:
        """Sessions of an agent that are over."""
        return sum(1 for who, message in self.heard if who == agent and message is None)

    async def _write(self, context: Any, message: pb.ControllerMessage) -> None:
        """One at a time: gRPC refuses two writes at once on a stream."""
        async with self._writing:
            await context.write(message)

    def _hear(self, agent: str, message: pb.AgentMessage | None) -> None:
        self.heard.append((agent, message))
        self._news.set()


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    server = grpc.aio.server()
    fake = FakeController(interval=0.2)  # three of these may pass in silence, also on a loaded machine
    agent_pb2_grpc.add_AgentServiceServicer_to_server(fake, server)
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield fake
    await server.stop(None)
