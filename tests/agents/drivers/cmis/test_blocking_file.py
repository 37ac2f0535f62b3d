"""A file that blocks, and people who do not wait for it."""

import asyncio
import os
import threading
from pathlib import Path as FilePath

import pytest

from ringlight.agents.drivers.cmis import blocking_file
from ringlight.agents.drivers.cmis.blocking_file import BlockingFile
from ringlight.fabric.errors import UnavailableError

PATIENCE = 10.0  # seconds no healthy test ever waits for


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Opening takes until this is set."""
    may_open = threading.Event()
    real = os.open

    def opening(*given: object, **more: object) -> int:
        assert may_open.wait(PATIENCE)
        return real(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(blocking_file.os, "open", opening)
    return may_open


def number_of_files() -> int:
    return sum(1 for _ in FilePath("/proc/self/fd").iterdir())


def first_byte(file: int) -> bytes:
    return os.pread(file, 1, 0)


async def test_an_opening_that_nobody_waits_for_is_found_by_the_next(tmp_path: FilePath, slow: threading.Event) -> None:
    (tmp_path / "m").write_bytes(b"x")
    file = BlockingFile(tmp_path / "m", "the module", "look")
    given_up = asyncio.create_task(file.open())
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    slow.set()
    before = number_of_files()
    async with asyncio.timeout(PATIENCE):
        await file.open()
        assert await file.access(first_byte) == b"x"
        await file.close()
    assert number_of_files() <= before


async def test_what_is_closed_while_it_is_opened_is_closed_and_can_be_opened_again(
    tmp_path: FilePath, slow: threading.Event
) -> None:
    (tmp_path / "m").write_bytes(b"x")
    before = number_of_files()
    file = BlockingFile(tmp_path / "m", "the module", "look", alone=True)
    given_up = asyncio.create_task(file.open())
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    closing = asyncio.create_task(file.close())
    await asyncio.sleep(0)
    slow.set()
    async with asyncio.timeout(PATIENCE):
        await closing
        with pytest.raises(UnavailableError, match="is not open"):
            await file.access(first_byte)
        await file.open()
        assert await file.access(first_byte) == b"x"
        await file.close()
    assert number_of_files() == before


async def test_a_closing_that_nobody_waits_for_closes_all_the_same(tmp_path: FilePath) -> None:
    (tmp_path / "m").write_bytes(b"x")
    before = number_of_files()
    file = BlockingFile(tmp_path / "m", "the module", "look", alone=True)
    await file.open()
    closing = asyncio.create_task(file.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    async with asyncio.timeout(PATIENCE):
        while number_of_files() > before:  # noqa: ASYNC110 - a thread closes it
            await asyncio.sleep(0.001)
        await file.open()
        await file.close()
