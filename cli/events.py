"""`ringlight events`: the log of what happened, and what happens now."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from datetime import UTC, datetime

import click
from rich.table import Table
from rich.text import Text

from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, output_option
from ringlight.protos.v1 import fabric_pb2 as pb

# Header and width of each column: fixed, so that events printed one by one stand below each other.
_COLUMNS = (("SEQ", 7), ("TIME", 18), ("KIND", 16), ("SUBJECT", 12), ("TEXT", None))


@click.command()
@controller_options
@output_option
@click.option("--follow", is_flag=True, help="Go on with events as they happen, until Ctrl-C.")
@click.option("--after", type=click.IntRange(0, 2**64 - 1), default=0, metavar="N", help="Only events after number N.")
@click.option("--limit", type=click.IntRange(1, 2**32 - 1), default=50, show_default=True, help="Newest so many.")
@click.option("--subject", default="", metavar="NAME", help="Only events of this node, ring, job or hop.")
def events(peer: Peer, output: OutputForm, *, follow: bool, after: int, limit: int, subject: str) -> ExitCode:
    """What happened, oldest first.

    TIME is month, day and time of day here. With --follow, JSON is one event a line.
    """
    request = pb.ListEventsRequest(after=after, limit=limit, subject=subject)
    if follow:
        asyncio.run(_follow(peer, request, output))
    reply = asyncio.run(_list(peer, request))
    emit(reply, output, lambda: _table(reply.events, header=True))
    return ExitCode.FINE


async def _list(peer: Peer, request: pb.ListEventsRequest) -> pb.ListEventsReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.ListEvents, request)


async def _follow(peer: Peer, request: pb.ListEventsRequest, output: OutputForm) -> None:
    async with to_controller(peer) as controller:
        # Asked before the list: what happens in between is in the list or in the stream, and never in both.
        latest = (await controller.call(controller.stub.GetFabric, pb.GetFabricRequest())).last_event
        stored = (await controller.call(controller.stub.ListEvents, request)).events
        for number, event in enumerate(stored):
            _emit_event(event, output, header=number == 0)
        shown = max(latest, request.after, *(event.sequence for event in stored), 0)
        await _emit_stream(controller, shown, request.subject, output, header=not stored)


async def _emit_stream(
    controller: ControllerConnection, after: int, subject: str, output: OutputForm, *, header: bool
) -> None:
    async with aclosing(controller.stream(controller.stub.Watch, pb.WatchRequest(after=after))) as replies:
        async for reply in replies:
            if reply.WhichOneof("body") == "event" and subject in {"", reply.event.subject}:
                _emit_event(reply.event, output, header=header)
                header = False


def _emit_event(event: pb.Event, output: OutputForm, *, header: bool) -> None:
    emit(event, output, lambda: _table([event], header=header), one_line=True)


def _table(rows: Iterable[pb.Event], *, header: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=header)
    for name, width in _COLUMNS:
        table.add_column(name, width=width, overflow="fold")
    for event in rows:
        table.add_row(
            str(event.sequence), _local_time(event.time), Text(event.kind), Text(event.subject), Text(event.text)
        )
    return table


def _local_time(seconds: float) -> str:
    """Month, day and time of day in this machine's zone, to the millisecond."""
    local = datetime.fromtimestamp(seconds, UTC).astimezone()
    return f"{local:%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}"
