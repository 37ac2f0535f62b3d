"""The stream to the controller, as small as an agent needs it: so that an emulator can put a gate in between."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Protocol

import grpc.aio

from ringlight.protos.channel import client_options
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

Call = grpc.aio.StreamStreamCall[pb.AgentMessage, pb.ControllerMessage]


class Link(Protocol):
    """One stream. At most one `read` and one `write` at a time."""

    async def read(self) -> pb.ControllerMessage | None:
        """The next message; None when the controller ended the stream in order. Raises grpc.aio.AioRpcError."""

    async def write(self, message: pb.AgentMessage) -> None:
        """Send a message. Raises grpc.aio.AioRpcError."""

    async def finish(self) -> None:
        """Say that nothing more will be written."""

    async def close(self) -> None:
        """End the stream at once."""


Dial = Callable[[], Awaitable[Link]]


class GrpcLink:
    """A stream over a channel of its own."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._call: Call = agent_pb2_grpc.AgentServiceStub(channel).Session()

    async def read(self) -> pb.ControllerMessage | None:
        """The next message."""
        message = await self._call.read()
        return message if isinstance(message, pb.ControllerMessage) else None

    async def write(self, message: pb.AgentMessage) -> None:
        """Send a message."""
        try:
            await self._call.write(message)
        except asyncio.InvalidStateError:  # the call has ended meanwhile
            raise await self._end() from None

    async def _end(self) -> grpc.aio.AioRpcError:
        """How the call ended, as an error."""
        call = self._call
        return grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )

    async def finish(self) -> None:
        """Half-close; nothing, on a stream that ended already."""
        with contextlib.suppress(asyncio.InvalidStateError):
            await self._call.done_writing()

    async def close(self) -> None:
        """Cancel the call and close its channel."""
        self._call.cancel()
        await self._channel.close()


def dial_controller(address: str) -> Dial:
    """Dials a controller at ``HOST:PORT``. Channels of one process to one address share a connection."""

    async def dial() -> Link:
        return GrpcLink(grpc.aio.insecure_channel(address, options=client_options()))

    return dial
