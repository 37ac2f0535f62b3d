"""One TCP connection to a switch, one question at a time.

A switch answers in the order in which it is asked, and says nothing about a set command, so the only safe way is lock
step: a line with exactly one query in it goes out, one line comes back. After an answer that did not come in time the
connection is of no more use, because that answer may still come and be taken for another one.
"""

import asyncio
from typing import Self

from ringlight.fabric.errors import UnavailableError

_CLOSE_SECONDS = 1.0  # for the other side to notice that we left


class Wire:
    """A live connection. Calls of `ask` must not overlap.

    Args:
        name: of the switch, for messages.
        within: seconds until it must have answered.
    """

    def __init__(self, name: str, within: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._within = within
        self._reader = reader
        self._writer = writer

    @classmethod
    async def dial(cls, name: str, address: str, within: float) -> Self:
        """Connect to ``HOST:PORT``.

        Raises:
            UnavailableError: nobody answers there.
        """
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(within):
                reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except (OSError, OverflowError) as error:  # a TimeoutError is an OSError too
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnavailableError(
                f"switch {name} does not answer at {address}: {reason}",
                hint="is it on, and is its SCPI service reachable from here?",
            ) from error
        return cls(name, within, reader, writer)

    async def ask(self, message: str, *, patience: float = 1.0) -> str:
        """Send a line with one query in it, which may follow set commands, and wait for the answer.

        Args:
            message: the line.
            patience: how many times as long as usual the answer may take.

        Raises:
            UnavailableError: the connection broke, or there was no answer in time; it must be closed.
        """
        within = patience * self._within
        try:
            self._writer.write(f"{message}\n".encode("ascii"))
            async with asyncio.timeout(within):
                await self._writer.drain()
                line = await self._reader.readline()
        except TimeoutError:
            raise UnavailableError(
                f"switch {self.name} did not answer {message!r} within {within:g} s",
                hint="is it busy, or does its firmware not know this command?",
            ) from None
        except (OSError, ValueError) as error:  # a ValueError is a line without an end
            raise UnavailableError(f"the connection to switch {self.name} broke: {error}") from error
        if not line.endswith(b"\n"):
            raise UnavailableError(f"switch {self.name} closed the connection")
        return line.decode("ascii", errors="replace").strip()

    async def close(self) -> None:
        """Let go. What a set command already sent does on the switch goes on."""
        self._writer.close()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()
