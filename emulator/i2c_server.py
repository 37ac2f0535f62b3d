"""The module buses of an emulated fabric over one Unix socket, as docs/i2c-socket.md has it.

The shell around modules: it gives them the time, carries transfers to them, and tells whoever has a bus open when a
line changes. A transfer is carried out the moment it arrives, whole; so the transfers of a bus happen one after
another.

Nothing looks at modules that are quiet. One task sleeps until the first of all modules has something to do by itself,
so thousands of them cost nothing while nobody speaks to them. A node that loses power hangs up; so does the server on a
client that says what makes no sense, or does not read what it is told.
"""

import asyncio
import contextlib
import heapq
import logging
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path as FilePath
from typing import Protocol

from ringlight.emulator.module.module import Module, Nack
from ringlight.emulator.sockets import listen_on
from ringlight.emulator.tasks import TaskRegistry
from ringlight.fabric.errors import NotFoundError
from ringlight.fabric.wiring import Wiring

log = logging.getLogger(__name__)

HELLO_TIMEOUT = 10.0  # seconds a new connection may take to say which bus it wants
SEND_LIMIT = 1 << 20  # bytes waiting for a client that does not read, until it is hung up on
_LONGEST_HELLO = 256  # bytes
_ADDRESS = 0x50
_MOST_WRITTEN, _MOST_READ = 257, 256  # bytes of one transfer: an address and all there is
_REQUEST = struct.Struct(">IBBBHH")
_REPLY = struct.Struct(">BIBH")
_TRANSFER, _SET_LINES, _GET_LINES = 1, 2, 3
_REPLIED, _LINES_CHANGED = 0, 1
_ACKNOWLEDGED, _NO_ANSWER, _REFUSED, _NONSENSE = 0, 1, 2, 3

ModuleKey = tuple[int, int]  # (position of the node, select line on its bus)


class Buses(Protocol):
    """The modules that hang on the buses, and the light between them.

    Attributes:
        moved: to be called with the modules whose lines may have changed because of what others did.
    """

    wiring: Wiring
    moved: Callable[[Iterable[ModuleKey]], None]

    def modules(self, position: int) -> Sequence[Module]:
        """The modules of a node by select line; none without power."""

    def follow(self, position: int, select: int) -> None:
        """A module was spoken to, or did something by itself: let its light go where it goes."""


class I2cServer:
    """Serves the buses of a fabric.

    Args:
        buses: what hangs on them.
        clock: seconds, only grows.
    """

    def __init__(self, buses: Buses, clock: Callable[[], float]) -> None:
        self._buses = buses
        self._clock = clock
        self._tasks = TaskRegistry()
        self._server: asyncio.Server | None = None
        self._path: FilePath | None = None
        self._connections: dict[int, list[_Connection]] = {}
        self._unknown: set[_Connection] = set()
        self._lines: dict[ModuleKey, int] = {}
        self._due: list[tuple[float, ModuleKey]] = []  # a heap; may hold what was put off or is past
        self._planned: dict[ModuleKey, float] = {}  # what of it counts
        self._sooner = asyncio.Event()
        buses.moved = self._tell_lines

    async def start(self, path: FilePath) -> None:
        """Listen.

        Raises:
            ConflictError: somebody answers on this socket already.
            InvalidError: there can be no socket at this path.
        """
        self._server = await listen_on(path, lambda: _Connection(self))
        self._path = path
        for position in range(self._buses.wiring.size):
            self.power_changed(position)
        self._tasks.start(self._keep_time(), name="module time")

    async def stop(self) -> None:
        """Stop listening, hang up on everybody, remove the socket."""
        if self._server is not None:
            self._server.close()
        for connection in [*self._unknown, *(one for each in self._connections.values() for one in each)]:
            connection.hang_up()
        await self._tasks.close()
        if self._server is not None:
            await self._server.wait_closed()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def power_changed(self, position: int) -> None:
        """A node lost its power, or has it again."""
        for connection in self._connections.pop(position, []):
            connection.hang_up()
        for select in range(len(self._buses.modules(position))):
            self._attend((position, select))

    # -- modules -------------------------------------------------------------------------------------------------------

    def _attend(self, key: ModuleKey) -> None:
        """Somebody spoke to a module, or its time came: pass its light on, its lines, and know when it is due next."""
        self._buses.follow(*key)
        self._tell_lines([key])
        module = self._module(key)
        due = None if module is None else module.next_event()
        if due is not None and self._planned.get(key) != due:
            if not self._due or due < self._due[0][0]:
                self._sooner.set()
            self._planned[key] = due
            heapq.heappush(self._due, (due, key))

    async def _keep_time(self) -> None:
        while True:
            self._sooner.clear()
            pause = None if not self._due else max(0.0, self._due[0][0] - self._clock())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._sooner.wait()
            self._let_happen()

    def _let_happen(self) -> None:
        """Whatever is due by now. A module may be listed more than once; it only ever does what is due."""
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            due, key = heapq.heappop(self._due)
            if self._planned.get(key) == due:
                del self._planned[key]
            module = self._module(key)
            if module is not None:
                module.advance(now)
                self._attend(key)

    def _module(self, key: ModuleKey) -> Module | None:
        modules = self._buses.modules(key[0])
        return modules[key[1]] if key[1] < len(modules) else None

    # -- connections ---------------------------------------------------------------------------------------------------

    def _tell_lines(self, keys: Iterable[ModuleKey]) -> None:
        for key in keys:
            module = self._module(key)
            lines = 0 if module is None else int(module.interrupt) | int(module.present) << 1
            if self._lines.get(key) != lines:
                self._lines[key] = lines
                for connection in self._connections.get(key[0], ()):
                    connection.tell_lines(key[1], lines)

    def connected(self, connection: "_Connection") -> None:
        """Somebody connected, and has to say what he wants."""
        self._unknown.add(connection)

    def disconnected(self, connection: "_Connection") -> None:
        """Somebody hung up, or was hung up on."""
        self._unknown.discard(connection)
        of_bus = self._connections.get(connection.position, [])
        if connection in of_bus:
            of_bus.remove(connection)

    def opened(self, connection: "_Connection", name: str) -> int:
        """Somebody wants a bus; how many select lines it has.

        Raises:
            NotFoundError: there is no such bus, or its node has no power.
        """
        position = self._buses.wiring.position(name)
        modules = self._buses.modules(position)
        if not modules:
            raise NotFoundError(f"node {name} has no power")
        self._unknown.discard(connection)
        connection.position = position
        self._connections.setdefault(position, []).append(connection)
        return len(modules)

    def lines(self, position: int, select: int) -> int:
        """The lines that a module drives, as the protocol has them."""
        return self._lines.get((position, select), 0)

    def answer(self, position: int, request: "_Request") -> tuple[int, bytes]:
        """Carry a request out; status and data of the reply."""
        key = (position, request.select)
        module = self._module(key)
        if module is None:
            return _NONSENSE, f"there is no select line {request.select}".encode()
        if request.op == _GET_LINES:
            return _ACKNOWLEDGED, bytes((self.lines(*key),))
        if request.op == _SET_LINES and len(request.data) == 1:
            module.set_lines(reset=bool(request.data[0] & 1), low_power=bool(request.data[0] & 2), now=self._clock())
            self._attend(key)
            return _ACKNOWLEDGED, b""
        if request.op != _TRANSFER or len(request.data) > _MOST_WRITTEN or request.wanted > _MOST_READ:
            return _NONSENSE, b"there is no such request"
        if request.address != _ADDRESS:
            return _NO_ANSWER, b""
        try:
            return _ACKNOWLEDGED, self._transfer(module, request)
        except Nack as nack:
            return (_NO_ANSWER if nack.of_address else _REFUSED), b""
        finally:
            self._attend(key)

    def _transfer(self, module: Module, request: "_Request") -> bytes:
        now = self._clock()
        if request.data:
            module.write(request.data, now)
        return module.read(request.wanted, now) if request.wanted or not request.data else b""


