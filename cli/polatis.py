"""`ringlight emulator polatis`: run an emulated optical matrix switch."""

from typing import Any

import click

from ringlight.cli.daemons import announce, daemon_options, run_daemon
from ringlight.cli.options import HOST_PORT

_MOST_PORTS = 1024  # a side
_LISTEN = "127.0.0.1:5025"


class Size(click.ParamType[tuple[int, int]]):
    """Ingresses and egresses, ``16x16``."""

    name = "NxM"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Check the form."""
        if isinstance(value, tuple):
            return value
        numbers = str(value).lower().split("x")
        if len(numbers) != 2 or not all(n.isdecimal() and 1 <= int(n) <= _MOST_PORTS for n in numbers):  # noqa: PLR2004 - sides
            self.fail(f"{value!r} is not a size such as 16x16, with at most {_MOST_PORTS} ports a side", param, ctx)
        return int(numbers[0]), int(numbers[1])


@click.command("polatis")
@click.option("--size", type=Size(), default="16x16", show_default=True, help="Ingresses and egresses.")
@click.option("--listen", type=HOST_PORT, default=_LISTEN, show_default=True, help="SCPI over TCP.")
@click.option("--monitors/--no-monitors", default=True, show_default=True, help="Whether it can measure power.")
@click.option(
    "--boot-mode",
    type=click.Choice(["DARK", "REST", "AUT"], case_sensitive=False),
    default="AUT",
    show_default=True,
    help="What becomes of the cross-connects when it loses power.",
)
@click.option("--serial", default="EMULATED", show_default=True, help="Serial number that it tells.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of losses and of the time that moves take.")
@daemon_options
def polatis(
    *,
    size: tuple[int, int],
    listen: str,
    monitors: bool,
    boot_mode: str,
    serial: str,
    seed: int,
    log_level: str,
    until_stdin_closes: bool,
) -> None:
    """Emulate an optical matrix switch of the Polatis kind, for any SCPI client.

    A transceiver sends light into each of its ingresses. Prints one line on standard output when it is ready, and logs
    to standard error. What breaks it and mends it is in docs/polatis.md.
    """
    from ringlight.emulator.polatis.daemon import run_polatis  # noqa: PLC0415  # not for the other commands

    daemon = run_polatis(
        inputs=size[0],
        outputs=size[1],
        monitors=monitors,
        boot_mode=boot_mode,
        serial=serial,
        listen=listen,
        seed=seed,
        ready=announce,
    )
    run_daemon(daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)
