"""A module as one array of bytes: pages are selected for each access, and page 00h again after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.eeprom_view import SIZE, EepromView
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.nack import Nack
from tests.emulator.module.host import Host


class Memory:
    """A bus with 256 pages of bytes that say where they are."""

    def __init__(self):
        self.page = 0
        self.lower = bytearray((*range(127), 0))
        self.pages = {page: bytearray((page + byte) % 256 for byte in range(128)) for page in range(256)}

    def transfer(self, data, length):
        byte, content = data[0], data[1:]
        half = self.lower if byte < 128 else self.pages[self.page]
        at = byte % 128
        assert at + max(length, len(content)) <= 128, "no transfer crosses into another page"
        if content:
            half[at : at + len(content)] = content
            self.page = half[127] if byte <= 127 < byte + len(content) else self.page
        return bytes(half[at : at + length])

    def linear(self):
        return bytes(self.lower) + b"".join(bytes(self.pages[page]) for page in range(256))


@given(st.integers(0, SIZE), st.integers(0, 1000))
def test_reading_anywhere_gives_what_is_there(offset, length):
    memory = Memory()
    assert EepromView(memory.transfer).read(offset, length) == memory.linear()[offset : offset + length]
    assert memory.page == 0


@given(st.integers(128, SIZE), st.binary(max_size=600))
def test_what_is_written_anywhere_is_there(offset, data):
    memory = Memory()
    before = memory.linear()
    written = EepromView(memory.transfer).write(offset, data)
    assert written == min(len(data), SIZE - offset)
    after = memory.linear()
    assert after[offset : offset + written] == data[:written]
    assert after[128:offset] == before[128:offset]
    assert after[offset + written :] == before[offset + written :]
    assert memory.page == 0


def test_pages_of_a_module_are_where_the_kernel_has_them():
    host = Host()
    host.settle()
    view = _view_of(host)
    assert view.read(0, 2) == bytes((0x18, 0x54))
    assert view.read(166, 6) == b"SN0001"
    assert view.read(0x02 * 128 + 128, 128) == host.read(0x02, 128, 128)
    assert view.read(0xB0 * 128 + 128, 4) == b"OCS1"
    view.write(0x10 * 128 + 128, b"\xff")
    assert host.byte(0x10, 128) == 0xFF


def test_more_than_a_module_takes_at_once_is_written_all_the_same():
    host = Host()
    host.settle()
    _view_of(host).write(0x10 * 128 + 213, b"\xa5" * 19)
    assert host.read(0x10, 213, 19) == b"\xa5" * 19


def test_after_an_access_that_failed_page_00h_is_selected():
    memory = Memory()

    def refusing(data, length):
        if data[0] == 200:
            raise Nack(of_address=False)
        return memory.transfer(data, length)

    with pytest.raises(Nack):
        EepromView(refusing).read(0x10 * 128 + 200, 8)
    assert memory.page == 0


def test_a_module_that_does_not_go_back_spoils_no_access():
    host = Host()
    host.settle()
    host.module.break_with(ModuleFault(ModuleFaultKind.NACK_RESTORE))
    assert _view_of(host).read(0xB0 * 128 + 128, 4) == b"OCS1"


def _view_of(host):
    def transfer(data, length):
        host.module.write(data, host.now)
        return host.module.read(length, host.now) if length else b""

    return EepromView(transfer)
