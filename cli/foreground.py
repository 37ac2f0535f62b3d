"""Run a coroutine in the foreground that a person or a script may interrupt, and that must clean up when they do.

SIGTERM is taken as Ctrl-C is: the coroutine is cancelled, and the command ends as interrupted once it has cleaned up.
A second signal ends the process at once.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

Result = TypeVar("Result")


def run_in_foreground(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` and return its result.

    Raises:
        click.Abort: it was interrupted.
    """
    try:
        return asyncio.run(_until_terminated(work))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise click.Abort from None


async def _until_terminated(work: Coroutine[Any, Any, Result]) -> Result:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
