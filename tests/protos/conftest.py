"""A server in this process whose one method does what the test says."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from ringlight.protos.channel import client_options, server_options
from ringlight.protos.serving import bind

Behaviour = Callable[[grpc.aio.ServicerContext[Any, Any]], Awaitable[bytes]]
Call = Callable[[Behaviour], Awaitable[bytes]]


@pytest.fixture
async def call() -> AsyncIterator[Call]:
    """Call a method that behaves as given, over a real connection."""
    behaviours: list[Behaviour] = []

    async def method(_request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        return await behaviours[-1](context)

    handler = grpc.method_handlers_generic_handler("test.Test", {"Do": grpc.unary_unary_rpc_method_handler(method)})
    server = grpc.aio.server(options=server_options())
    server.add_generic_rpc_handlers((handler,))
    address = bind(server, "127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(address, options=client_options()) as channel:
        do = channel.unary_unary("/test.Test/Do")

        async def invoke(behaviour: Behaviour) -> bytes:
            behaviours.append(behaviour)
            reply: bytes = await do(b"", timeout=30)
            return reply

        yield invoke
    await server.stop(grace=None)
