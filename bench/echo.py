"""The floor of everything that goes over gRPC: a server that speaks the southbound protocol and decides nothing.

It answers a hello with a welcome and reads every other message. A health report it passes on at once, as one command
to each agent of another name than `REPORTER`; when all of them have answered, it confirms to the reporter, with the
seconds between as the transaction's name. That is the way a fault takes through the controller, without a decision,
a plan or hardware. Run as a process of its own (`python -m bench.echo`), as the controller is, until its input closes.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc.aio

from ringlight.fabric.errors import UnavailableError
from ringlight.protos.channel import server_options
from ringlight.protos.serving import bind
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

REPORTER = "reporter"
_READY_SECONDS = 30.0
_STOP_SECONDS = 10.0

Context = grpc.aio.ServicerContext[pb.AgentMessage, pb.ControllerMessage]


class _Echo(agent_pb2_grpc.AgentServiceServicer):
    """Streams by agent, and the one round that may be under way."""

    def __init__(self) -> None:
        self._streams: dict[str, Context] = {}
        self._began = 0.0
        self._owing = 0

    async def Session(self, request_iterator: AsyncIterator[pb.AgentMessage], context: Context) -> None:  # type: ignore[override]  # noqa: N802  # replies are written, not yielded; gRPC's name
        """One stream, from hello to end."""
        agent = ""
        async for message in request_iterator:
            match message.WhichOneof("body"):
                case "hello":
                    agent = message.hello.agent
                    self._streams[agent] = context
                    await context.write(pb.ControllerMessage(welcome=pb.Welcome(epoch=1, heartbeat_interval=60)))
                case "health":
                    await self._pass_on(message.health.node)
                case "applied":
                    await self._count()
                case "goodbye":
                    break
                case _:
                    pass
        self._streams.pop(agent, None)

    async def _pass_on(self, node: str) -> None:
        self._began = time.perf_counter()
        others = [stream for agent, stream in self._streams.items() if agent != REPORTER]
        self._owing = len(others)
        command = pb.ControllerMessage(set_circuits=pb.SetCircuits(epoch=1, generation=1, transaction="g1", node=node))
        await asyncio.gather(*(stream.write(command) for stream in others))

    async def _count(self) -> None:
        self._owing -= 1
        if self._owing == 0:
            seconds = time.perf_counter() - self._began
            confirm = pb.Confirm(epoch=1, transaction=repr(seconds))
            await self._streams[REPORTER].write(pb.ControllerMessage(confirm=confirm))


@dataclass(frozen=True, slots=True)
class EchoServer:
    """A running echo server."""

    address: str
    pid: int


@asynccontextmanager
async def run_echo() -> AsyncIterator["EchoServer"]:
    """Run the echo server as a child process until the block ends; gives where it is.

    Raises:
        UnavailableError: it did not start.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.echo",
        cwd=Path(__file__).parent.parent,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        if process.stdin is None or process.stdout is None:
            raise UnavailableError("the echo server has no pipes", hint="see standard error")
        line = await asyncio.wait_for(process.stdout.readline(), _READY_SECONDS)
        if not line:
            raise UnavailableError("the echo server did not start", hint="see standard error")
        yield EchoServer(line.decode().strip(), process.pid)
        process.stdin.close()
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _serve() -> None:
    server = grpc.aio.server(options=server_options())
    agent_pb2_grpc.add_AgentServiceServicer_to_server(_Echo(), server)
    address = bind(server, "127.0.0.1:0")
    await server.start()
    print(address, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(_serve())
