"""Modules as files, through the kernel: only where there is FUSE."""

import asyncio
import errno
import os
from pathlib import Path as FilePath

import pytest

from ringlight.agents.drivers.cmis.eeprom import EepromFile
from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError
from ringlight.emulator import eeprom_files as files_module
from ringlight.emulator.eeprom_files import eeprom_files
from ringlight.emulator.eeprom_view import SIZE
from ringlight.emulator.faults import FaultKind
from ringlight.emulator.i2c_server import I2cServer
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import InvalidError, UnavailableError
from tests.emulator.fuse import needs_fuse
from tests.emulator.rack import Rack


@pytest.fixture
def rack(make_spec):
    rack = Rack(make_spec)
    rack.settle()
    return rack


@pytest.fixture
def shown(rack, tmp_path):
    """A directory, and the block in which it shows the rack's modules."""
    buses = I2cServer(rack.plant, lambda: rack.now)
    rack.plant.moved = buses.moved
    directory = tmp_path / "modules"
    return directory, eeprom_files(directory, rack.plant.wiring, buses)


@needs_fuse
async def test_every_module_is_a_file_while_its_node_has_power(rack, shown):
    directory, block = shown
    async with block:
        assert len(await asyncio.to_thread(os.listdir, directory)) == 16
        size = (await asyncio.to_thread(os.stat, directory / "n1-3" / "eeprom")).st_size
        assert size == SIZE
        rack.inject(FaultKind.POWER_OFF, "n1")
        assert len(await asyncio.to_thread(os.listdir, directory)) == 12
        assert not await asyncio.to_thread((directory / "n1-3" / "eeprom").exists)
        for name in ("n1-4", "n1-03", "nobody-0", "n1", "n1-0/other"):
            assert not await asyncio.to_thread((directory / name).exists)
    assert not directory.is_mount()


@needs_fuse
async def test_the_driver_reads_and_writes_them_as_it_does_those_of_a_kernel(rack, shown):
    directory, block = shown
    async with block:
        file = EepromFile(directory / "n0-1" / "eeprom")
        await file.open()
        try:
            assert (await file.read(0, 166, 16)).rstrip() == b"n0b0m1"
            assert await file.read(0xB0, 128, 4) == b"OCS1"
            await file.write(0xB0, 136, bytes([1] * 8))
            await file.write(0xB0, 152, b"\x01")
            await file.write(0xB0, 160, b"\x01")
            rack.settle()
            assert rack.plant.modules(0)[1].path() is Path.PATH_1
            rack.inject(FaultKind.MODULE_DEAD, "n0", bundle=0, module=1)
            with pytest.raises(NotAcknowledgedError):
                await file.read(0, 0, 1)
            rack.repair()
            rack.inject(FaultKind.POWER_OFF, "n0")
            with pytest.raises(UnavailableError):
                await file.read(0, 0, 1)
        finally:
            await file.close()


@needs_fuse
async def test_a_loop_that_is_busy_costs_an_access_and_not_the_files(shown, monkeypatch):
    monkeypatch.setattr(files_module, "_ANSWER_WITHIN", 0.05)
    directory, block = shown
    async with block:
        path = directory / "n0-0" / "eeprom"
        # The loop's own thread asks, and so cannot answer.
        with pytest.raises(OSError, match=os.strerror(errno.ETIMEDOUT)):
            os.stat(path)  # noqa: PTH116
        assert (await asyncio.to_thread(path.read_bytes))[0] == 0x18


async def test_a_directory_with_something_in_it_is_left_alone(rack, tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "_load_fuse", lambda: None)
    (tmp_path / "mine").write_text("x")
    buses = I2cServer(rack.plant, lambda: rack.now)
    with pytest.raises(InvalidError, match="not empty"):
        async with eeprom_files(tmp_path, rack.plant.wiring, buses):
            pass


async def test_without_fuse_it_is_said_what_is_missing(rack, tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "_DEVICE", FilePath("/nowhere/fuse"))
    buses = I2cServer(rack.plant, lambda: rack.now)
    with pytest.raises(UnavailableError, match="/nowhere/fuse"):
        async with eeprom_files(tmp_path, rack.plant.wiring, buses):
            pass
