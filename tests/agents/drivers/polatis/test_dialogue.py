"""Whatever answers at the address, it is the switch that is meant, or it is left alone in time."""

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest

from ringlight.agents.drivers.polatis.dialogue import Expected, boot_mode, errors, greet, look
from ringlight.agents.drivers.polatis.wire import Wire
from ringlight.fabric.errors import UnavailableError

SOUND = {
    "*idn?": "Polatis,N-OST-16x16-LA1-DMHNS,4711,6.5.2.18",
    ":oxc:swit:size?": "16,16",
    ":syst:err?": '0,"No error"',
    ":oxc:boot:mode?": "AUT",
}


@asynccontextmanager
async def wired(answers, within=5.0):
    """A wire to something that answers as told: with a line, raw bytes, or, for None, by hanging up."""
    heard = []

    async def serve(reader, writer):
        async for line in reader:
            heard.append(line.decode().strip())
            answer = answers.get(heard[-1], b"")
            if answer is None:
                break
            writer.write(answer if isinstance(answer, bytes) else f"{answer}\r\n".encode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    wire = await Wire.dial("lab", f"{host}:{port}", within)
    try:
        yield wire, heard
    finally:
        await wire.close()
        server.close()
        await server.wait_closed()


def _expected(patch, **more):
    return Expected(**{"name": "lab", "patch": patch, "serial": "", "monitors": False, **more})


async def test_the_switch_that_is_meant_is_asked_and_told_nothing(patch):
    async with wired(SOUND) as (wire, heard):
        assert (await greet(wire, _expected(patch, serial="4711", monitors=True))).serial == "4711"
        assert await boot_mode(wire) == "AUT"
    assert heard == list(SOUND)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"*idn?": "ACME,N-OST-16x16-LA1,1,1"}, "no Polatis switch"),
        ({"*idn?": "hello"}, "'hello'"),
        ({":oxc:swit:size?": "8,24"}, "port 9, 10"),
        ({":oxc:swit:size?": "24,24"}, "egresses 25..48"),
        ({":oxc:swit:size?": "many"}, "'many'"),
        ({":syst:err?": "ok"}, "'ok'"),
        ({":oxc:swit:size?": None}, "closed the connection"),
        ({":oxc:swit:size?": b"16,1"}, "did not answer"),
        ({":oxc:swit:size?": b"1" * 200_000}, "broke"),
        ({":oxc:swit:size?": b""}, "did not answer ':oxc:swit:size?' within 0.2 s"),
    ],
)
async def test_anything_else_is_left_alone_and_named(patch, answers, said):
    async with wired(SOUND | answers, within=0.2) as (wire, heard):
        with pytest.raises(UnavailableError, match=said.replace("?", r"\?").replace(".", r"\.")):
            await greet(wire, _expected(patch))
        assert all(line.endswith("?") for line in heard)


async def test_a_maker_may_have_another_name(patch):
    async with wired(SOUND | {"*idn?": "HUBER+SUHNER,OST-16x16,1,1"}) as (wire, _):
        await greet(wire, _expected(patch))


async def test_a_model_that_contradicts_its_size_is_believed_its_size(patch, caplog):
    caplog.set_level(logging.WARNING)
    async with wired(SOUND | {"*idn?": "Polatis,N-OST-48x48-LA1,1,1"}) as (wire, _):
        await greet(wire, _expected(patch))
    assert "says that it is 16x16" in caplog.text


async def test_an_error_queue_without_an_end_is_not_read_for_ever():
    async with wired({":syst:err?": '-100,"again"'}) as (wire, heard):
        assert {error.code for error in await errors(wire)} == {-100}
        assert len(heard) < 100


async def test_a_reading_asks_for_powers_only_with_monitors(patch):
    sound = {
        ":oxc:swit:conn:stat?": "(@1),(@17)",
        f":oxc:swit:port:stat? (@{','.join(map(str, range(1, 33)))})": f"({','.join('E' * 32)})",
        f":pmon:pow? (@{','.join(map(str, range(1, 33)))})": f"({','.join(['-3.0'] * 32)})",
    }
    async with wired(sound) as (wire, heard):
        plain = await look(wire, patch, monitors=False, boot_mode="AUT")
        assert (plain.connections, plain.powers, plain.boot_mode) == ({1: 17}, {}, "AUT")
        assert len(heard) == 2
        measured = await look(wire, patch, monitors=True, boot_mode="AUT")
        assert measured.powers == dict.fromkeys(range(1, 33), -3.0)


async def test_nobody_at_the_address():
    with pytest.raises(UnavailableError, match=r"does not answer at 127\.0\.0\.1:1"):
        await Wire.dial("lab", "127.0.0.1:1", 1.0)
    with pytest.raises(UnavailableError, match="does not answer"):
        await Wire.dial("lab", "no-such-host.invalid:5025", 5.0)
    with pytest.raises(UnavailableError, match="does not answer"):
        await Wire.dial("lab", "127.0.0.1:99999", 1.0)
