"""Reading emulated modules, sound and broken, without driving them."""

import asyncio

import pytest

from ringlight.agents.drivers.cmis import bench
from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import PagedMemory
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import CdbMode, ModuleIdentity, ModuleProfile
from tests.agents.drivers.cmis.world import QUICK, Wires

FLAGS = {LOWER: range(8, 14), reg.LANE_STATUS: range(134, 154), reg.OCSTRX: range(204, 205)}


class Heard(Wires):
    """Wires on which everything is heard: what was read by page, and what was written."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.read: set[tuple[int, int]] = set()
        self.written: set[bytes] = set()
        self._page = 0

    async def transfer(self, data: bytes, length: int) -> bytes:
        answer = await super().transfer(data, length)
        if len(data) > 1:
            self.written.add(data[:2])
            self._page = data[2] if data[0] == 126 else self._page
        at = range(data[0], data[0] + length)
        self.read |= {(LOWER if byte < 128 else self._page, byte) for byte in at}
        return answer


def _module(profile: ModuleProfile | None = None) -> Module:
    now = asyncio.get_running_loop().time()
    module = Module(ModuleIdentity("SN"), profile=profile or ModuleProfile(), seed=1, now=now, scale=QUICK)
    while (due := module.next_event()) is not None:
        module.advance(due)
    return module


async def _opened(wires: Wires) -> PagedMemory:
    memory = PagedMemory(wires)
    await memory.open()
    return memory


async def test_everything_is_read_but_flags_and_nothing_is_written_but_pages() -> None:
    wires = Heard(_module())
    pages, unread = await bench.read_everything(await _opened(wires), flags=False)

    assert (list(pages), unread) == (list(SHOWN), {})
    assert wires.written == {bytes((126, 0))}
    for page, flags in FLAGS.items():
        assert not {byte for seen, byte in wires.read if seen == page} & set(flags)
        assert not pages[page].keys() & set(flags)


async def test_flags_are_read_when_they_are_asked_for() -> None:
    pages, _ = await bench.read_everything(await _opened(Wires(_module())), flags=True)

    assert all(set(flags) <= pages[page].keys() for page, flags in FLAGS.items())


async def test_glimpses_and_parts_take_no_flags() -> None:
    wires = Heard(_module())
    memory = await _opened(wires)
    await bench.read_glimpse(memory, flags=False)
    known = await bench.read_part(memory, reg.LANE_STATUS, range(130, 160), flags=False)

    assert known.keys() == {*range(130, 134), *range(154, 160)}
    for page, flags in FLAGS.items():
        assert not {byte for seen, byte in wires.read if seen == page} & set(flags)


async def test_a_glimpse_with_flags_lets_go_of_the_interrupt() -> None:
    module = _module()
    assert module.interrupt  # of its start, which nobody has read yet
    await bench.read_glimpse(await _opened(Wires(module)), flags=True)
    assert not module.interrupt


async def test_a_silent_module_is_not_asked_for_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_PATIENCE", 0.0)
    module = _module()
    module.break_with(ModuleFault(ModuleFaultKind.DEAD))
    wires = Heard(module)
    pages, unread = await bench.read_everything(await _opened(wires), flags=False)

    assert (pages, unread) == ({}, {LOWER: "it does not answer"})
    assert not wires.written


async def test_pages_that_there_are_not_are_said_to_be_missing() -> None:
    profile = ModuleProfile(vendor_page=False, lane_switching=False, cdb=CdbMode.NONE)
    pages, unread = await bench.read_everything(await _opened(Wires(_module(profile))), flags=False)

    assert set(unread) == {reg.LANE_SWITCHING, reg.COMMANDS, reg.OCSTRX}
    assert set(pages) == set(SHOWN) - set(unread)


async def test_a_module_that_shows_page_00h_for_everything_is_not_believed() -> None:
    module = _module()
    module.break_with(ModuleFault(ModuleFaultKind.PAGE_00_ONLY))
    memory = await _opened(Wires(module))
    pages, unread = await bench.read_everything(memory, flags=False)

    assert set(pages) == {LOWER, reg.ADMINISTRATIVE}
    assert set(unread.values()) == {"it shows page 00h instead"}
    glimpsed, _ = await bench.read_glimpse(memory, flags=False)
    assert set(glimpsed) == {LOWER, reg.ADMINISTRATIVE}
    assert await bench.shows_page_00h(memory, await bench.read_part(memory, 0x11, range(128, 256), flags=False))


async def test_pages_of_their_own_are_not_page_00h() -> None:
    memory = await _opened(Wires(_module()))

    assert not await bench.shows_page_00h(memory, await bench.read_part(memory, 0x11, range(128, 256), flags=False))
    assert not await bench.shows_page_00h(memory, {190: 0x20, 191: 0x20})  # padding, which might be anything's


async def test_a_page_that_does_not_answer_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_PATIENCE", 0.0)
    module = _module()
    module.write(bytes((126, 0, 0xB0)), asyncio.get_running_loop().time())
    module.break_with(ModuleFault(ModuleFaultKind.NACK_RESTORE))
    pages, unread = await bench.read_everything(await _opened(Wires(module)), flags=False)

    assert unread == {reg.ADMINISTRATIVE: "it does not acknowledge this"}
    assert len(pages) == len(SHOWN) - 1


async def test_what_is_not_there_is_told_from_what_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BOOT_PATIENCE", 0.0)
    module = _module()
    memory = await _opened(Wires(module))
    await bench.await_answer(memory)

    module.break_with(ModuleFault(ModuleFaultKind.NACK_STORM, amount=1.0))
    with pytest.raises(ModuleTroubleError, match="it does not answer"):
        await bench.await_answer(memory)
    module.break_with(ModuleFault(ModuleFaultKind.DEAD))
    with pytest.raises(ModuleTroubleError, match="nothing is plugged in"):
        await bench.await_answer(memory)


async def test_a_part_of_a_page_says_why_it_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_PATIENCE", 0.0)
    module = _module()
    memory = await _opened(Wires(module))
    with pytest.raises(ModuleTroubleError, match="page 55h was selected, and page 00h"):
        await bench.read_part(memory, 0x55, range(128, 256), flags=False)
    module.break_with(ModuleFault(ModuleFaultKind.NACK_STORM, amount=1.0))
    with pytest.raises(NotAcknowledgedError):
        await bench.read_part(memory, 0x11, range(128, 256), flags=False)


async def test_an_interrupt_ends_a_pause() -> None:
    wires = Wires(_module())
    memory = await _opened(wires)
    wires.asked.set()
    async with asyncio.timeout(5):
        await bench.changed_or_after(memory, 60.0)
        await bench.changed_or_after(memory, 0.01)
