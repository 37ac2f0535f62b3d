import pytest

from ringlight.emulator.module.encoding import LONGEST
from ringlight.emulator.module.profile import Durations, ModuleProfile
from tests.emulator.module.host import LOWER, Host

LOW_POWER, POWERING_UP, READY, POWERING_DOWN = 1, 2, 3, 4
DEACTIVATED, INIT, DEINIT, ACTIVATED, TURNING_ON, TURNING_OFF, INITIALIZED = range(1, 8)
SUCCESS, BAD_APPLICATION, BAD_DATA_PATH, PARTIAL, IN_PROGRESS = 1, 3, 4, 7, 0xC


def states_gone_through(host: Host, seconds: float = 5.0) -> list[int]:
    """DPState of lane 1, each change once, until nothing happens any more."""
    seen = [host.data_path_states()[0]]
    end = host.now + seconds
    while (due := host.module.next_event()) is not None and due <= end:
        host.now = due
        host.module.advance(due)
        state = host.data_path_states()[0]
        if state != seen[-1]:
            seen.append(state)
    return seen


def test_nobody_answers_until_the_module_manages_itself() -> None:
    host = Host()

    assert host.refuses()
    host.settle()
    assert not host.refuses()


def test_a_module_comes_up_by_itself_within_what_it_advertises() -> None:
    host = Host()
    due = host.module.next_event()
    assert due is not None
    host.now = due
    host.module.advance(due)
    begun = host.now
    assert host.state() == POWERING_UP
    longest = LONGEST[host.byte(0x01, 167) & 0xF]

    assert states_gone_through(host) == [DEACTIVATED, INIT, TURNING_ON, ACTIVATED]
    assert host.state() == READY
    assert host.now - begun <= longest + LONGEST[host.byte(0x01, 144) & 0xF] + LONGEST[host.byte(0x01, 168) & 0xF]


def test_low_power_by_the_line_counts_only_where_the_host_allows_it() -> None:
    host = Host()
    host.module.set_lines(reset=False, low_power=True, now=host.now)
    host.settle()
    assert host.state() == LOW_POWER

    host.write(LOWER, 26, 0x00)
    host.settle()
    assert host.state() == READY


def test_low_power_by_software_takes_the_data_paths_down_first(host: Host) -> None:
    host.write(LOWER, 26, 0x50)

    assert states_gone_through(host) == [TURNING_OFF, DEINIT, DEACTIVATED]
    assert host.state() == LOW_POWER
    assert host.read(0x11, 154, 16) == bytes(16)

    host.write(LOWER, 26, 0x40)
    host.settle()
    assert host.data_path_states() == [ACTIVATED] * 8


def test_a_reset_by_software_forgets_everything_but_the_factory(host: Host) -> None:
    losses = host.read(0xB0, 208, 8)
    host.move(1)
    host.write(0x13, 184, 1)
    host.write(LOWER, 26, 0x48)

    assert host.refuses()
    host.settle()
    assert host.state() == READY
    assert host.byte(0x13, 184) == 0
    assert host.read(0xB0, 184, 8) == bytes([3] * 8)
    assert host.read(0xB0, 208, 8) == losses


def test_a_module_held_in_reset_does_not_answer(host: Host) -> None:
    version = host.module.version()
    host.module.set_lines(reset=True, low_power=False, now=host.now)
    host.wait(10.0)
    assert host.refuses()
    assert not host.module.interrupt
    assert host.module.version() > version

    host.module.set_lines(reset=False, low_power=False, now=host.now)
    host.settle()
    assert host.state() == READY


def test_the_state_flag_is_for_states_that_last(host: Host) -> None:
    host.read(LOWER, 8)
    host.write(LOWER, 26, 0x50)
    while host.state() == READY:
        host.now = host.module.next_event() or host.now
        host.module.advance(host.now)

    assert host.state() == POWERING_DOWN
    assert host.byte(LOWER, 8) & 1 == 0
    host.settle()
    assert host.byte(LOWER, 8) & 1 == 1


def test_deinit_and_init_again(host: Host) -> None:
    host.write(0x10, 128, 0xFF)
    assert states_gone_through(host) == [TURNING_OFF, DEINIT, DEACTIVATED]

    host.write(0x10, 128, 0)
    assert states_gone_through(host) == [INIT, TURNING_ON, ACTIVATED]


