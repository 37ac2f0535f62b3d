"""The socket on which drivers find emulated modules on I2C buses (docs/i2c-socket.md).

The shell around modules that know no time and no connection. Its promises:

- Transfers of one bus happen one after another, in the order in which they came; none is done by halves.
- A module's lines are told to every connection of its bus before the reply to what changed them.
- Modules move on by themselves when it is time, whether or not anybody talks to them. One timer serves all of them:
  a module that rests costs nothing.
- A module has one page select for everybody, so it has one host: whoever spoke to it first, until that one hangs up.
- A bus without power has no connections. A peer that does not read is disconnected, not buffered.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path as FilePath
from typing import Protocol

from ringlight.emulator import i2c_wire as wire
from ringlight.emulator.agenda import Agenda
from ringlight.emulator.i2c_wire import Operation, Request, Status
from ringlight.emulator.module.module import Module, Nack
from ringlight.emulator.register_plant import ModuleKey
from ringlight.emulator.sockets import listen_on
from ringlight.fabric.errors import ConflictError, InvalidError, NotFoundError, RinglightError, UnavailableError
from ringlight.fabric.wiring import Wiring

log = logging.getLogger(__name__)

OPENING_SECONDS = 10.0  # that a new connection may take to say which bus it wants
SEND_LIMIT = 1 << 20  # bytes waiting for a peer that does not read, until it is disconnected
_ADDRESS = 0x50
_HIGHEST_ADDRESS = 0x7F
_RESET, _LOW_POWER = 0x01, 0x02
_IN_USE = "another host has this module"


class Backplane(Protocol):
    """Whoever has the modules."""

    @property
    def wiring(self) -> Wiring:
        """Which nodes there are: each has a bus of its name."""

    def modules(self, position: int) -> Sequence[Module]:
        """The modules of a node by select line; none without power."""

    def follow(self, position: int, select: int) -> None:
        """A module may have changed: let its light arrive, and say which modules moved."""


class I2cServer:
    """Serves modules on a Unix socket.

    Args:
        backplane: the modules. Whoever else changes some of them must say so with `moved`.
        clock: seconds, only grows; the time of all modules.
    """

    def __init__(self, backplane: Backplane, clock: Callable[[], float]) -> None:
        self._backplane = backplane
        self._clock = clock
        self._connections: dict[int, list[_Connection]] = {}
        self._hosts: dict[ModuleKey, _Connection] = {}
        self._lines: dict[ModuleKey, int] = {}
        self._agenda: Agenda[ModuleKey] = Agenda()
        self._timer: asyncio.TimerHandle | None = None
        self._timed_for: float | None = None
        self._opening: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._path: FilePath | None = None

    async def start(self, path: FilePath) -> None:
        """Listen. Modules that should move on by themselves must have been `moved` once.

        Raises:
            ConflictError: somebody answers on this socket already.
            InvalidError: there can be no socket at this path.
        """
        self._server = await listen_on(path, lambda: _Connection(self))
        self._path = path
        self._arm()

    async def stop(self) -> None:
        """Stop listening, drop every connection, remove the socket. Modules stand still from now on."""
        server, self._server = self._server, None
        if self._timer is not None:
            self._timer.cancel()
        if server is None:
            return
        server.close()
        for connection in [*self._opening, *(each for bus in self._connections.values() for each in bus)]:
            connection.drop()
        await server.wait_closed()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def moved(self, keys: Iterable[ModuleKey]) -> None:
        """These modules may have other lines than before, and other plans, or have come or gone with their node."""
        for key in keys:
            position, select = key
            modules = self._backplane.modules(position)
            if select >= len(modules):
                self._gone(key)
                continue
            module = modules[select]
            self._agenda.appoint(key, module.next_event())
            state = _lines_of(module)
            if self._lines.get(key) != state:
                self._lines[key] = state
                for connection in self._connections.get(position, ()):
                    connection.send(wire.lines_changed(select, state))
        self._arm()

    def selects(self, position: int) -> int:
        """How many modules a bus has; none without power."""
        return len(self._backplane.modules(position))

    def transfer(self, position: int, select: int, data: bytes, length: int) -> bytes:
        """A transfer with a module without a connection, for whoever shares this process.

        Raises:
            Nack: it was not acknowledged.
            NotFoundError: there is no such module, or its node has no power.
            ConflictError: a host on its bus has it.
        """
        if (position, select) in self._hosts:
            raise ConflictError(_IN_USE, hint="a module has one page select for everybody: stop its agent first")
        return self._carry_out(Request(0, Operation.TRANSFER, select, _ADDRESS, length, data), position)

    def _gone(self, key: ModuleKey) -> None:
        self._agenda.appoint(key, None)
        self._lines.pop(key, None)
        for connection in self._connections.pop(key[0], ()):
            connection.drop()

    # -- time ----------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the timer go off when the next module has something to do."""
        when = self._agenda.next()
        if self._server is None or when == self._timed_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed_for = when
        self._timer = None
        if when is not None:
            delay = max(0.0, when - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._pass_time)

    def _pass_time(self) -> None:
        self._timed_for = None
        now = self._clock()
        for position, select in self._agenda.due(now):
            self._backplane.modules(position)[select].advance(now)
            self._backplane.follow(position, select)
        self._arm()

    # -- connections ---------------------------------------------------------------------------------------------------

    def enter(self, connection: "_Connection") -> None:
        """A peer connected, and has not said yet what it wants."""
        self._opening.add(connection)

    def open(self, connection: "_Connection", line: bytes) -> int | None:
        """Attach a peer to the bus that its first line names; its position, or None when it was refused."""
        self._opening.discard(connection)
        try:
            bus = wire.opened_bus(line)
            position = self._backplane.wiring.position(bus)
            modules = self._backplane.modules(position)
            if not modules:
                raise UnavailableError(f"the node {bus} has no power")
        except RinglightError as error:
            connection.send(f"ERR {error}\n".replace("\n", " ").rstrip().encode() + b"\n")
            return None
        connection.send(f"OK {len(modules)}\n".encode())
        for select, module in enumerate(modules):
            connection.send(wire.lines_changed(select, _lines_of(module)))
        self._connections.setdefault(position, []).append(connection)
        return position

    def leave(self, connection: "_Connection", position: int | None) -> None:
        """A peer is gone."""
        self._opening.discard(connection)
        peers = self._connections.get(-1 if position is None else position, [])
        if connection in peers:
            peers.remove(connection)
        self._hosts = {key: host for key, host in self._hosts.items() if host is not connection}

    def answer(self, request: Request, position: int, connection: "_Connection") -> bytes:
        """Do what a request says, let everything follow that comes of it, and give the reply."""
        key = position, request.select
        if request.operation == Operation.TRANSFER and self._hosts.setdefault(key, connection) is not connection:
            return wire.reply(request.id, Status.IN_USE, _IN_USE.encode())
        try:
            return wire.reply(request.id, Status.ACKNOWLEDGED, self._carry_out(request, position))
        except Nack as nack:
            return wire.reply(request.id, Status.NO_ANSWER if nack.of_address else Status.REFUSED)
        except (InvalidError, NotFoundError) as error:
            return wire.reply(request.id, Status.NONSENSE, str(error).encode())

    def _carry_out(self, request: Request, position: int) -> bytes:
        modules = self._backplane.modules(position)
        if request.select >= len(modules):
            raise NotFoundError(f"this bus has no select line {request.select}")
        module = modules[request.select]
        try:
            match request.operation:
                case Operation.TRANSFER:
                    return _transfer(request, module, self._clock())
                case Operation.SET_LINES:
                    _set_lines(request, module, self._clock())
                    return b""
                case Operation.GET_LINES:
                    module.advance(self._clock())
                    return bytes((_lines_of(module),))
                case _:
                    raise InvalidError(f"there is no operation {request.operation}")
        finally:
            self._backplane.follow(position, request.select)


