"""`ringlight maintenance`: take nodes out of their rings for a time, in which nothing they do counts."""

import re
from typing import Any

import click

from ringlight.cli.client import Peer, controller_options
from ringlight.cli.drain import take_out, take_out_options
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, output_option
from ringlight.protos.v1 import fabric_pb2 as pb

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class _Span(click.ParamType[float]):
    """A span of time such as ``90s``, ``30m``, ``2h`` or ``1d``."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """In seconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", str(value))
        if match is None or not float(match[1]):
            self.fail(f"{str(value)!r} is not a time such as 90s, 30m, 2h or 1d", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


@click.command()
@controller_options
@output_option
@click.option("--for", "seconds", type=_Span(), required=True, help="How long, such as 90s, 30m, 2h or 1d.")
@take_out_options
def maintenance(
    peer: Peer,
    output: OutputForm,
    *,
    nodes: tuple[str, ...],
    seconds: float,
    yes: bool,
    wait: float | None,
    **more: Any,
) -> ExitCode:
    """Take nodes out of their rings for a time.

    As `ringlight drain`, but the nodes serve again by themselves when the time is over, and whatever they do meanwhile
    (restarts, power cycles, faults) does not count against them. Asked again, the time begins anew;
    `ringlight uncordon` ends it early.
    """
    request = pb.DrainRequest(nodes=nodes, maintenance=seconds, **more)
    return take_out(peer, output, request, yes=yes, wait=wait)
