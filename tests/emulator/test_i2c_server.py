"""The module socket, spoken to with bare bytes: what a driver of any make would see."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path as FilePath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringlight.emulator import i2c_server as server_module
from ringlight.emulator import i2c_wire as wire
from ringlight.emulator.faults import FaultKind
from ringlight.emulator.i2c_server import I2cServer
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ConflictError
from tests.emulator.rack import Rack

PATIENCE = 10.0  # seconds; reached only when something is broken
TRANSFER, SET_LINES, GET_LINES = 1, 2, 3
IDENTIFIER = 0x18


class Peer:
    """A client of one bus."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.lines: list[tuple[int, int]] = []
        self._last = 0

    def send(self, operation: int, select: int, data: bytes = b"", length: int = 0, address: int = 0x50) -> int:
        self._last += 1
        self.writer.write(wire.request(wire.Request(self._last, operation, select, address, length, data)))
        return self._last

    async def next(self) -> tuple[int, int, bytes] | tuple[int, int] | None:
        """The next message: a reply (id, status, data), or lines (select, lines); None at the end."""
        async with asyncio.timeout(PATIENCE):
            kind = await self.reader.read(1)
            if not kind:
                return None
            if kind == b"\x01":
                select, lines = await self.reader.readexactly(2)
                return select, lines
            request, status, length = struct.unpack(">IBH", await self.reader.readexactly(7))
            return request, status, await self.reader.readexactly(length)

    async def ask(
        self, operation: int, select: int, data: bytes = b"", length: int = 0, address: int = 0x50
    ) -> tuple[int, bytes]:
        """Status and data of a request; lines that came before are kept in `lines`."""
        request = self.send(operation, select, data, length, address)
        while True:
            message = await self.next()
            assert message is not None
            if len(message) == 3:
                assert message[0] == request
                return message[1], message[2]
            self.lines.append(message)

    async def flood(self) -> None:
        """Ask and ask, and never read."""
        async with asyncio.timeout(PATIENCE):
            while True:
                self.send(TRANSFER, 0, b"\0", 60_000)
                await self.writer.drain()

    async def read(self, select: int, address: int, length: int = 1) -> bytes:
        status, data = await self.ask(TRANSFER, select, bytes([address]), length)
        assert status == 0
        return data


class Lab:
    """A served rack."""

    def __init__(self, rack: Rack, server: I2cServer, socket: FilePath) -> None:
        self.rack = rack
        self.server = server
        self.socket = socket
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(self.socket)
        self._writers.append(writer)
        return reader, writer

    async def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def peer(self, bus: str = "n0") -> Peer:
        reader, writer = await self.connect()
        writer.write(wire.opening(bus))
        peer = Peer(reader, writer)
        assert await peer.reader.readline() == b"OK 4\n"
        for select in range(4):
            message = await peer.next()
            assert message is not None
            assert message[0] == select
            peer.lines.append(message)
        return peer

    async def answer_to(self, data: bytes) -> bytes:
        """All that comes back, until the server hangs up."""
        reader, writer = await self.connect()
        writer.write(data)
        async with asyncio.timeout(PATIENCE):
            return await reader.read()


@pytest.fixture
def rack(make_spec) -> Rack:
    rack = Rack(make_spec)
    rack.settle()
    return rack


@pytest.fixture
async def lab(rack, tmp_path) -> AsyncIterator[Lab]:
    async with _served(rack, tmp_path) as lab:
        yield lab


@asynccontextmanager
async def _served(rack: Rack, directory: FilePath) -> AsyncIterator[Lab]:
    server = I2cServer(rack.plant, lambda: rack.now)
    rack.plant.moved = server.moved
    server.moved(rack.plant.every_module())
    socket = directory / "i2c.sock"
    await server.start(socket)
    lab = Lab(rack, server, socket)
    try:
        yield lab
    finally:
        await lab.hang_up()
        await server.stop()


