"""Run a daemon's coroutine in the foreground: logging, the ready line, and how it is told to stop.

SIGTERM, SIGINT and, with `--until-stdin-closes`, the end of standard input all mean the same: the coroutine is
cancelled, which every daemon takes as an orderly stop, and the process exits with 0. A second signal ends the
process at once. A stop that hangs is ended after `STOP_LIMIT` seconds, with the stacks of all threads on standard
error, so that nothing is ever left behind.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import IO, Any, TypeVar

import click

from ringlight.cli import service_manager
from ringlight.fabric.errors import InvalidError

STOP_LIMIT = 10.0  # seconds an orderly stop may take: twice of what daemons promise
LOG_LEVELS = ("debug", "info", "warning", "error")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger(__name__)

Result = TypeVar("Result")


def daemon_options(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command `log_level` and `until_stdin_closes`."""
    level = click.option(
        "--log-level",
        type=click.Choice(LOG_LEVELS),
        default="info",
        show_default=True,
        help="Least grave level that is logged to standard error.",
    )
    until = click.option(
        "--until-stdin-closes",
        is_flag=True,
        help="Stop when standard input, a pipe, is closed: for a parent that must leave nothing behind.",
    )
    return level(until(command))


def announce(text: str) -> None:
    """Tell whoever started this daemon that it is ready: one line on standard output, and systemd's socket."""
    click.echo(text)
    sys.stdout.flush()
    service_manager.tell_ready(text)


def run_daemon(daemon: Coroutine[Any, Any, None], *, log_level: str, until_stdin_closes: bool) -> None:
    """Log to standard error, and run a daemon until it ends or is told to stop.

    Raises:
        InvalidError: `until_stdin_closes`, and standard input is not a pipe.
        RinglightError: what ended the daemon.
    """
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    try:
        asyncio.run(until_stopped(daemon, stdin=_pipe_on_stdin() if until_stdin_closes else None))
    finally:
        daemon.close()  # if it never began
        faulthandler.cancel_dump_traceback_later()


async def until_stopped(daemon: Coroutine[Any, Any, None], *, stdin: IO[bytes] | None) -> None:
    """Run a daemon's coroutine; a signal or the end of `stdin` cancels it. `stdin` is closed in the end."""
    task = asyncio.create_task(daemon, name="daemon")
    stop = _Stop(task)
    async with _signals(stop), _end_of(stdin, stop):
        try:
            await task
        except asyncio.CancelledError:
            if not stop.requested:
                raise


class _Stop:
    """The one way in which a daemon is told to stop."""

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self.requested = False
        self._task = task

    def request(self, reason: str) -> None:
        """Cancel the daemon; asking again changes nothing."""
        if self.requested or self._task.done():
            return
        self.requested = True
        _log.info("stopping: %s", reason)
        service_manager.tell_stopping()
        faulthandler.dump_traceback_later(STOP_LIMIT, exit=True, file=sys.__stderr__ or sys.stderr)
        self._task.cancel()


@asynccontextmanager
async def _signals(stop: _Stop) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()

    def handle(number: signal.Signals) -> None:
        for each in _SIGNALS:
            loop.remove_signal_handler(each)  # the next one ends the process
        stop.request(f"received {number.name}")

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def _end_of(stdin: IO[bytes] | None, stop: _Stop) -> AsyncIterator[None]:
    if stdin is None:
        yield
        return
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: _UntilClosed(stop), stdin)
    try:
        yield
    finally:
        transport.close()


class _UntilClosed(asyncio.Protocol):
    """Reads a pipe for nothing but its end."""

    def __init__(self, stop: _Stop) -> None:
        self._stop = stop

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # a broken pipe is a closed one
        self._stop.request("standard input was closed")


def _pipe_on_stdin() -> IO[bytes]:
    """Standard input as a file of our own, so that closing it closes nothing else.

    Only a pipe or a socket: a file has no end to wait for, and a terminal would be switched to non-blocking for
    everyone who shares it.
    """
    try:
        descriptor = os.dup(sys.stdin.fileno())
    except (AttributeError, ValueError, OSError) as error:  # no standard input at all
        raise InvalidError("--until-stdin-closes: there is no standard input", hint="start it with a pipe") from error
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        os.close(descriptor)
        raise InvalidError("--until-stdin-closes: standard input is not a pipe", hint="start it with a pipe")
    return os.fdopen(descriptor, "rb", buffering=0)
