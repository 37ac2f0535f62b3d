"""Modules as files are gone when their emulator was told to stop, whoever still has one open."""

import asyncio
import contextlib
import errno
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from ringlight.emulator.stack import Daemon
from tests.emulator.fuse import needs_fuse

pytestmark = [pytest.mark.e2e, needs_fuse]

FABRIC = {
    "name": "lab",
    "k": 2,
    "gpus": 4,
    "bundles": [{"edge": 0, "modules": 1}, {"edge": 2, "modules": 1}],
    "nodes": {"count": 5},
}
PATIENCE = 5.0  # seconds; less than `Daemon.stop` waits before it kills


@pytest.fixture
async def emulator(tmp_path: Path) -> AsyncIterator[Daemon]:
    (tmp_path / "fabric.yaml").write_text(yaml.safe_dump(FABRIC))
    what = "--fabric", str(tmp_path / "fabric.yaml"), "--no-agents", "--modules", "registers"
    places = "--socket", str(tmp_path / "hardware.sock"), "--eeprom-files", str(tmp_path / "modules")
    daemon = Daemon(
        "emulator", ["emulator", "run", *what, *places, "--listen", "127.0.0.1:0"], tmp_path / "emulator.log"
    )
    await daemon.start()
    yield daemon
    await daemon.stop()


async def assert_ends_in_order(emulator: Daemon, number: signal.Signals, modules: Path) -> None:
    emulator.signal(number)
    async with asyncio.timeout(PATIENCE):
        assert await emulator.wait() == 0
    assert not await asyncio.to_thread(modules.is_mount)
    assert await asyncio.to_thread(os.listdir, modules) == []


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A file that may have lost its file system by the time it is closed, which is then said to whoever closes it."""
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            os.close(file)


class Reader(threading.Thread):
    """Reads a module again and again, until that fails after it had worked."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.began = threading.Event()
        self.error: OSError | None = None
        self._path = path

    def run(self) -> None:
        with opened(self._path) as file:
            while self.error is None:
                try:
                    os.pread(file, 128, 0)
                    self.began.set()
                except OSError as error:
                    if self.began.is_set() or error.errno != errno.ENXIO:  # a module answers a while after power came
                        self.error = error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_file_that_is_open_keeps_no_emulator_from_ending(
    tmp_path: Path, emulator: Daemon, number: signal.Signals
) -> None:
    modules = tmp_path / "modules"
    with opened(modules / "n0-0" / "eeprom") as file:
        await assert_ends_in_order(emulator, number, modules)
        with pytest.raises(OSError, match=os.strerror(errno.ENOTCONN)):
            os.pread(file, 1, 0)


async def test_nor_does_somebody_who_reads_on(tmp_path: Path, emulator: Daemon) -> None:
    modules = tmp_path / "modules"
    reader = Reader(modules / "n1-1" / "eeprom")
    reader.start()
    assert await asyncio.to_thread(reader.began.wait, PATIENCE), reader.error
    await assert_ends_in_order(emulator, signal.SIGTERM, modules)
    await asyncio.to_thread(reader.join, PATIENCE)
    assert not reader.is_alive()
    assert reader.error is not None, "who reads on is told that the module is gone"