class _Request:
    """One request as it came."""

    __slots__ = ("address", "data", "op", "select", "wanted")

    def __init__(self, op: int, select: int, address: int, wanted: int, data: bytes) -> None:
        self.op = op
        self.select = select
        self.address = address
        self.wanted = wanted
        self.data = data


class _Connection(asyncio.Protocol):
    """One client: its bus, and what it sent so far.

    Attributes:
        position: of the node whose bus it has open; -1 before it said.
    """

    def __init__(self, server: I2cServer) -> None:
        self.position = -1
        self._server = server
        self._transport: asyncio.WriteTransport | None = None
        self._received = bytearray()
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first line, for a while."""
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - what a stream socket gives
        self._transport = transport
        self._deadline = asyncio.get_running_loop().call_later(HELLO_TIMEOUT, self.hang_up)
        self._server.connected(self)

    def data_received(self, data: bytes) -> None:
        """Take in bytes, and do what is asked for as soon as it is there."""
        self._received += data
        if self.position < 0 and not self._open():
            return
        while (request := self._next()) is not None and self._transport is not None:
            number, body = request
            status, answer = self._server.answer(self.position, body)
            self._send(_REPLY.pack(_REPLIED, number, status, len(answer)) + answer)

    def connection_lost(self, _error: Exception | None) -> None:
        """Gone."""
        self._transport = None
        if self._deadline is not None:
            self._deadline.cancel()
        self._server.disconnected(self)

    def tell_lines(self, select: int, lines: int) -> None:
        """A line of a module changed."""
        self._send(bytes((_LINES_CHANGED, select, lines)))

    def hang_up(self) -> None:
        """Cut it off; what was not sent yet is lost."""
        if self._transport is not None:
            self._transport.abort()

    def _open(self) -> bool:
        line, separator, rest = self._received.partition(b"\n")
        if not separator:
            if len(line) > _LONGEST_HELLO:
                self._refuse("a bus is opened by one line")
            return False
        language, _, name = bytes(line).decode(errors="replace").partition(" ")
        if language != "RLI2C1":
            self._refuse("RLI2C1 is spoken here")
            return False
        try:
            selects = self._server.opened(self, name)
        except NotFoundError as error:
            self._refuse(str(error))
            return False
        if self._deadline is not None:
            self._deadline.cancel()
        self._received = rest
        self._send(f"OK {selects}\n".encode())
        for select in range(selects):
            self.tell_lines(select, self._server.lines(self.position, select))
        return True

    def _refuse(self, why: str) -> None:
        log.warning("a connection to a module bus is refused: %s", why)
        self._received.clear()
        self._send(f"ERR {why}\n".encode())
        if self._transport is not None:
            self._transport.close()

    def _next(self) -> tuple[int, _Request] | None:
        """The next request that is there whole, and its number."""
        if len(self._received) < _REQUEST.size:
            return None
        number, op, select, address, written, wanted = _REQUEST.unpack_from(self._received)
        end = _REQUEST.size + written
        if len(self._received) < end:
            return None
        data = bytes(self._received[_REQUEST.size : end])
        del self._received[:end]
        return number, _Request(op, select, address, wanted, data)

    def _send(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() > SEND_LIMIT:
            log.warning("a client of a module bus does not read what it is sent; it is hung up on")
            self._transport.abort()
            return
        self._transport.write(data)
