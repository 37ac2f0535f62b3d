"""Modules as files, through the kernel: only where there is FUSE."""

import asyncio
import errno
import os
import signal
import socket
import stat
from pathlib import Path as FilePath

import pytest

from ringlight.agents.drivers.cmis.eeprom import EepromFile
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError
from ringlight.emulator import eeprom_files as files_module
from ringlight.emulator.eeprom_files import eeprom_files
from ringlight.emulator.eeprom_view import SIZE
from ringlight.emulator.faults import FaultKind
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
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
async def test_row_01_a_page_that_somebody_left_selected_is_not_read_as_page_00h(rack, shown):
    directory, block = shown
    async with block:
        file = EepromFile(directory / "n0-1" / "eeprom")
        await file.open()
        module = rack.plant.modules(0)[1]
        module.write(bytes((126, 0, 0xB0)), rack.now)
        assert (await file.read(0, 166, 16)).rstrip() == b"n0b0m1"
        module.write(bytes((126, 0, 0xB0)), rack.now)
        module.break_with(ModuleFault(ModuleFaultKind.PAGE_STUCK))
        with pytest.raises(ModuleTroubleError, match="page B0h of bank 0 is"):
            await file.read(0, 166, 16)
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
        monkeypatch.undo()
        assert (await asyncio.to_thread(path.read_bytes))[0] == 0x18


class Fuse:
    """What the tree needs of the binding."""

    def __init__(self):
        self.exits = 0

    def fuse_exit(self):
        self.exits += 1


@pytest.fixture
async def tree(rack):
    """What FUSE would call, without FUSE."""
    buses = I2cServer(rack.plant, lambda: rack.now)
    rack.plant.moved = buses.moved
    return files_module._Tree(Fuse(), rack.plant.wiring, buses, asyncio.get_running_loop())


async def asked(operation, *arguments):
    """The answer to a call that comes from another thread, as those of FUSE do."""
    return await asyncio.to_thread(operation, *arguments)


async def test_the_tree_has_a_directory_for_each_module_and_its_memory_in_it(rack, tree):
    assert stat.S_ISDIR((await asked(tree.getattr, "/"))["st_mode"])
    assert stat.S_ISDIR((await asked(tree.getattr, "/n3-3"))["st_mode"])
    assert (await asked(tree.getattr, "/n3-3/eeprom"))["st_size"] == SIZE
    assert (await asked(tree.readdir, "/", None))[2:5] == ["n0-0", "n0-1", "n0-2"]
    assert (await asked(tree.readdir, "/n0-0", None))[2:] == ["eeprom"]
    assert await asked(tree.read, "/n0-1/eeprom", 6, 166, None) == b"n0b0m1"
    assert await asked(tree.write, "/n0-1/eeprom", b"\x01" * 8, 0xB0 * 128 + 136, None) == 8
    assert await asked(tree.read, "/n0-1/eeprom", 8, 0xB0 * 128 + 136, None) == b"\x01" * 8
    for path in ("/n9-0", "/n0-4", "/n0-00", "/n0", "/n0-\u00b2", "/n0-0/other", "/n0-0/eeprom/x"):
        with pytest.raises(OSError, match=path) as refused:
            await asked(tree.getattr, path)
        assert refused.value.errno == errno.ENOENT
    rack.inject(FaultKind.MODULE_DEAD, "n0", bundle=0, module=1)
    with pytest.raises(OSError, match="not acknowledged") as refused:
        await asked(tree.read, "/n0-1/eeprom", 1, 0, None)
    assert refused.value.errno == errno.ENXIO
    rack.repair()
    rack.inject(FaultKind.POWER_OFF, "n0")
    with pytest.raises(OSError, match="n0-1") as refused:
        await asked(tree.read, "/n0-1/eeprom", 1, 0, None)
    assert refused.value.errno == errno.ENODEV


async def test_the_tree_ends_from_within_the_call_that_is_made_for_it(tree):
    await asked(tree.leave)
    assert tree._fuse.exits == 0
    with pytest.raises(OSError, match="leave"):
        await asked(tree.getattr, "/leave")
    assert tree._fuse.exits == 1


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


@needs_fuse
async def test_a_client_that_hangs_up_afterwards_ends_nobody(shown):
    """libfuse gives SIGPIPE its default back when it ends, and a process that ignored it would die of it."""
    _, block = shown
    async with block:
        pass

    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
    assert signal.SIGPIPE not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(BrokenPipeError):
        ours.sendmsg([b"anybody there?"], (), 0)
