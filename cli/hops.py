"""`ringlight hops`: fibres that carried no light, and what a person knows better."""

import asyncio

import click
from rich.table import Table

from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, listing, output_option
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.group()
def hops() -> None:
    """Fibres that were found dark.

    No ring is led over a dead one. After an hour, by the defaults, it may be tried again, but only with nodes that
    serve nobody; a ring that works is not moved onto it until it was seen lit, or a person trusts it.
    """


@hops.command("list")
@controller_options
@output_option
@watch_option
def list_hops(peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """The fibres that are not trusted. Exits with 2 when there is one."""
    return show(View(_fetch, _table, _exit_code), peer, output, watch=watch)


@hops.command()
@controller_options
@output_option
@click.argument("names", metavar="HOP...", nargs=-1, required=True)
def trust(peer: Peer, output: OutputForm, *, names: tuple[str, ...]) -> ExitCode:
    """Say that fibres were repaired, such as n3+2: rings may use them at once, working ones too."""
    fabric = asyncio.run(_trust(peer, pb.TrustHopsRequest(hops=names)))
    emit(fabric, output, lambda: _table(fabric))
    return ExitCode.FINE


async def _fetch(controller: ControllerConnection) -> pb.Fabric:
    return await controller.call(controller.stub.GetFabric, pb.GetFabricRequest())


async def _trust(peer: Peer, request: pb.TrustHopsRequest) -> pb.Fabric:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.TrustHops, request)


def _table(fabric: pb.Fabric) -> Table:
    rows = [(hop, "dead: no ring is led over it") for hop in fabric.dead_hops]
    rows += [(hop, "may be tried again, and was not seen lit yet") for hop in fabric.untested_hops]
    return listing(("HOP", "STATE"), rows, free=("STATE",))


def _exit_code(fabric: pb.Fabric) -> ExitCode:
    return ExitCode.DEGRADED if fabric.dead_hops or fabric.untested_hops else ExitCode.FINE
