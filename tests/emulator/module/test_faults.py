"""Each way to misbehave, seen through raw registers alone."""

import pytest

from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import LANES, Nack
from ringlight.emulator.module.profile import CdbMode, ModuleProfile
from ringlight.fabric.circuits import Path
from tests.emulator.module.host import LOWER, Host

K = ModuleFaultKind
PATH_1, LOOPBACK = 1, 3
SUCCESS, IN_PROGRESS, HARDWARE = 1, 2, 7
DEACTIVATED, DEINIT, ACTIVATED = 1, 3, 4


def test_a_dead_module_is_not_there_and_comes_back_anew(host: Host) -> None:
    host.move(PATH_1)
    host.module.break_with(ModuleFault(K.DEAD))

    assert host.refuses()
    assert not host.module.present
    assert not host.module.interrupt
    assert max(host.module.emitted(Path.PATH_1)) < -100
    assert not host.module.sees_light()

    host.module.mend(K.DEAD)
    host.settle()
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)


def test_a_stuck_switch_says_so_and_raises_the_custom_flag(host: Host) -> None:
    host.read(LOWER, 8, 6)
    host.module.break_with(ModuleFault(K.STUCK))
    host.move(PATH_1)

    assert host.read(0xB0, 168, 8) == bytes([HARDWARE] * 8)
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)
    assert host.byte(LOWER, 13) & 1
    assert host.byte(0xB0, 204) & 0x08
    assert host.module.path() is Path.LOOPBACK

    host.module.mend(K.STUCK)
    host.move(PATH_1)
    assert [host.byte(0xB0, 204) & 0x08 for _ in range(2)] == [0x08, 0]
    assert host.module.path() is Path.PATH_1


def test_a_switch_that_lies_is_found_by_reading_back(host: Host) -> None:
    host.module.break_with(ModuleFault(K.STUCK_SILENTLY))
    host.move(PATH_1)

    assert host.read(0xB0, 168, 8) == bytes([SUCCESS] * 8)
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)
    assert host.module.path() is Path.LOOPBACK


def test_a_slow_commit_is_in_progress_for_long(host: Host) -> None:
    host.module.break_with(ModuleFault(K.SLOW, seconds=0.3))
    host.stage(PATH_1)
    host.write(0xB0, 160, 1)

    host.wait(0.3)
    assert host.read(0xB0, 168, 8) == bytes([IN_PROGRESS] * 8)
    host.wait(0.005)
    assert host.read(0xB0, 168, 8) == bytes([SUCCESS] * 8)


def test_a_switch_that_moves_on_some_lanes_only(host: Host) -> None:
    host.module.break_with(ModuleFault(K.PARTIAL, lanes=0x0F))
    host.move(PATH_1)

    assert host.read(0xB0, 168, 8) == bytes([SUCCESS] * 4 + [HARDWARE] * 4)
    assert host.read(0xB0, 184, 8) == bytes([PATH_1] * 4 + [LOOPBACK] * 4)
    assert host.module.path() is Path.UNKNOWN


def test_an_open_heater_shows_before_anybody_switches(host: Host) -> None:
    host.module.break_with(ModuleFault(K.HEATER_OPEN))

    assert host.byte(0xB0, 204) & 0x02
    host.move(PATH_1)
    assert host.module.path() is Path.LOOPBACK


def test_a_weak_laser_is_low_on_its_lane(host: Host) -> None:
    host.read(0x11, 134, 20)
    before = host.word(0x11, 154)
    host.module.break_with(ModuleFault(K.LASER_WEAK, lanes=1, amount=10.0))

    assert host.word(0x11, 154) == pytest.approx(before / 10, abs=1)
    assert host.byte(0x11, 140) == 1  # low alarm
    assert host.byte(0x11, 142) == 1  # low warning
    assert host.byte(0xB0, 204) & 0x04


