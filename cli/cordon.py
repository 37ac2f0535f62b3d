"""`ringlight cordon` and `uncordon`: which nodes no ring may take."""

import asyncio

import click

from ringlight.cli.client import Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.nodes import nodes_table
from ringlight.cli.output import OutputForm, emit, output_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.command()
@controller_options
@output_option
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option("--reason", default="", metavar="TEXT", help="Shown to whoever asks later.")
def cordon(peer: Peer, output: OutputForm, *, nodes: tuple[str, ...], reason: str) -> ExitCode:
    """Keep nodes out of every ring that does not have them.

    A ring that a node is in stays; `ringlight drain` takes the node out of it.
    """
    reply = asyncio.run(_cordon(peer, pb.CordonRequest(nodes=nodes, reason=reason)))
    emit(reply, output, lambda: nodes_table(reply.nodes))
    return ExitCode.FINE


@click.command()
@controller_options
@output_option
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
def uncordon(peer: Peer, output: OutputForm, *, nodes: tuple[str, ...]) -> ExitCode:
    """Give nodes back that were cordoned or drained.

    Rings may take them again as far as their verdicts allow; one that waits for a node gets it at once.
    """
    reply = asyncio.run(_uncordon(peer, pb.UncordonRequest(nodes=nodes)))
    emit(reply, output, lambda: nodes_table(reply.nodes))
    return ExitCode.FINE


async def _cordon(peer: Peer, request: pb.CordonRequest) -> pb.CordonReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.Cordon, request)


async def _uncordon(peer: Peer, request: pb.UncordonRequest) -> pb.UncordonReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.Uncordon, request)