class _Connection(asyncio.Protocol):
    """One peer: its first line, and then its requests."""

    def __init__(self, server: I2cServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._line = bytearray()
        self._position: int | None = None
        self._requests = wire.Requests()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own promise for a stream
        self._transport = transport
        self._patience = asyncio.get_running_loop().call_later(OPENING_SECONDS, self.drop)
        self._server.enter(self)

    def data_received(self, data: bytes) -> None:
        if self._position is None:
            data = self._open(data)
        if self._position is None:
            return
        for request in self._requests.feed(data):
            if self._is_closing():
                return  # its node lost power, or it does not read
            self.send(self._server.answer(request, self._position, self))

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # a peer may end as it likes
        self._stop_waiting()
        self._server.leave(self, self._position)

    def send(self, data: bytes) -> None:
        """Queue bytes. A peer with too much unread is cut off."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() > SEND_LIMIT:
            log.warning("a connection to a module bus does not read what it is sent; it is closed")
            self._transport.abort()
            return
        self._transport.write(data)

    def drop(self) -> None:
        """Cut the connection off; what was not sent yet is lost."""
        if self._transport is not None:
            self._transport.abort()

    def _open(self, data: bytes) -> bytes:
        """Take the first line; what comes after it."""
        self._line += data
        line, end, rest = bytes(self._line).partition(b"\n")
        if not end and len(line) <= wire.LONGEST_OPENING:
            return b""
        self._stop_waiting()
        if self._is_closing():
            return b""
        self._position = self._server.open(self, line[: wire.LONGEST_OPENING])
        self._line.clear()
        if self._position is None and self._transport is not None:
            self._transport.close()
        return rest

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()


def _lines_of(module: Module) -> int:
    return wire.lines(interrupt=module.interrupt, present=module.present)


def _transfer(request: Request, module: Module, now: float) -> bytes:
    """Write, then read. One that does neither asks whether anybody answers."""
    if request.address > _HIGHEST_ADDRESS:
        raise InvalidError(f"an address has 7 bits; {request.address:#04x} has more")
    if request.address != _ADDRESS:
        raise Nack(of_address=True)
    if request.data:
        module.write(request.data, now)
    if request.length or not request.data:
        return module.read(request.length, now)
    return b""


def _set_lines(request: Request, module: Module, now: float) -> None:
    if len(request.data) != 1 or request.data[0] & ~(_RESET | _LOW_POWER):
        raise InvalidError("lines are set with one byte: bit 0 ResetL, bit 1 LPMode")
    state = request.data[0]
    module.set_lines(reset=bool(state & _RESET), low_power=bool(state & _LOW_POWER), now=now)
