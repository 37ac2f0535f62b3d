"""The site's own witness: a program that knows whether a machine is up (its BMC, a ping), asked about silent nodes.

It gets a time limit; one that takes longer, cannot be started, or exits with anything but 0 and 1 does not know, which
is evidence of nothing. At most a few run at once, and a node waits at most once, so a fabric that falls silent cannot
start a thousand of them.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable

from ringlight.controller.engine.events import ProbeAnswered
from ringlight.controller.health.settings import ProbeSettings

_log = logging.getLogger(__name__)

_AT_ONCE = 8
_LAST_WAIT = 2.0  # seconds until one that was killed must be gone; one that waits for a dead disk never is
_UP, _DOWN = 0, 1  # exit statuses


class ProbeHook:
    """Asks the site's program.

    Args:
        settings: which program, and how long it may take.
        answer: is told what it said.
    """

    def __init__(self, settings: ProbeSettings, answer: Callable[[ProbeAnswered], None]) -> None:
        self._settings = settings
        self._answer = answer
        self._waiting: dict[str, None] = {}
        self._something = asyncio.Event()

    def ask(self, node: str) -> None:
        """Ask about a node soon."""
        self._waiting[node] = None
        self._something.set()

    async def run_forever(self) -> None:
        """Ask, a few at once. Runs until cancelled, and then leaves no program behind; owned by the daemon."""
        async with asyncio.TaskGroup() as workers:
            for number in range(_AT_ONCE):
                workers.create_task(self._work(), name=f"probe {number}")

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._something.clear()
                await self._something.wait()
            node = next(iter(self._waiting))
            del self._waiting[node]
            self._answer(await self._ask(node))

    async def _ask(self, node: str) -> ProbeAnswered:
        command = [word.replace("{node}", node) for word in self._settings.command]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # so that what it starts can be ended with it
            )
        except OSError as error:
            return ProbeAnswered(node, None, f"cannot run {command[0]}: {error.strerror}")
        try:
            async with asyncio.timeout(self._settings.timeout):
                status = await process.wait()
        except TimeoutError:
            return ProbeAnswered(node, None, f"{command[0]} did not end within {self._settings.timeout:g} s")
        finally:
            await _end(process, command[0])
        if status in (_UP, _DOWN):
            return ProbeAnswered(node, status == _UP)
        return ProbeAnswered(node, None, f"{command[0]} exited with {status}")


async def _end(process: asyncio.subprocess.Process, program: str) -> None:
    """End a program and all that it started. One that cannot be ended, run by sudo perhaps, is left alone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it and all that it started have ended
    except PermissionError:
        _log.warning("%s runs as another user and cannot be ended by the controller", program)
    # While the daemon stops this is waited for, too: it must have an end.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WAIT):
            await process.wait()
