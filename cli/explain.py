"""`ringlight explain`: the evidence and the decisions behind a node, ring or job."""

import asyncio

import click
from rich.console import Group
from rich.text import Text

from ringlight.cli.client import Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, facts, output_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.command()
@controller_options
@output_option
@click.argument("subject", metavar="NODE|RING|JOB")
def explain(peer: Peer, output: OutputForm, subject: str) -> ExitCode:
    """Why a node, ring or job is as it is.

    The evidence and the decisions that led there, newest last.
    """
    reply = asyncio.run(_ask(peer, subject))
    emit(reply, output, lambda: _text(reply))
    return ExitCode.FINE


async def _ask(peer: Peer, subject: str) -> pb.ExplainReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.Explain, pb.ExplainRequest(subject=subject))


def _text(reply: pb.ExplainReply) -> Group:
    summary = Text(f"{reply.kind} {reply.subject}: {reply.summary}")
    return Group(summary, facts((f"{number:>3}", reason) for number, reason in enumerate(reply.reasons, start=1)))
