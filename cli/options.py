"""Options that several commands share: addresses and their defaults.

Kept free of gRPC, so that the daemons' commands and the clients' take their defaults from one place.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import click

CONTROLLER_ADDRESS = "127.0.0.1:7400"
HTTP_ADDRESS = "127.0.0.1:7480"
EMULATOR_ADDRESS = "127.0.0.1:7500"
CONTROLLER_VARIABLE = "RINGLIGHT_CONTROLLER"
EMULATOR_VARIABLE = "RINGLIGHT_EMULATOR"

_PORT_MAX = 65_535

Result = TypeVar("Result")


class HostPort(click.ParamType[str]):
    """An address ``HOST:PORT``; port 0 lets a daemon choose one."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the form; the name is resolved by whoever connects."""
        address = str(value)
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > _PORT_MAX:
            self.fail(f"{address!r} is not an address such as {CONTROLLER_ADDRESS}", param, ctx)
        return address


HOST_PORT = HostPort()


def dialled_controller(help_text: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a daemon's command `--controller`; it receives the address that agents dial as `address`."""
    return click.option(
        "--controller",
        "address",
        type=HOST_PORT,
        envvar=CONTROLLER_VARIABLE,
        default=CONTROLLER_ADDRESS,
        show_default=True,
        show_envvar=True,
        help=help_text,
    )
