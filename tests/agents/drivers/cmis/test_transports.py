"""Ways to a module: an I2C adapter whose kernel the test plays, and the emulator's own bus."""

import asyncio
import ctypes
import errno
import sys
from asyncio.subprocess import PIPE
from pathlib import Path as FilePath

import pytest

from ringlight.agents.drivers.cmis.access import PagedMemory
from ringlight.agents.drivers.cmis.i2c_device import I2C_M_RD, I2C_RDWR, I2cDevice, I2cTransfer
from ringlight.agents.drivers.cmis.socket_bus import SocketBus, SocketTransfers
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError, Trouble
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import Module, Nack
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.fabric.errors import UnavailableError
from tests.emulator.rack import Rack


class Kernel:
    """Plays I2C_RDWR for a module at address 50h."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.now = 10.0
        self.errno = 0

    def ioctl(self, _file: int, request: int, transfer: I2cTransfer) -> int:
        assert request == I2C_RDWR
        if self.errno:
            raise OSError(self.errno, "no")
        try:
            for message in transfer.msgs[: transfer.nmsgs]:
                assert message.addr == 0x50
                if message.flags & I2C_M_RD:
                    answer = self.module.read(message.len, self.now)
                    ctypes.memmove(message.buf, answer, len(answer))
                else:
                    self.module.write(bytes(message.buf[: message.len]), self.now)
        except Nack:
            raise OSError(errno.ENXIO, "nobody answers") from None
        return int(transfer.nmsgs)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel(Module(ModuleIdentity("SN1"), profile=ModuleProfile(), seed=1, now=0.0))


@pytest.fixture
async def adapter(kernel: Kernel, tmp_path: FilePath):
    path = tmp_path / "i2c-7"
    path.touch()
    device = I2cDevice(path, kernel.ioctl)
    yield PagedMemory(device)
    await device.close()


async def test_a_module_on_an_adapter_is_read_and_written(adapter: PagedMemory) -> None:
    await adapter.open()

    assert await adapter.read(0, 0, 2) == b"\x18\x54"
    assert await adapter.read(0x00, 129, 16) == b"RINGLIGHT       "
    await adapter.write(0x13, 184, b"ringlght")
    assert await adapter.read(0x13, 184, 8) == b"ringlght"


@pytest.mark.parametrize("number", [errno.EIO, errno.ENXIO, errno.EREMOTEIO, errno.ETIMEDOUT])
async def test_a_module_that_does_not_answer_is_not_an_adapter_that_is_gone(
    adapter: PagedMemory, kernel: Kernel, number: int
) -> None:
    await adapter.open()
    kernel.errno = number
    with pytest.raises(NotAcknowledgedError):
        await adapter.read(0, 0, 1)
    kernel.errno = errno.ENODEV
    with pytest.raises(UnavailableError, match="is gone"):
        await adapter.read(0, 0, 1)


async def test_an_adapter_that_there_is_not(tmp_path: FilePath) -> None:
    device = I2cDevice(tmp_path / "i2c-9")
    with pytest.raises(UnavailableError, match=r"i2c-9 cannot be opened: .* file") as caught:
        await device.open()
    assert "i2c-dev" in caught.value.hint
    with pytest.raises(UnavailableError, match="is not open"):
        await device.transfer(b"\0", 1)


async def test_an_adapter_is_opened_by_one_process_at_a_time(tmp_path: FilePath) -> None:
    path = tmp_path / "i2c-0"
    path.touch()
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", _HOLDER, path, stdout=PIPE)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"open\n"
    device = I2cDevice(path)
    with pytest.raises(UnavailableError, match=r"i2c-0 is in use by another process") as caught:
        await device.open()
    assert "stop the agent first" in caught.value.hint
    holder.kill()
    await holder.wait()
    await device.open()  # the kernel let go of it with the process
    other = I2cDevice(path)
    with pytest.raises(UnavailableError, match="in use"):
        await other.open()
    await device.close()
    await other.open()
    await other.close()


_HOLDER = """
import asyncio, sys
from pathlib import Path
from ringlight.agents.drivers.cmis.i2c_device import I2cDevice

async def hold():
    await I2cDevice(Path(sys.argv[1])).open()
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


async def test_a_page_that_does_not_take_is_told_with_what_is_there_instead(
    adapter: PagedMemory, kernel: Kernel
) -> None:
    await adapter.open()
    await adapter.read(0x11, 128, 1)
    kernel.module.break_with(ModuleFault(ModuleFaultKind.PAGE_STUCK))
    with pytest.raises(ModuleTroubleError, match=r"page 10h was selected, and page 11h of bank 0 is") as caught:
        await adapter.read(0x10, 128, 1)
    assert caught.value.code is Trouble.PAGE


# -- the bus over a socket ---------------------------------------------------------------------------------------------


@pytest.fixture
def rack(make_spec) -> Rack:
    rack = Rack(make_spec)
    rack.settle()
    return rack


@pytest.fixture
async def served(rack: Rack, tmp_path: FilePath):
    """The rack's buses on a socket; its own clock stands still unless a test moves it."""
    server = I2cServer(rack.plant, lambda: rack.now)
    rack.plant.moved = server.moved
    server.moved(rack.plant.every_module())
    await server.start(tmp_path / "modules.sock")
    yield tmp_path / "modules.sock"
    await server.stop()


