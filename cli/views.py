"""Show a part of the fabric once, or again each time something happens (`--watch`).

A view is what to ask, how to draw the reply, and what exit code it stands for. On a terminal a watched table is
redrawn in place; elsewhere each state is printed after the last, JSON as a document a line.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

import click
from google.protobuf.message import Message
from rich.console import RenderableType
from rich.live import Live

from ringlight.cli.client import ControllerConnection, Peer, moments, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, console, emit

Reply = TypeVar("Reply", bound=Message)
Result = TypeVar("Result")


def _always_fine(_reply: Message) -> ExitCode:
    return ExitCode.FINE


@dataclass(frozen=True, slots=True)
class View(Generic[Reply]):
    """A part of the fabric that can be shown.

    Attributes:
        fetch: asks the controller.
        table: draws the reply.
        exit_code: what the reply means for a script.
    """

    fetch: Callable[[ControllerConnection], Awaitable[Reply]]
    table: Callable[[Reply], RenderableType]
    exit_code: Callable[[Reply], ExitCode] = _always_fine


def watch_option(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command `--watch`; it receives a bool as `watch`."""
    return click.option("--watch", is_flag=True, help="Show it again each time something happens, until Ctrl-C.")(
        command
    )


def show(view: View[Reply], peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """Show a view; with `watch` this ends by Ctrl-C or an error."""
    if watch:
        asyncio.run(_watch(view, peer, output))
    return asyncio.run(_once(view, peer, output))


async def _once(view: View[Reply], peer: Peer, output: OutputForm) -> ExitCode:
    async with to_controller(peer) as controller:
        reply = await view.fetch(controller)
    emit(reply, output, lambda: view.table(reply))
    return view.exit_code(reply)


async def _watch(view: View[Reply], peer: Peer, output: OutputForm) -> None:
    async with to_controller(peer) as controller, aclosing(moments(controller)) as looks:
        if output is OutputForm.TABLE and sys.stdout.isatty():
            with Live(console=console(), auto_refresh=False) as live:
                async for _ in looks:
                    live.update(view.table(await view.fetch(controller)), refresh=True)
        else:
            async for _ in looks:
                _emit_next(view, await view.fetch(controller), output)


def _emit_next(view: View[Reply], reply: Reply, output: OutputForm) -> None:
    emit(reply, output, lambda: view.table(reply), one_line=True)
    if output is OutputForm.TABLE:
        click.echo()