async def test_a_read_begins_where_it_says_or_where_the_last_one_ended(lab):
    peer = await lab.peer()
    assert await peer.read(0, 0) == bytes([IDENTIFIER])
    assert await peer.ask(TRANSFER, 0, b"", 1) == (0, b"\x54"), "the revision follows the identifier"
    assert await peer.ask(TRANSFER, 0, bytes([127, 0])) == (0, b"")
    assert await peer.read(0, 166, 16) == b"n0b0m0".ljust(16)
    assert await peer.read(3, 166, 16) == b"n0b1m1".ljust(16)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"operation": TRANSFER, "select": 0, "data": b"\0", "length": 1, "address": 0x51}, 1),
        ({"operation": TRANSFER, "select": 0, "data": b"\x80" + bytes(129)}, 2),
        ({"operation": TRANSFER, "select": 4, "data": b"\0", "length": 1}, 3),
        ({"operation": TRANSFER, "select": 0, "data": b"\0", "length": 1, "address": 0x80}, 3),
        ({"operation": SET_LINES, "select": 0, "data": b""}, 3),
        ({"operation": SET_LINES, "select": 0, "data": b"\x04"}, 3),
        ({"operation": 9, "select": 0}, 3),
    ],
)
async def test_what_is_not_acknowledged_has_its_own_status_and_the_bus_goes_on(lab, request_, status):
    peer = await lab.peer()
    got, text = await peer.ask(**request_)
    assert got == status
    assert bool(text) is (status == 3)
    assert await peer.read(0, 0) == bytes([IDENTIFIER])


async def test_a_transfer_of_nothing_asks_whether_anybody_is_there(lab):
    peer = await lab.peer()
    assert await peer.ask(TRANSFER, 1) == (0, b"")
    lab.rack.inject(FaultKind.MODULE_DEAD, "n0", bundle=0, module=1)
    assert await peer.ask(TRANSFER, 1) == (1, b"")
    assert (1, 0) in peer.lines


async def test_a_module_in_reset_does_not_answer(lab):
    peer = await lab.peer()
    assert await peer.ask(SET_LINES, 0, b"\x01") == (0, b"")
    assert await peer.ask(TRANSFER, 0, b"\0", 1) == (1, b"")
    assert await peer.ask(SET_LINES, 0, b"\x00") == (0, b"")
    assert await peer.ask(GET_LINES, 0) == (0, b"\x02")


async def test_every_peer_of_a_bus_sees_its_lines_change_before_the_reply_that_follows(lab):
    one, other, elsewhere = await lab.peer(), await lab.peer(), await lab.peer("n1")
    lab.rack.inject(FaultKind.MODULE_DEAD, "n0", bundle=0, module=1)
    for peer in (one, other):
        assert await peer.next() == (1, 0)
    assert await one.ask(GET_LINES, 1) == (0, b"\x00")
    await elsewhere.read(0, 0)
    assert len(elsewhere.lines) == 4, "no line of its bus changed"


async def test_an_interrupt_is_told_and_gone_before_the_reply_to_what_cleared_it(rack, tmp_path):
    async with _served(rack, tmp_path) as lab:
        peer = await lab.peer()
        await _clear_flags(peer)
        rack.command(0, 0, Path.PATH_1)  # nobody sends light there: the receivers lose their signal
        rack.settle()
        assert await peer.next() == (0, 3)
        await _clear_flags(peer)
        assert peer.lines[-1] == (0, 2)


async def test_a_module_has_one_host_until_that_one_hangs_up(lab):
    first, second = await lab.peer(), await lab.peer()
    assert await first.read(1, 0) == bytes([IDENTIFIER])
    assert await second.ask(TRANSFER, 1, bytes([127, 0x10])) == (4, b"another host has this module")
    assert await second.ask(GET_LINES, 1) == (0, b"\x03"), "lines are for everybody"
    assert await second.read(2, 0) == bytes([IDENTIFIER])
    assert (await first.read(1, 127)) == b"\0"
    with pytest.raises(ConflictError, match="another host"):
        lab.server.transfer(0, 1, b"\0", 1)
    assert lab.server.transfer(0, 3, b"\0", 1) == bytes([IDENTIFIER])
    first.writer.close()
    await first.writer.wait_closed()
    async with asyncio.timeout(PATIENCE):
        while (await second.ask(TRANSFER, 1, b"\0", 1))[0]:  # noqa: ASYNC110 - it is the server that sees the end
            await asyncio.sleep(0.001)


