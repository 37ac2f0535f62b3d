"""`ringlight drain`: take nodes out of their rings while they work, and cordon them."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import click
from rich.console import Group

from ringlight.cli.changes import confirmed, disturbed, titled
from ringlight.cli.client import ControllerConnection, Peer, controller_options, moments, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.nodes import nodes_table
from ringlight.cli.output import OutputForm, emit, output_option
from ringlight.protos.v1 import fabric_pb2 as pb

_DRAINING = "draining"


def take_out_options(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Give a command what every way of taking nodes out of their rings needs."""
    options = (
        click.argument("nodes", metavar="NODE...", nargs=-1, required=True),
        click.option("--force", is_flag=True, help="Go ahead even if it costs a ring; that ring then waits."),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--reason", default="", metavar="TEXT", help="Shown to whoever asks later."),
        click.option(
            "--wait",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Wait so long until no ring has the nodes; exit with 2 when one still has.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@controller_options
@output_option
@take_out_options
def drain(
    peer: Peer, output: OutputForm, *, nodes: tuple[str, ...], yes: bool, wait: float | None, **more: Any
) -> ExitCode:
    """Take nodes out of their rings, and cordon them.

    All are taken out by one plan. It is refused with exit code 3 when it would cost a job a ring, unless --force is
    given. The rings that change are interrupted for the moment of the switch, so this asks first on a terminal;
    elsewhere --yes is required. Nodes in no ring are only cordoned.
    """
    return take_out(peer, output, pb.DrainRequest(nodes=nodes, **more), yes=yes, wait=wait)


def take_out(peer: Peer, output: OutputForm, request: pb.DrainRequest, *, yes: bool, wait: float | None) -> ExitCode:
    """Take nodes out of their rings as asked: show what follows, ask if need be, do it, and wait if told to."""
    named = " ".join(request.nodes)
    dry_run, request.dry_run = request.dry_run, True
    if dry_run or not yes:
        reply = asyncio.run(_drain(peer, request, None))
        if dry_run:
            emit(reply, output, lambda: _table(reply))
            return ExitCode.FINE
        rings = disturbed(reply.rings)
        if rings and not confirmed(
            f"Drain {named}, and interrupt {' '.join(rings)} for a moment?",
            doing=f"draining {named}, which interrupts {' '.join(rings)},",
            otherwise="nothing was drained",
            yes=yes,
        ):
            return ExitCode.ERROR
    request.dry_run = False
    reply = asyncio.run(_drain(peer, request, wait))
    emit(reply, output, lambda: _table(reply))
    return ExitCode.FINE if wait is None or _is_out(reply) else ExitCode.DEGRADED


async def _drain(peer: Peer, request: pb.DrainRequest, wait: float | None) -> pb.DrainReply:
    async with to_controller(peer) as controller:
        reply = await controller.call(controller.stub.Drain, request)
        if wait is not None:
            await _wait(controller, reply, wait)
    return reply


async def _wait(controller: ControllerConnection, reply: pb.DrainReply, seconds: float) -> None:
    """Keep the nodes of the reply up to date until they are out of their rings."""
    wanted = {node.name for node in reply.nodes}
    try:
        async with asyncio.timeout(seconds), aclosing(moments(controller)) as looks:
            async for _ in looks:
                every = await controller.call(controller.stub.ListNodes, pb.ListNodesRequest(abnormal_only=True))
                del reply.nodes[:]
                reply.nodes.extend(node for node in every.nodes if node.name in wanted)
                if not any(node.overlay == _DRAINING for node in reply.nodes):
                    return
    except TimeoutError:
        click.echo(f"not drained after {seconds:g} s", err=True)


def _is_out(reply: pb.DrainReply) -> bool:
    """Whether no node is in a ring: one may be back in its own, when the drain had to be given up."""
    return not any(node.ring or node.overlay == _DRAINING for node in reply.nodes)


def _table(reply: pb.DrainReply) -> Group:
    return titled(nodes_table(reply.nodes), reply.rings, reply.reasons)
