"""`ringlight quarantine`: nodes that failed too often to be used, until a person releases them."""

import asyncio

import click

from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.nodes import nodes_table
from ringlight.cli.output import OutputForm, emit, output_option
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.group()
def quarantine() -> None:
    """Nodes that no ring may have until a person releases them.

    They failed again and again: three times in a week, by the defaults.
    """


@quarantine.command("list")
@controller_options
@output_option
@watch_option
def list_nodes(peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """The nodes in quarantine, and why. Exits with 2 when there is one."""
    return show(View(_fetch, lambda reply: nodes_table(reply.nodes), _exit_code), peer, output, watch=watch)


@quarantine.command()
@controller_options
@output_option
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
def release(peer: Peer, output: OutputForm, *, nodes: tuple[str, ...]) -> ExitCode:
    """Trust nodes again, after whatever made them fail was repaired: what counted against them is forgotten."""
    reply = asyncio.run(_release(peer, pb.ReleaseQuarantineRequest(nodes=nodes)))
    emit(reply, output, lambda: nodes_table(reply.nodes))
    return ExitCode.FINE


async def _fetch(controller: ControllerConnection) -> pb.ListNodesReply:
    reply = await controller.call(controller.stub.ListNodes, pb.ListNodesRequest(abnormal_only=True))
    return pb.ListNodesReply(nodes=[node for node in reply.nodes if node.quarantine])


def _exit_code(reply: pb.ListNodesReply) -> ExitCode:
    return ExitCode.DEGRADED if reply.nodes else ExitCode.FINE


async def _release(peer: Peer, request: pb.ReleaseQuarantineRequest) -> pb.ReleaseQuarantineReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.ReleaseQuarantine, request)
