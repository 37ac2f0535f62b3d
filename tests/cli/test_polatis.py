"""`ringlight emulator polatis` as a process."""

import asyncio
from pathlib import Path

import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.emulator.stack import Daemon, StackError

PATIENCE = 20.0  # seconds; reached only when something is broken


async def _ask(address: str, *questions: str) -> list[str]:
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            answers = []
            for question in questions:
                writer.write(f"{question}\n".encode())
                answers.append((await reader.readline()).decode().rstrip())
            return answers
        finally:
            writer.close()


async def test_it_says_where_it_listens_and_is_what_it_was_told_to_be(tmp_path: Path) -> None:
    options = "--size 24x8 --listen 127.0.0.1:0 --no-monitors --boot-mode dark --serial 0815 --seed 4"
    daemon = Daemon("switch", ["emulator", "polatis", *options.split()], tmp_path / "log")
    await daemon.start()
    questions = "*idn?", ":oxc:swit:size?", ":oxc:boot:mode?", ":oxc:swit:conn:add (@1),(@25);*opc?;stat?"
    answers = await _ask(daemon.addresses["scpi"], *questions)
    assert answers == ["Polatis,I-OST-24x8-LA1-DMHNS,0815,6.5.2.18", "24,8", "DARK", "1;(@1),(@25)"]
    assert await daemon.stop() == 0


async def test_an_address_that_is_taken_ends_it_with_a_message(tmp_path: Path) -> None:
    first = Daemon("switch", ["emulator", "polatis", "--listen", "127.0.0.1:0"], tmp_path / "first")
    await first.start()
    second = Daemon("switch", ["emulator", "polatis", "--listen", first.addresses["scpi"]], tmp_path / "second")
    with pytest.raises(StackError, match=f"cannot listen at {first.addresses['scpi']}"):
        await second.start()
    assert await first.stop() == 0


def test_a_size_that_is_none_is_refused(ringlight) -> None:
    for size in ("16", "0x4", "4x9999", "axb"):
        outcome = ringlight("emulator", "polatis", "--size", size)
        assert outcome.code == ExitCode.ERROR
        assert "16x16" in outcome.err