def test_a_weak_receiver_loses_its_signal(host: Host) -> None:
    host.move(PATH_1)
    host.module.receive(Path.PATH_1, (0.0,) * LANES, host.now)
    host.module.break_with(ModuleFault(K.RECEIVER_WEAK, lanes=0x80, amount=20.0))

    assert host.byte(0x11, 132) == 0x7F
    assert not host.module.sees_light()


def test_a_hot_module_raises_warning_and_alarm(host: Host) -> None:
    host.read(LOWER, 8, 6)
    host.module.break_with(ModuleFault(K.HOT, amount=45.0))

    assert host.byte(LOWER, 9) == 0b0101
    assert int.from_bytes(host.read(LOWER, 14, 2), "big") / 256 > 75
    assert host.module.interrupt
    host.module.mend(K.HOT)
    assert [host.byte(LOWER, 9) for _ in range(2)] == [0b0101, 0]


def test_row_01_the_restore_of_the_page_is_refused(host: Host) -> None:
    host.select(0x11)
    host.module.break_with(ModuleFault(K.NACK_RESTORE))

    with pytest.raises(Nack):
        host.module.write(bytes((126, 0, 0)), host.now)
    assert host.module.read(1, host.now, 127) == b"\x11"


def test_row_02_a_command_in_the_foreground_silences_the_module_for_seconds() -> None:
    host = Host(ModuleProfile(cdb=CdbMode.FOREGROUND))
    host.settle()
    host.module.break_with(ModuleFault(K.CDB_SLOW, seconds=3.0))
    host.give(0x0040)

    host.wait(2.9)
    assert host.refuses()
    host.settle()
    assert not host.refuses()


def test_row_03_a_command_takes_twelve_seconds(host: Host) -> None:
    host.module.break_with(ModuleFault(K.CDB_SLOW, seconds=12.0))
    host.give(0x8000, bytes((0xFF, PATH_1, 0)))

    host.wait(11.9)
    assert host.byte(LOWER, 37) == 0x83
    host.settle()
    assert host.byte(LOWER, 37) == 0x01


def test_row_04_one_lane_stays_in_progress(host: Host) -> None:
    host.module.break_with(ModuleFault(K.LANE_IN_PROGRESS, lanes=0x08, seconds=2.0))
    host.write(0x10, 143, 0xFF)

    host.wait(1.0)
    assert host.config_status() == [1, 1, 1, 0xC, 1, 1, 1, 1]
    host.wait(1.1)
    assert host.config_status() == [1] * 8


def test_row_05_deactivated_comes_late(host: Host) -> None:
    host.module.break_with(ModuleFault(K.DEACTIVATED_LATE, seconds=0.2))
    host.write(0x10, 128, 0xFF)

    host.wait(0.2)
    assert host.data_path_states() == [DEINIT] * 8
    host.settle()
    assert host.data_path_states() == [DEACTIVATED] * 8


def test_row_06_init_pending_says_anything(host: Host) -> None:
    host.module.break_with(ModuleFault(K.PENDING_AT_RANDOM))
    seen = set()
    for _ in range(8):
        host.write(0x10, 143, 0xFF)
        host.settle()
        seen.add(host.byte(0x11, 235))

    assert len(seen) > 1
    assert host.data_path_states() == [ACTIVATED] * 8


def test_row_07_a_lane_cannot_be_unused(host: Host) -> None:
    host.module.break_with(ModuleFault(K.REFUSES_UNUSED))
    host.write(0x10, 145, *[0] * 8)
    host.write(0x10, 143, 0xFF)
    host.settle()

    assert host.config_status() == [3] * 8
    host.module.mend(K.REFUSES_UNUSED)
    host.write(0x10, 143, 0xFF)
    host.settle()
    assert host.config_status() == [1] * 8
    assert host.data_path_states() == [DEACTIVATED] * 8


