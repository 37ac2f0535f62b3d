"""Runs a program of the site's own for what it prints, within bounds: time, output, and what it leaves behind."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Sequence

from ringlight.fabric.errors import UnavailableError

_log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 20
_CHUNK = 1 << 16
_MOST_COMPLAINT = 200  # bytes of standard error that a message repeats
_LAST_WAIT = 2.0  # seconds until one that was killed must be gone; one that waits for a dead disk never is
_HINT = "run it by hand as the agent's user"


async def run(command: Sequence[str], within: float) -> bytes:
    """What a command prints on standard output.

    Raises:
        UnavailableError: it cannot be run, fails, prints too much, or takes longer than `within` seconds.
    """
    name = command[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that it can be killed with everything it started
        )
    except OSError as error:
        raise UnavailableError(f"cannot run {name}: {error.strerror}", hint=_HINT) from error
    complaint = asyncio.create_task(_beginning(process.stderr), name=f"standard error of {name}")
    try:
        async with asyncio.timeout(within):
            output = await _everything(process.stdout, name)
            status = await process.wait()
            said = await complaint
    except TimeoutError:
        raise UnavailableError(f"{name} took more than {within:g} s", hint=_HINT) from None
    finally:
        complaint.cancel()
        await _end(process, name)
    if status != 0:
        raise UnavailableError(f"{name} failed with status {status}" + (f": {said}" if said else ""), hint=_HINT)
    return output


async def _everything(stream: asyncio.StreamReader | None, name: str) -> bytes:
    """Everything from a stream, if that is not too much."""
    read = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        read += chunk
        if len(read) > _MOST_BYTES:
            raise UnavailableError(f"{name} printed more than {_MOST_BYTES} bytes", hint=_HINT)
    return bytes(read)


async def _beginning(stream: asyncio.StreamReader | None) -> str:
    """The beginning of what a stream brings, in one line; the rest is read as well, so that nobody waits for it."""
    read = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        read += chunk[: _MOST_COMPLAINT - len(read)]
    return " ".join(read.decode(errors="replace").split())


async def _end(process: asyncio.subprocess.Process, name: str) -> None:
    """End a program and all that it started. One that cannot be ended, run by sudo perhaps, is left alone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it and all that it started have ended
    except PermissionError:
        _log.warning("%s runs as another user and cannot be ended by the agent", name)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WAIT):
            await process.wait()
    # What left the group may hold the pipes open: they are closed here, which nothing public of asyncio does.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
