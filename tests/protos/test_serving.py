"""Addresses, listening, health and reflection."""

import contextlib
import socket

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ringlight.fabric.errors import InvalidError
from ringlight.protos.channel import client_options, server_options
from ringlight.protos.serving import add_health_and_reflection, bind, set_serving, split_address

SERVICE = "ringlight.v1.FabricService"


@pytest.fixture
async def make_server():
    async with contextlib.AsyncExitStack() as stack:

        def make() -> grpc.aio.Server:
            server = grpc.aio.server(options=server_options())
            stack.push_async_callback(server.stop, None)
            return server

        yield make


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("127.0.0.1:7400", ("127.0.0.1", 7400)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:65535", ("::1", 65535)),
        ("[::]:80", ("::", 80)),
        ("[localhost]:80", ("localhost", 80)),
    ],
)
def test_an_address_is_a_host_and_a_port(address, parts):
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "address",
    ["", "7400", "localhost", "localhost:", ":7400", "[]:7400", "localhost:http", "localhost:-1", "localhost:65536",
     "localhost:٣", "::1:7400", "[::1:7400", "::1]:7400", "[::1]"],
)  # fmt: skip
async def test_text_that_is_no_address(address, make_server):
    for read in (split_address, lambda text: bind(make_server(), text)):
        with pytest.raises(InvalidError) as caught:
            read(address)
        assert str(caught.value) == f"{address!r} is not an address"
        assert "HOST:PORT" in caught.value.hint


async def test_the_port_the_system_chose_is_told(make_server):
    server = make_server()
    address = bind(server, "127.0.0.1:0")
    host, port = split_address(address)
    assert host == "127.0.0.1"
    assert port > 0
    await server.start()
    with socket.create_connection((host, port), timeout=10):
        pass


async def test_an_ipv6_address_is_told_in_the_form_it_is_dialled(make_server):
    with contextlib.closing(socket.socket(socket.AF_INET6)) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 on this machine")
    server = make_server()
    address = bind(server, "[::1]:0")
    assert address.startswith("[::1]:")
    add_health_and_reflection(server, [SERVICE])
    await server.start()
    async with grpc.aio.insecure_channel(address, options=client_options()) as channel:
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=30)


async def test_an_address_that_is_taken_is_refused_with_a_hint(make_server):
    first = make_server()
    address = bind(first, "127.0.0.1:0")
    await first.start()
    with pytest.raises(InvalidError, match=f"^cannot listen on {address}$") as caught:
        bind(make_server(), address)
    assert "another one running" in caught.value.hint


async def test_an_address_of_another_machine_is_refused(make_server):
    with pytest.raises(InvalidError, match=r"^cannot listen on 192\.0\.2\.1:7400$"):
        bind(make_server(), "192.0.2.1:7400")


async def test_health_follows_what_is_set(make_server):
    server = make_server()
    servicer = add_health_and_reflection(server, [SERVICE])
    address = bind(server, "127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(address, options=client_options()) as channel:
        stub = health_pb2_grpc.HealthStub(channel)

        async def status(service: str) -> int:
            reply = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)
            return reply.status

        for serving, expected in (
            (True, health_pb2.HealthCheckResponse.SERVING),
            (False, health_pb2.HealthCheckResponse.NOT_SERVING),
            (True, health_pb2.HealthCheckResponse.SERVING),
        ):
            await set_serving(servicer, [SERVICE], serving=serving)
            assert [await status(""), await status(SERVICE)] == [expected, expected]


async def test_reflection_lists_our_services(make_server):
    server = make_server()
    add_health_and_reflection(server, [SERVICE])
    address = bind(server, "127.0.0.1:0")
    await server.start()

    async def requests():
        yield reflection_pb2.ServerReflectionRequest(list_services="*")

    async with grpc.aio.insecure_channel(address, options=client_options()) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        [reply] = [reply async for reply in stub.ServerReflectionInfo(requests(), timeout=30)]
    assert {service.name for service in reply.list_services_response.service} >= {SERVICE, "grpc.health.v1.Health"}