def test_row_08_a_module_is_found_on_its_way_down(host: Host) -> None:
    host.module.break_with(ModuleFault(K.DEACTIVATED_LATE, seconds=1.0))
    host.write(0x10, 128, 0xFF)
    host.wait(0.1)

    assert host.data_path_states() == [DEINIT] * 8
    host.write(0x10, 128, 0x00)
    host.settle()
    assert host.data_path_states() == [ACTIVATED] * 8


def test_row_09_a_write_keeps_the_module_busy(host: Host) -> None:
    host.module.break_with(ModuleFault(K.SLOW_WRITE, seconds=0.08))
    host.module.write(bytes((127, 0x13)), host.now)

    assert host.refuses()
    host.wait(0.081)
    assert host.module.read(1, host.now, 127) == b"\x13"


@pytest.mark.parametrize("kind", [K.BOOT_NACK, K.BOOT_GARBAGE])
def test_row_10_a_module_is_not_ready_after_power_came(kind: ModuleFaultKind) -> None:
    host = Host()
    host.module.break_with(ModuleFault(kind, seconds=2.0))
    host.wait(1.9)

    if kind is K.BOOT_NACK:
        assert host.refuses()
    else:
        assert host.module.read(2, host.now, 0) == b"\xff\xff"
    host.wait(0.2)
    assert host.module.read(2, host.now, 0) == b"\x18\x54"


def test_row_11_two_readers_take_flags_from_each_other(host: Host) -> None:
    host.read(0x11, 134, 20)
    host.write(0x10, 130, 0xFF)
    host.settle()

    assert host.byte(0x11, 134) == 0xFF
    assert host.byte(0x11, 134) == 0


def test_row_12_every_page_is_page_00h(host: Host) -> None:
    host.module.break_with(ModuleFault(K.PAGE_00_ONLY))

    assert host.read(0x11, 128, 16) == host.read(0x00, 128, 16)


def test_row_13_a_name_that_is_no_ascii_with_a_checksum_that_agrees(host: Host) -> None:
    host.module.break_with(ModuleFault(K.BAD_VENDOR))

    page = host.read(0x00, 128, 128)
    with pytest.raises(UnicodeDecodeError):
        page[1:17].decode("ascii")
    assert page[94] == sum(page[:94]) & 0xFF


def test_row_15_control_bytes_stay_until_somebody_clears_them(host: Host) -> None:
    host.write(0x10, 128, 0xFF)
    host.write(0x10, 130, 0xFF)
    host.settle()

    assert host.data_path_states() == [DEACTIVATED] * 8
    host.write(0x10, 128, 0x00)
    host.settle()
    assert host.byte(0x11, 133) == 0
    host.write(0x10, 130, 0x00)
    host.settle()
    assert host.byte(0x11, 133) == 0xFF


def test_row_16_an_old_revision(host: Host) -> None:
    host.module.break_with(ModuleFault(K.OLD_REVISION))
    assert host.byte(LOWER, 1) == 0x30
    host.module.mend(K.OLD_REVISION)
    assert host.byte(LOWER, 1) == 0x54


def test_a_page_that_is_stuck(host: Host) -> None:
    host.select(0x11)
    host.module.break_with(ModuleFault(K.PAGE_STUCK))
    host.module.write(bytes((126, 0, 0x10)), host.now)

    assert host.module.read(1, host.now, 127) == b"\x11"


def test_a_storm_of_refusals_by_its_probability(host: Host) -> None:
    host.module.break_with(ModuleFault(K.NACK_STORM, amount=0.5))
    refused = sum(host.refuses() for _ in range(1000))

    assert 400 < refused < 600
    host.module.mend(K.NACK_STORM)
    assert not host.refuses()


def test_a_restart_in_the_middle_of_a_commit_ends_on_loopback(host: Host) -> None:
    host.stage(PATH_1)
    host.write(0xB0, 160, 1)
    host.wait(0.0002)
    host.module.restart(host.now)

    assert host.refuses()
    host.settle()
    assert host.module.path() is Path.LOOPBACK
    assert host.read(0xB0, 168, 24) == bytes(8) + bytes(8) + bytes([LOOPBACK] * 8)
