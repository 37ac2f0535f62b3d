"""Listening on a Unix socket without taking it from somebody who is alive."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path as FilePath

from ringlight.fabric.errors import ConflictError, InvalidError

BACKLOG = 4096  # connections waiting to be accepted while thousands of agents start
_ADVICE = "give a path of at most 107 bytes in a directory that exists and may be written"


async def listen_on(path: FilePath, protocol: Callable[[], asyncio.Protocol]) -> asyncio.Server:
    """Listen on a socket, with one protocol for each connection.

    Raises:
        ConflictError: somebody answers on this socket already.
        InvalidError: there can be no socket at this path.
    """
    await refuse_live_socket(path)
    try:
        return await asyncio.get_running_loop().create_unix_server(protocol, path, backlog=BACKLOG)
    except (OSError, ValueError) as error:
        raise InvalidError(f"cannot listen on the socket {path}: {error}", hint=_ADVICE) from error


async def refuse_live_socket(path: FilePath) -> None:
    """Listening replaces a socket file silently; make sure that it is a left-over and not somebody's.

    Raises:
        ConflictError: somebody answers on this socket.
        InvalidError: there can be no socket at this path.
    """
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ECONNREFUSED):
            raise InvalidError(f"cannot use the socket {path}: {error.strerror or error}", hint=_ADVICE) from error
        return
    writer.close()
    await writer.wait_closed()
    raise ConflictError(
        f"another process listens on the socket {path}", hint="stop that emulator, or give another socket"
    )