def test_disabled_outputs_hold_a_data_path_at_initialized(host: Host) -> None:
    host.write(0x10, 130, 0xFF)

    assert states_gone_through(host) == [TURNING_OFF, INITIALIZED]
    assert host.byte(0x11, 133) == 0
    assert host.read(0x11, 154, 16) == bytes(16)


def test_one_output_can_be_off_alone(host: Host) -> None:
    host.write(0x10, 130, 0b10)
    host.settle()

    assert host.data_path_states() == [ACTIVATED] * 8
    assert host.byte(0x11, 133) == 0b11111101
    assert host.word(0x11, 156) == 0
    assert host.word(0x11, 154) > 0


def test_an_apply_takes_an_active_data_path_down_and_up_again(host: Host) -> None:
    host.write(0x10, 143, 0xFF)

    assert host.config_status() == [IN_PROGRESS] * 8
    assert states_gone_through(host) == [ACTIVATED, TURNING_OFF, DEINIT, INIT, TURNING_ON, ACTIVATED]
    assert host.config_status() == [SUCCESS] * 8


def test_a_module_that_is_configured_step_by_step_does_not() -> None:
    host = Host(ModuleProfile(stepped=True))
    host.settle()
    assert host.byte(LOWER, 2) & 0x40

    host.write(0x10, 143, 0xFF)

    assert states_gone_through(host) == [ACTIVATED]
    assert host.config_status() == [SUCCESS] * 8


@pytest.mark.parametrize(
    ("staged", "applied", "expected"),
    [
        ([0x90] * 8, 0xFF, [BAD_APPLICATION] * 8),
        ([0x14] * 8, 0xFF, [BAD_DATA_PATH] * 8),
        ([0x10] * 8, 0x0F, [PARTIAL] * 4 + [0] * 4),
        ([0x20] * 4 + [0x28] * 4, 0xFF, [SUCCESS] * 8),
        ([0x10] * 8, 0xFF, [SUCCESS] * 8),
    ],
)
def test_what_was_staged_is_judged(host: Host, staged: list[int], applied: int, expected: list[int]) -> None:
    host.write(0x10, 145, *staged)
    host.write(0x10, 143, applied)
    host.settle()

    assert host.config_status() == expected
    taken = all(status == SUCCESS for status in expected)
    assert list(host.read(0x11, 206, 8)) == (staged if taken else [0x10] * 8)


def test_two_data_paths_do_not_disturb_each_other(host: Host) -> None:
    host.write(0x10, 145, *[0x20] * 4, *[0x28] * 4)
    host.write(0x10, 143, 0xFF)
    host.settle()

    host.write(0x10, 128, 0xF0)

    assert host.data_path_states() == [ACTIVATED] * 4 + [TURNING_OFF] * 4
    host.settle()
    assert host.data_path_states() == [ACTIVATED] * 4 + [DEACTIVATED] * 4
    assert host.byte(0x11, 133) == 0x0F


def test_a_second_trigger_is_passed_over_while_the_first_is_in_progress(host: Host) -> None:
    host.write(0x10, 145, *[0x20] * 4, *[0x28] * 4)
    host.write(0x10, 143, 0xFF)
    host.write(0x10, 145, *[0x90] * 8)
    host.write(0x10, 143, 0xFF)
    host.settle()

    assert host.config_status() == [SUCCESS] * 8


def test_an_apply_in_between_two_states_is_passed_over(host: Host) -> None:
    host.write(0x10, 128, 0xFF)
    host.write(0x10, 143, 0xFF)

    assert host.config_status() == [0] * 8


@pytest.mark.parametrize("seed", range(5))
def test_nothing_takes_longer_than_is_advertised(seed: int) -> None:
    host = Host(ModuleProfile(durations=Durations(init=3, deinit=3, turn_on=1, turn_off=1)), seed=seed)
    host.settle()
    begun = host.now

    host.write(0x10, 143, 0xFF)
    host.settle()

    assert 0 < host.now - begun <= 0.005 + 2 * 0.005 + 2 * 0.05


def test_a_scale_makes_everything_quicker_but_not_what_is_advertised() -> None:
    slow, quick = Host(), Host(scale=0.001)
    for host in (slow, quick):
        host.settle()

    assert quick.now - 100.0 < (slow.now - 100.0) / 500
    assert quick.read(0x01, 128, 128) == slow.read(0x01, 128, 128)
