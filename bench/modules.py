"""What emulated modules cost, register by register: how many of them a core carries.

A module that rests has nothing planned, so it takes memory and no time; what takes time is being read. Modules are
read over their socket by a client in a thread of its own, one 128-byte read after another, and only the processor time
of the emulator's thread is counted. At one read a second of each module, reads a second are modules a core carries.
"""

import asyncio
import socket
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from bench.fabrics import make_spec
from bench.figures import Figure, Unit
from ringlight.emulator import i2c_wire as wire
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.i2c_wire import Operation
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.emulator.register_plant import RegisterPlant
from ringlight.emulator.sockets import listen_on
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.wiring import Wiring

_NODES, _NODES_QUICK = 64, 8
_READS, _READS_QUICK = 10_000, 2_000
_LENGTH = 128
_PAGE_SELECT = 127
_UPPER = 128  # where the page that is selected begins
_UNTIL_UP = 1000.0  # seconds, by the modules' own clock
_REPLY = wire.reply(1, wire.Status.ACKNOWLEDGED, bytes(_LENGTH))
_TRIES = 3
_PAGES = {0x00: "who it is", 0x11: "states, flags and powers"}
_FLOOR = "the same bytes from no module"

Serve = Callable[[Path], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class _Bus:
    """A bus to be read: its name, and how many modules it has."""

    name: str
    modules: int


def measure(*, quick: bool) -> list[Figure]:
    """Read modules one after another, and the same bytes from a server that has none."""
    plant, now = _modules_that_are_up(_NODES_QUICK if quick else _NODES)
    buses = [_Bus(plant.wiring.name(at), len(plant.modules(at))) for at in range(plant.wiring.size)]
    reads = _READS_QUICK if quick else _READS
    floor = _measured(_serve_bytes, [_Bus("", 1)], reads)
    figures = []
    for page, what in _PAGES.items():
        _select(plant, now, page)
        value = _measured(partial(_serve_modules, plant, now), buses, reads)
        figures += [
            Figure("modules", f"read of {_LENGTH} bytes, {what}", value, floor, _FLOOR),
            Figure("modules", f"a core carries, at one a second, {what}", 1 / value, 1 / floor, _FLOOR, Unit.RATE),
        ]
    return figures


def bytes_a_module(nodes: int = _NODES_QUICK) -> float:
    """Memory that a module takes once it is up, its share of the plant included."""
    tracemalloc.start()
    try:
        plant, _ = _modules_that_are_up(nodes)
        return tracemalloc.get_traced_memory()[0] / len(plant.every_module())
    finally:
        tracemalloc.stop()


def _modules_that_are_up(nodes: int) -> tuple[RegisterPlant, float]:
    """Modules that have come up and have nothing planned, and their time."""
    now = [0.0]
    plant = RegisterPlant(Wiring(make_spec(nodes)), "bench", _make, lambda: now[0])
    now[0] = _UNTIL_UP
    plant.trace()  # looks at every module, at this moment
    busy = sum(module.next_event() is not None for at in range(nodes) for module in plant.modules(at))
    if busy:
        raise UnavailableError(f"{busy} modules do not rest", hint="they should, once they are up")
    return plant, _UNTIL_UP


def _select(plant: RegisterPlant, now: float, page: int) -> None:
    """Have every module give a page, and read it once, so that flags that are cleared by it are."""
    for at, select in plant.every_module():
        module = plant.modules(at)[select]
        module.write(bytes((_PAGE_SELECT, page)), now)
        module.read(_LENGTH, now, _UPPER)
        plant.follow(at, select)


def _measured(serve: Serve, buses: Sequence[_Bus], reads: int) -> float:
    """The least of several tries."""
    return min(asyncio.run(_seconds_a_read(serve, buses, reads)) for _ in range(_TRIES))


def _make(node: str, bundle: int, number: int, now: float) -> Module:
    identity = ModuleIdentity(f"{node}b{bundle}m{number}")
    return Module(identity, profile=ModuleProfile(), seed=bundle * 8 + number, now=now)


@asynccontextmanager
async def _serve_modules(plant: RegisterPlant, now: float, path: Path) -> AsyncIterator[None]:
    server = I2cServer(plant, lambda: now)
    plant.moved = server.moved
    server.moved(plant.every_module())
    await server.start(path)
    try:
        yield
    finally:
        await server.stop()


@asynccontextmanager
async def _serve_bytes(path: Path) -> AsyncIterator[None]:
    """Answers everything that comes with the reply to a read, after a greeting that fits."""
    async with await listen_on(path, _Constant):
        yield


class _Constant(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own promise for a stream
        self._transport = transport
        self._is_open = False

    def data_received(self, data: bytes) -> None:
        del data
        self._transport.write(_REPLY if self._is_open else b"OK 1\n" + wire.lines_changed(0, 0))
        self._is_open = True


async def _seconds_a_read(serve: Serve, buses: Sequence[_Bus], reads: int) -> float:
    """Processor time of this thread, in which the server runs, while another thread reads."""
    with tempfile.TemporaryDirectory(prefix="ringlight-bench-") as directory:
        path = Path(directory) / "modules.sock"
        async with serve(path):
            opened = await asyncio.to_thread(_open_all, path, buses)
            try:
                began = time.thread_time()
                await asyncio.to_thread(_read_all, opened, reads)
                return (time.thread_time() - began) / reads
            finally:
                for connection, _ in opened:
                    connection.close()


def _open_all(path: Path, buses: Sequence[_Bus]) -> list[tuple[socket.socket, _Bus]]:
    opened = []
    for bus in buses:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        connection.sendall(wire.opening(bus.name))
        lines = len(wire.lines_changed(0, 0)) * bus.modules
        _receive(connection, len(f"OK {bus.modules}\n") + lines)
        opened.append((connection, bus))
    return opened


def _read_all(opened: Sequence[tuple[socket.socket, _Bus]], reads: int) -> None:
    turns = cycle([(connection, select) for connection, bus in opened for select in range(bus.modules)])
    for connection, select in islice(turns, reads):
        connection.sendall(wire.request(wire.Request(1, Operation.TRANSFER, select, 0x50, _LENGTH, bytes((_UPPER,)))))
        answer = _receive(connection, len(_REPLY))
        if answer[:-_LENGTH] != _REPLY[:-_LENGTH]:
            raise UnavailableError(f"a read of module {select} was answered {answer[:8].hex()}")


def _receive(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            raise UnavailableError("the emulator hung up")
        data += part
    return data
