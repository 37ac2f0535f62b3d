import pytest

from ringlight.emulator.module.module import Nack
from ringlight.emulator.module.profile import ModuleProfile
from tests.emulator.module.host import LOWER, Host


def test_a_page_that_there_is_not_leaves_page_00h(host: Host) -> None:
    host.select(0x11)
    host.module.write(bytes((127, 0x42)), host.now)

    assert host.module.read(1, host.now, 127) == b"\x00"
    assert host.module.read(1, host.now, 128) == b"\x18"


def test_a_bank_that_there_is_not_leaves_page_00h_in_bank_0(host: Host) -> None:
    host.module.write(bytes((126, 1, 0x11)), host.now)

    assert host.module.read(2, host.now, 126) == b"\x00\x00"


def test_a_bank_counts_for_nothing_on_a_page_without_banks(host: Host) -> None:
    host.module.write(bytes((126, 3, 0x01)), host.now)

    assert host.module.read(2, host.now, 126) == b"\x00\x01"


def test_a_read_without_an_address_goes_on_where_the_last_access_ended(host: Host) -> None:
    whole = host.read(0x00, 128, 16)

    assert host.module.read(4, host.now, 128) == whole[:4]
    assert host.module.read(12, host.now) == whole[4:]


def test_an_access_goes_round_within_its_half(host: Host) -> None:
    host.select(0x00)
    first = host.module.read(1, host.now, 128)

    assert host.module.read(2, host.now, 255)[1:] == first


def test_a_module_that_does_not_say_so_gives_no_more_than_8_bytes() -> None:
    host = Host(ModuleProfile(full_page_reads=False))
    host.settle()
    assert host.byte(0x01, 251) & 0x3 == 1

    read = host.read(0x00, 129, 16)

    assert read == b"RINGLIGH" + b"\xff" * 8


def test_a_short_read_does_not_clear_flags_that_it_did_not_reach() -> None:
    host = Host(ModuleProfile(full_page_reads=False))
    host.settle()

    host.read(0x11, 128, 64)  # 134 and 135 are within the first eight bytes, 147 is not

    assert host.byte(0x11, 147) == 0xFF
    assert host.byte(0x11, 134) == 0


def test_more_than_8_bytes_at_once_are_not_taken(host: Host) -> None:
    before = host.read(0xB0, 136, 8)
    with pytest.raises(Nack) as caught:
        host.write(0xB0, 136, *[1] * 9)

    assert not caught.value.of_address
    assert host.read(0xB0, 136, 8) == before


def test_what_must_not_be_written_stays(host: Host) -> None:
    host.write(0x00, 129, *b"SOMEBODY")
    host.write(0xB0, 184, 1)
    host.write(LOWER, 2, 0xFF)

    assert host.read(0x00, 129, 8) == b"RINGLIGH"
    assert host.byte(0xB0, 184) == 3
    assert host.byte(LOWER, 2) == 0x04


def test_the_scratchpad_is_memory_until_power_goes(host: Host) -> None:
    host.write(0x13, 184, *b"ringlght")
    assert host.read(0x13, 184, 8) == b"ringlght"

    host.module.restart(host.now)
    host.settle()

    assert host.read(0x13, 184, 8) == bytes(8)


def test_a_flag_is_read_once_unless_it_still_holds(host: Host) -> None:
    host.read(0x11, 134, 20)
    host.move(1)  # nothing arrives at path 1

    assert host.byte(0x11, 153) == 0xFF  # the outputs changed, once
    assert host.byte(0x11, 153) == 0
    assert host.byte(0x11, 147) == 0xFF  # the signal is lost, and stays so
    assert host.byte(0x11, 147) == 0xFF


def test_the_signal_that_came_back_is_seen_at_the_second_read(host: Host) -> None:
    host.move(1)
    host.read(0x11, 147)
    host.move(3)

    assert [host.byte(0x11, 147) for _ in range(3)] == [0xFF, 0, 0]


def test_masks_keep_flags_from_interrupting(host: Host) -> None:
    host.read(LOWER, 8, 6)
    host.read(0x11, 134, 20)
    host.read(0xB0, 204)
    assert not host.module.interrupt
    host.write(0x10, 213, *[0xFF] * 8)
    host.write(0x10, 221, *[0xFF] * 8)
    host.write(0x10, 229, *[0xFF] * 4)

    host.move(1)

    assert host.byte(LOWER, 4) == 1  # the summary tells all the same
    assert not host.module.interrupt
    host.write(0x10, 232, 0)  # RxOutputStatusChanged may interrupt
    assert host.module.interrupt
    assert not host.byte(LOWER, 3) & 1
