"""Connections to the controller and to the emulator, as the commands use them.

Every request has a time limit; a stream has none, it lasts as long as its reader. A failed call is raised as the
`RinglightError` it stands for. Nothing is retried: a person or a script decides that.
"""

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import click
import grpc
import grpc.aio

from ringlight.cli.options import (
    CONTROLLER_ADDRESS,
    CONTROLLER_VARIABLE,
    EMULATOR_ADDRESS,
    EMULATOR_VARIABLE,
    HOST_PORT,
)
from ringlight.fabric.errors import ErrorCode, RinglightError, UnavailableError
from ringlight.protos.status import HINT_KEY, error_of
from ringlight.protos.v1.emulator_pb2_grpc import EmulatorServiceStub
from ringlight.protos.v1.fabric_pb2 import GetFabricRequest, WatchRequest
from ringlight.protos.v1.fabric_pb2_grpc import FabricServiceStub

if TYPE_CHECKING:  # the generated modules have these for the type checker only
    from ringlight.protos.v1.emulator_pb2_grpc import EmulatorServiceAsyncStub
    from ringlight.protos.v1.fabric_pb2_grpc import FabricServiceAsyncStub

TIME_LIMIT = 10.0  # seconds a request may take

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),  # ten thousand nodes in one reply
    ("grpc.enable_http_proxy", 0),  # the fabric's own network is not reached through a web proxy
)

Request = TypeVar("Request")
Reply = TypeVar("Reply")
Stub = TypeVar("Stub")


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a command asks.

    Attributes:
        role: ``controller`` or ``emulator``; also the option that gives its address.
        address: ``HOST:PORT``.
        timeout: seconds a request may take.
    """

    role: str
    address: str
    timeout: float = TIME_LIMIT

    def error(self, call_error: grpc.aio.AioRpcError) -> RinglightError:
        """What a failed call to this peer stands for."""
        error = error_of(call_error, peer=f"the {self.role} at {self.address}")
        if error.code is ErrorCode.UNAVAILABLE and HINT_KEY not in dict(call_error.trailing_metadata() or ()):
            hint = f"is it running? Give its address with --{self.role} or RINGLIGHT_{self.role.upper()}"
            return UnavailableError(str(error), hint=hint)
        return error


@dataclass(frozen=True, slots=True)
class Connection(Generic[Stub]):
    """An open channel to a peer, and the stub of its service."""

    peer: Peer
    stub: Stub

    async def call(self, method: "grpc.aio.UnaryUnaryMultiCallable[Request, Reply]", request: Request) -> Reply:
        """Make one request.

        Raises:
            RinglightError: what the peer answered, or that it did not.
        """
        try:
            return await method(request, timeout=self.peer.timeout)
        except grpc.aio.AioRpcError as call_error:
            raise self.peer.error(call_error) from call_error

    async def stream(
        self, method: "grpc.aio.UnaryStreamMultiCallable[Request, Reply]", request: Request
    ) -> AsyncGenerator[Reply]:
        """Read a stream until its reader is done with it.

        Raises:
            RinglightError: the stream broke.
            UnavailableError: the peer ended it.
        """
        try:
            async for reply in method(request):
                yield reply
        except grpc.aio.AioRpcError as call_error:
            raise self.peer.error(call_error) from call_error
        raise UnavailableError(
            f"the {self.peer.role} at {self.peer.address} ended the stream", hint="was it stopped? Run this again"
        )


ControllerConnection: TypeAlias = "Connection[FabricServiceAsyncStub]"
EmulatorConnection: TypeAlias = "Connection[EmulatorServiceAsyncStub]"


@asynccontextmanager
async def to_controller(peer: Peer) -> AsyncIterator[ControllerConnection]:
    """Connect to a controller; the first request finds out whether it is there."""
    async with grpc.aio.insecure_channel(peer.address, options=_CHANNEL_OPTIONS) as channel:
        yield Connection(peer, FabricServiceStub(channel))


@asynccontextmanager
async def to_emulator(peer: Peer) -> AsyncIterator[EmulatorConnection]:
    """Connect to an emulator; the first request finds out whether it is there."""
    async with grpc.aio.insecure_channel(peer.address, options=_CHANNEL_OPTIONS) as channel:
        yield Connection(peer, EmulatorServiceStub(channel))


async def moments(controller: ControllerConnection) -> AsyncGenerator[None]:
    """Yield now, and again each time something has happened since.

    The sequence number is taken before each yield, so what happens while the caller looks makes it look again, and
    a burst of events that one look has already seen does not.
    """
    seen = await _last_event(controller)
    yield
    async with aclosing(controller.stream(controller.stub.Watch, WatchRequest(after=seen))) as replies:
        async for reply in replies:
            if reply.WhichOneof("body") == "event" and reply.event.sequence > seen:
                seen = max(reply.event.sequence, await _last_event(controller))
                yield


async def _last_event(controller: ControllerConnection) -> int:
    return (await controller.call(controller.stub.GetFabric, GetFabricRequest())).last_event


def controller_options(command: Callable[..., Reply]) -> Callable[..., Reply]:
    """Give a command `--controller` and `--timeout`; it receives them as `peer`."""
    return _peer_options("controller", CONTROLLER_ADDRESS, CONTROLLER_VARIABLE, command)


def emulator_options(command: Callable[..., Reply]) -> Callable[..., Reply]:
    """Give a command `--emulator` and `--timeout`; it receives them as `peer`."""
    return _peer_options("emulator", EMULATOR_ADDRESS, EMULATOR_VARIABLE, command)


def _peer_options(role: str, default: str, variable: str, command: Callable[..., Reply]) -> Callable[..., Reply]:
    @click.option(
        f"--{role}",
        "address",
        type=HOST_PORT,
        envvar=variable,
        default=default,
        show_default=True,
        show_envvar=True,
        help=f"Address of the {role}.",
    )
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=TIME_LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="Time limit of a request.",
    )
    @functools.wraps(command)
    def with_peer(*args: Any, address: str, timeout: float, **kwargs: Any) -> Reply:
        return command(*args, peer=Peer(role, address, timeout), **kwargs)

    return with_peer