async def test_modules_move_on_by_themselves_whether_or_not_anybody_talks_to_them(make_spec, tmp_path):
    rack = Rack(make_spec)
    begin, loop = rack.now, asyncio.get_running_loop()
    start = loop.time()
    server = I2cServer(rack.plant, lambda: begin + (loop.time() - start) * 100)
    done = asyncio.Event()

    def moved(keys):
        server.moved(keys)
        if all(module.sees_light() for module in rack.plant.modules(0)):
            done.set()

    rack.plant.moved = moved
    server.moved(rack.plant.every_module())
    await server.start(tmp_path / "i2c.sock")
    try:
        async with asyncio.timeout(PATIENCE):
            await done.wait()
    finally:
        await server.stop()


async def test_a_bus_without_power_has_no_connections_and_opens_none(lab):
    gone, stays = await lab.peer("n0"), await lab.peer("n1")
    lab.rack.inject(FaultKind.POWER_OFF, "n0")
    assert await gone.next() is None
    assert await lab.answer_to(wire.opening("n0")) == b"ERR the node n0 has no power\n"
    assert await stays.read(0, 0) == bytes([IDENTIFIER])
    lab.rack.repair()
    lab.rack.settle()
    back = await lab.peer("n0")
    assert await back.read(0, 0) == bytes([IDENTIFIER])


@pytest.mark.parametrize("line", [b"RLI2C1 nowhere\n", b"GET / HTTP/1.1\r\n", b"\xff" * 300, b"\n"])
async def test_who_opens_nothing_is_told_why_in_one_line_and_let_go(lab, line):
    answer = await lab.answer_to(line)
    assert answer.startswith(b"ERR ")
    assert answer.endswith(b"\n")
    assert answer.count(b"\n") == 1


async def test_who_does_not_say_what_it_wants_is_let_go(lab, monkeypatch):
    monkeypatch.setattr(server_module, "OPENING_SECONDS", 0.01)
    assert await lab.answer_to(b"RLI2C1 n") == b""


async def test_who_does_not_read_is_disconnected(lab, monkeypatch):
    monkeypatch.setattr(server_module, "SEND_LIMIT", 10_000)
    peer = await lab.peer()
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        await peer.flood()
    other = await lab.peer()
    assert await other.read(0, 0) == bytes([IDENTIFIER])


async def test_a_socket_that_somebody_listens_on_is_not_taken(lab):
    with pytest.raises(ConflictError):
        await I2cServer(lab.rack.plant, lambda: 0.0).start(lab.socket)


@given(st.binary(max_size=400), st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_bring_the_server_down(make_spec, tmp_path_factory, data, opens):
    async def run() -> None:
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        async with _served(Rack(make_spec, 2), tmp_path_factory.mktemp("bus")) as lab:
            reader, writer = await lab.connect()
            writer.write((wire.opening("n0") if opens else b"") + data)
            writer.write_eof()
            async with asyncio.timeout(PATIENCE):
                await reader.read()
            lab.rack.settle()
            peer = await lab.peer("n1")
            assert await peer.read(0, 0) == bytes([IDENTIFIER])
        assert failures == []

    asyncio.run(run())


async def _clear_flags(peer: Peer) -> None:
    """Read every flag that modules have: those of the lower memory, and those of the lanes on page 11h."""
    await peer.read(0, 8, 6)
    assert await peer.ask(TRANSFER, 0, bytes([126, 0, 0x11])) == (0, b"")
    await peer.read(0, 134, 20)
    assert await peer.ask(TRANSFER, 0, bytes([126, 0, 0xB0])) == (0, b"")
    await peer.read(0, 204, 1)
