"""`ringlight declare-dead`: a person as second witness against silent nodes."""

import asyncio

import click

from ringlight.cli.changes import confirmed
from ringlight.cli.client import Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.nodes import nodes_table
from ringlight.cli.output import OutputForm, emit, output_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.command()
@controller_options
@output_option
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option("--reason", default="", metavar="TEXT", help="How you know; shown to whoever asks later.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def declare_dead(peer: Peer, output: OutputForm, *, nodes: tuple[str, ...], reason: str, yes: bool) -> ExitCode:
    """Say that silent nodes are dead, so that they are bypassed.

    For a machine that hangs with its light on: its agent is silent, and its neighbours see nothing wrong. Refused with
    exit code 3 for a node whose agent speaks: `ringlight drain` takes that out of its ring. Forgotten the moment the
    node speaks again. Asks first on a terminal; elsewhere --yes is required.
    """
    named = " ".join(nodes)
    if not confirmed(
        f"Are you sure that no work is done on {named}, and shall rings be laid anew without?",
        doing=f"declaring {named} dead, which lays rings anew,",
        otherwise="nothing was declared dead",
        yes=yes,
    ):
        return ExitCode.ERROR
    reply = asyncio.run(_declare(peer, pb.DeclareDeadRequest(nodes=nodes, reason=reason)))
    emit(reply, output, lambda: nodes_table(reply.nodes))
    return ExitCode.FINE


async def _declare(peer: Peer, request: pb.DeclareDeadRequest) -> pb.DeclareDeadReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.DeclareDead, request)
