"""What every gRPC server of ours has in common: its address, health and reflection."""

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ringlight.fabric.errors import InvalidError

_PORT_MAX = 65_535


def split_address(address: str) -> tuple[str, int]:
    """Read ``HOST:PORT``, or ``[HOST]:PORT`` for an IPv6 address; port 0 lets the system choose.

    Raises:
        InvalidError: it is not of that form.
    """
    host, _, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    # gRPC takes the port modulo 65536, and the last part of a bare IPv6 address for the port.
    is_host = bool(bare) and host in ((f"[{bare}]",) if ":" in bare else (bare, f"[{bare}]"))
    if not is_host or not (port.isascii() and port.isdecimal()) or int(port) > _PORT_MAX:
        raise InvalidError(
            f"{address!r} is not an address", hint="write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400"
        )
    return bare, int(port)


def bind(server: grpc.aio.Server, address: str) -> str:
    """Listen on ``HOST:PORT`` without transport security; returns the address with the port that was bound.

    Raises:
        InvalidError: the address cannot be listened on.
    """
    host, _ = split_address(address)
    shown = f"[{host}]" if ":" in host else host
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        hint = "is another one running there? choose another address"
        raise InvalidError(f"cannot listen on {address}", hint=hint) from error
    return f"{shown}:{port}"


def add_health_and_reflection(server: grpc.aio.Server, services: list[str]) -> health.aio.HealthServicer:
    """Serve health and reflection for these services; `set_serving` says how they are."""
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    reflection.enable_server_reflection([*services, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    return servicer


async def set_serving(servicer: health.aio.HealthServicer, services: list[str], *, serving: bool) -> None:
    """Answer health checks of these services, and of the server as a whole, so from now on."""
    value = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
    for service in ["", *services]:
        await servicer.set(service, value)
