"""The emulator's module bus over a Unix socket (docs/i2c-socket.md): one connection for all modules of a node.

Replies are matched to requests; a request that nobody waits for any more is answered into the void. When the socket
ends, everybody who waits gets `UnavailableError`, and the connection is never mended: who needs it next gets another.
"""

import asyncio
import contextlib
import struct
from pathlib import Path as FilePath

from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError, in_use
from ringlight.fabric.errors import UnavailableError

_HELLO = b"RLI2C1 %s\n"
_REQUEST = struct.Struct(">IBBBHH")
_REPLY = struct.Struct(">IBH")
_TRANSFER = 1
_REPLIED, _LINES_CHANGED = 0, 1
_ACKNOWLEDGED, _NO_ANSWER, _REFUSED, _IN_USE = 0, 1, 2, 4
_ADDRESS = 0x50
_PRESENT = 0x02
_ANSWER_WITHIN = 2.0  # seconds


class SocketBus:
    """The bus of one node; connected for the first module that needs it, let go after the last."""

    def __init__(self, socket: FilePath, name: str) -> None:
        self._socket = socket
        self._name = name
        self._connection: _Connection | None = None
        self._users = 0
        self._turn = asyncio.Lock()

    async def acquire(self) -> "_Connection":
        """A live connection; whoever gets one must release it.

        Raises:
            UnavailableError: nobody listens there, or there is no such bus.
        """
        async with self._turn:
            if self._connection is None or not self._connection.alive:
                if self._connection is not None:
                    await self._connection.close()
                self._connection = await _Connection.open(self._socket, self._name)
                self._users = 0
            self._users += 1
            return self._connection

    async def release(self, connection: "_Connection") -> None:
        """Need it no more."""
        async with self._turn:
            if connection is not self._connection:
                return
            self._users -= 1
            if self._users <= 0:
                self._connection = None
                await connection.close()


class SocketTransfers:
    """`Transfers` to one module on a `SocketBus`.

    Args:
        bus: where it hangs.
        select: its select line.
    """

    def __init__(self, bus: SocketBus, select: int) -> None:
        self._bus = bus
        self._select = select
        self._connection: _Connection | None = None

    async def open(self) -> None:
        """Connect.

        Raises:
            UnavailableError: there is no such bus.
        """
        if self._connection is None:
            self._connection = await self._bus.acquire()

    async def transfer(self, data: bytes, length: int) -> bytes:
        """Write, then read after a repeated start.

        Raises:
            NotAcknowledgedError: the module did not answer.
            UnavailableError: the bus is gone.
        """
        return await self._opened().transfer(self._select, data, length)

    def is_present(self) -> bool:
        """Whether ModPrsL is asserted."""
        return self._connection is None or self._connection.is_present(self._select)

    async def interrupted(self) -> None:
        """Wait until IntL is asserted, or the module comes or goes.

        Raises:
            UnavailableError: the bus is gone.
        """
        await self._opened().line_changed(self._select)

    async def close(self) -> None:
        """Let go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._bus.release(connection)

    def _opened(self) -> "_Connection":
        if self._connection is None:
            raise UnavailableError("the module bus is not open")
        return self._connection


class _Connection:
    """One live connection to a bus."""

    def __init__(self, name: str, selects: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._name = name
        self._reader = reader
        self._writer = writer
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._last_id = 0
        self._changed = [asyncio.Event() for _ in range(selects)]
        self._lines = [_PRESENT] * selects  # until told otherwise
        self._lost: str | None = None
        self._receiver = asyncio.get_running_loop().create_task(self._receive(), name=f"module bus {name}")

    @classmethod
    async def open(cls, socket: FilePath, name: str) -> "_Connection":
        """Connect to a bus."""
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                reader, writer = await asyncio.open_unix_connection(socket)
                writer.write(_HELLO % name.encode())
                answer = (await reader.readline()).decode(errors="replace").strip()
        except OSError as error:  # a TimeoutError is one too
            reason = error.strerror or type(error).__name__
            raise UnavailableError(
                f"the module bus of {name} does not answer at {socket}: {reason}",
                hint="is the emulator running with --modules registers, and is this its module socket?",
            ) from error
        word, _, rest = answer.partition(" ")
        if word != "OK" or not rest.isdecimal():
            writer.close()
            raise UnavailableError(f"there is no module bus {name} at {socket}: {rest or 'it hung up'}")
        return cls(name, int(rest), reader, writer)

    @property
    def alive(self) -> bool:
        """Whether it can still be used."""
        return self._lost is None

    async def transfer(self, select: int, data: bytes, length: int) -> bytes:
        """One transfer, acknowledged."""
        if self._lost is not None:
            raise UnavailableError(self._lost)
        if select >= len(self._changed):
            raise UnavailableError(f"bus {self._name} has no select line {select}", hint="correct the agent's file")
        self._last_id = (self._last_id + 1) % 2**32
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = answer
        request = self._last_id
        try:
            self._writer.write(_REQUEST.pack(request, _TRANSFER, select, _ADDRESS, len(data), length) + data)
            async with asyncio.timeout(_ANSWER_WITHIN):
                return await answer
        except TimeoutError:
            reason = f"the module bus of {self._name} did not answer within {_ANSWER_WITHIN:g} s"
            self._lose(reason)
            raise UnavailableError(reason) from None
        finally:
            self._pending.pop(request, None)

    def is_present(self, select: int) -> bool:
        """Whether a module is plugged in."""
        return select >= len(self._lines) or bool(self._lines[select] & _PRESENT)

    async def line_changed(self, select: int) -> None:
        """Wait until a line of a module changed since the last time this was asked."""
        changed = self._changed[select]
        if self._lost is None:
            await changed.wait()
            changed.clear()
        if self._lost is not None:
            raise UnavailableError(self._lost)

    async def close(self) -> None:
        """Hang up."""
        self._lose(f"the module bus of {self._name} was let go")
        self._receiver.cancel()
        await asyncio.wait([self._receiver])
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _receive(self) -> None:
        reason = f"the module bus of {self._name} ended"
        try:
            while True:
                kind = (await self._reader.readexactly(1))[0]
                if kind == _REPLIED:
                    request, status, length = _REPLY.unpack(await self._reader.readexactly(_REPLY.size))
                    self._take(request, status, await self._reader.readexactly(length))
                elif kind == _LINES_CHANGED:
                    select, lines = await self._reader.readexactly(2)
                    self._note(select, lines)
                else:
                    reason = f"the module bus of {self._name} speaks another language"
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._lose(reason)

    def _take(self, request: int, status: int, data: bytes) -> None:
        answer = self._pending.pop(request, None)
        if answer is None or answer.done():
            return
        if status == _ACKNOWLEDGED:
            answer.set_result(data)
        elif status in (_NO_ANSWER, _REFUSED):
            answer.set_exception(NotAcknowledgedError())
        elif status == _IN_USE:
            answer.set_exception(in_use(f"a module on the bus of {self._name}"))
        else:
            answer.set_exception(UnavailableError(f"the module bus of {self._name}: {data.decode(errors='replace')}"))

    def _note(self, select: int, lines: int) -> None:
        if select < len(self._changed):
            self._lines[select] = lines
            self._changed[select].set()

    def _lose(self, reason: str) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(UnavailableError(reason))
        self._pending.clear()
        for changed in self._changed:
            changed.set()
