"""The socket of an emulated switch: several clients, dropped ones, power that goes and comes."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from ringlight.emulator.polatis.instrument import Instrument
from ringlight.emulator.polatis.matrix import BootMode, Matrix
from ringlight.emulator.polatis.server import PolatisServer
from ringlight.fabric.errors import InvalidError

PATIENCE = 10.0  # seconds; reached only when something is broken


class Client:
    """A client that knows nothing of anything."""

    def __init__(self, reader, writer) -> None:
        self.reader, self.writer = reader, writer

    def say(self, line: str) -> None:
        self.writer.write(line.encode())

    async def hear(self) -> str:
        async with asyncio.timeout(PATIENCE):
            return (await self.reader.readline()).decode()

    async def ask(self, line: str) -> str:
        self.say(f"{line}\n")
        return await self.hear()

    async def until_cut_off(self) -> None:
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError):
                assert await self.reader.read() == b""


@asynccontextmanager
async def dial(server):
    host, _, port = server.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


@pytest.fixture
async def server():
    running = PolatisServer(Instrument(Matrix(4, 4, seed=1), "N-OST-4x4-LA1-DMHNS", "4711"))
    await running.start("127.0.0.1:0")
    yield running
    await running.stop()


async def test_lines_may_end_either_way_and_answers_end_one_way(server):
    async with dial(server) as client:
        client.say("*opc?\r\n\n\r\n:oxc:swit:size?\n")
        assert [await client.hear(), await client.hear()] == ["1\r\n", "4,4\r\n"]


async def test_several_clients_share_one_switch_and_its_errors(server):
    async with dial(server) as one, dial(server) as other:
        assert await one.ask(":oxc:swit:conn:add (@1),(@5);*opc?") == "1\r\n"
        assert await other.ask(":oxc:swit:conn:stat?") == "(@1),(@5)\r\n"
        other.say(":oxc:swit:conn:add (@1),(@6)\n")
        assert await other.ask("*opc?") == "1\r\n"
        assert await one.ask(":syst:err?") == '-221,"Settings conflict"\r\n'


async def test_who_waits_for_the_mirrors_keeps_nobody_else_waiting(server):
    async with dial(server) as one, dial(server) as other:
        assert await one.ask(":emul:slow 60;*opc?") == "1\r\n"
        one.say(":oxc:swit:conn:add (@1),(@5);*opc?\n")
        while server._instrument.matrix.moves == 0:
            await other.ask("*stb?")
        assert await other.ask(":oxc:swit:conn:stat?") == "(@),(@)\r\n"


async def test_a_client_that_sends_no_end_is_cut_off(server):
    async with dial(server) as client:
        client.say("x" * 200_000)
        await client.until_cut_off()
    async with dial(server) as client:
        assert await client.ask("*opc?") == "1\r\n"


async def test_bytes_that_are_no_text_are_a_syntax_error(server):
    async with dial(server) as client:
        client.writer.write(b"\xff\xfe\x00\n")
        assert (await client.ask(":syst:err?")).startswith("-102")


async def test_drop_cuts_everybody_off_and_they_may_come_again(server):
    async with dial(server) as one, dial(server) as other:
        assert [await client.ask("*opc?") for client in (one, other)] == ["1\r\n"] * 2
        one.say(":oxc:swit:conn:add (@1),(@5);:emul:drop\n")
        await other.until_cut_off()
        await one.until_cut_off()
    async with dial(server) as again:
        assert await again.ask("*opc?;:oxc:swit:conn:stat?") == "1;(@1),(@5)\r\n"


async def test_a_mute_switch_obeys(server):
    async with dial(server) as client:
        client.say(":emul:mute 0.2;:oxc:swit:conn:add (@1),(@5)\n*idn?\n")
        began = asyncio.get_running_loop().time()
        while True:
            client.say("*opc?;:oxc:swit:conn:stat?\n")
            try:
                async with asyncio.timeout(0.05):
                    answer = await client.reader.readline()
            except TimeoutError:
                continue
            break
        assert answer == b"1;(@1),(@5)\r\n", "what was asked in the silence is never answered"
        assert asyncio.get_running_loop().time() - began > 0.1


async def test_without_power_nobody_gets_in_and_the_boot_mode_says_what_is_left(server):
    server._instrument.matrix.boot_mode = BootMode.DARK
    async with dial(server) as client:
        assert await client.ask(":oxc:swit:conn:add (@1),(@5);*opc?") == "1\r\n"
        client.say(":emul:pow:cycl 0.1\n")
        await client.until_cut_off()
    refused = 0
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                async with dial(server) as client:
                    assert await client.ask(":oxc:swit:conn:stat?") == "(@),(@)\r\n"
                    break
            except ConnectionRefusedError:
                refused += 1
                await asyncio.sleep(0.01)
    assert refused


async def test_an_address_that_is_taken_is_named(server):
    second = PolatisServer(Instrument(Matrix(1, 1), "N-OST-1x1-LA1", "1"))
    with pytest.raises(InvalidError, match=server.address):
        await second.start(server.address)
    await second.stop()


async def test_clients_beyond_the_limit_are_turned_away(server, monkeypatch):
    monkeypatch.setattr("ringlight.emulator.polatis.server._MOST_CLIENTS", 1)
    async with dial(server) as one:
        assert await one.ask("*opc?") == "1\r\n"
        async with dial(server) as other:
            await other.until_cut_off()
        assert await one.ask("*opc?") == "1\r\n"