async def test_modules_of_a_bus_share_one_connection(served: FilePath) -> None:
    bus = SocketBus(served, "n0")
    first, second = PagedMemory(SocketTransfers(bus, 0)), PagedMemory(SocketTransfers(bus, 1))
    await asyncio.gather(first.open(), second.open())

    serials = await asyncio.gather(first.read(0, 166, 16), second.read(0, 166, 16))

    assert serials[0] != serials[1]
    assert first.is_present()
    await asyncio.gather(first.close(), second.close())


async def test_a_module_on_a_bus_has_one_host_at_a_time(served: FilePath) -> None:
    agent, bench = (PagedMemory(SocketTransfers(SocketBus(served, "n0"), 0)) for _ in range(2))
    beside = PagedMemory(SocketTransfers(SocketBus(served, "n0"), 1))
    for one in (agent, bench, beside):
        await one.open()
    before = await agent.read(0x11, 128, 4)
    with pytest.raises(UnavailableError, match="is in use by another process") as caught:
        await bench.read(0x10, 128, 8)
    assert "stop the agent first" in caught.value.hint
    await beside.read(0, 128, 1)  # another module of the same node
    assert await agent.read(0x11, 128, 4) == before
    await agent.close()
    await bench.read(0x10, 128, 8)
    for one in (bench, beside):
        await one.close()


async def test_a_line_that_changes_wakes_who_waits_for_that_module_only(served: FilePath, rack: Rack) -> None:
    bus = SocketBus(served, "n0")
    first, second = SocketTransfers(bus, 0), SocketTransfers(bus, 1)
    await asyncio.gather(first.open(), second.open())
    for one in (first, second):
        async with asyncio.timeout(5):
            await one.interrupted()  # the lines as they are at the beginning
    waiting = [asyncio.create_task(one.interrupted()) for one in (first, second)]
    rack.plant.inject(FaultRequest(FaultKind.MODULE_DEAD, "n0", module=1))

    async with asyncio.timeout(5):
        await waiting[1]
    assert not waiting[0].done()
    assert not second.is_present()
    with pytest.raises(NotAcknowledgedError):
        await second.transfer(b"\0", 1)
    waiting[0].cancel()
    await asyncio.gather(first.close(), second.close())


async def test_a_transfer_that_nobody_waits_for_any_more_disturbs_no_other(served: FilePath) -> None:
    transfers = SocketTransfers(SocketBus(served, "n0"), 0)
    await transfers.open()
    for _ in range(20):
        given_up = asyncio.create_task(transfers.transfer(b"\x80", 16))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait([given_up])
        assert await transfers.transfer(b"\0", 2) == b"\x18\x54"
    await transfers.close()


@pytest.mark.parametrize(
    ("bus", "select", "said"), [("n99", 0, "there is no module bus n99"), ("n0", 77, "no select line 77")]
)
async def test_what_there_is_not(served: FilePath, bus: str, select: int, said: str) -> None:
    transfers = SocketTransfers(SocketBus(served, bus), select)
    with pytest.raises(UnavailableError, match=said):
        await _first_byte(transfers)
    await transfers.close()


async def test_a_node_that_loses_power_ends_whatever_waits_and_comes_back_to_who_opens_anew(
    served: FilePath, rack: Rack
) -> None:
    bus = SocketBus(served, "n1")
    transfers = SocketTransfers(bus, 0)
    await transfers.open()
    await transfers.interrupted()
    waiting = asyncio.create_task(transfers.interrupted())
    await asyncio.sleep(0)
    off, _ = rack.plant.inject(FaultRequest(FaultKind.POWER_OFF, "n1"))

    with pytest.raises(UnavailableError, match="bus of n1 ended"):
        async with asyncio.timeout(5):
            await waiting
    with pytest.raises(UnavailableError):
        await transfers.transfer(b"\0", 1)
    await transfers.close()
    with pytest.raises(UnavailableError, match="no power"):
        await transfers.open()
    rack.plant.repair(off.id)
    rack.settle()
    await transfers.open()
    assert await transfers.transfer(b"\0", 1) == b"\x18"
    await transfers.close()


async def test_whoever_speaks_another_language_is_let_go(tmp_path: FilePath) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"OK 2\n\x07")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(answer, tmp_path / "s")
    transfers = SocketTransfers(SocketBus(tmp_path / "s", "n0"), 0)
    await transfers.open()
    with pytest.raises(UnavailableError, match="speaks another language"):
        await transfers.transfer(b"\0", 1)
    await transfers.close()
    server.close()
    await server.wait_closed()


async def test_nobody_at_the_socket(tmp_path: FilePath) -> None:
    with pytest.raises(UnavailableError, match="does not answer") as caught:
        await SocketTransfers(SocketBus(tmp_path / "none", "n0"), 0).open()
    assert "--modules registers" in caught.value.hint


async def _first_byte(transfers: SocketTransfers) -> bytes:
    await transfers.open()
    return await transfers.transfer(b"\0", 1)
