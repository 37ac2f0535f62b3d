"""Bringing a module up, decision by decision: no module, no clock."""

from dataclasses import replace

import pytest

from ringlight.agents.drivers.cmis.bring_up import (
    Condition,
    ConfigStatus,
    DpState,
    ModuleState,
    Progress,
    Step,
    Write,
    next_step,
)
from ringlight.agents.drivers.cmis.identity import ModuleIdentity
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble

IDENTITY = ModuleIdentity(
    form="QSFP-DD",
    vendor="V",
    part_number="P",
    serial="S",
    read_size=128,
    power_up=1.0,
    init=0.4,
    deinit=0.1,
    turn_on=0.05,
    turn_off=0.05,
    background=True,
    has_commands=True,
    has_lane_switching=True,
    hot_above=75.0,
)
UP = Condition(
    state=ModuleState.READY,
    control=0x40,
    data_paths=(DpState.ACTIVATED,) * 8,
    config=(ConfigStatus.SUCCESS,) * 8,
    deinit=0,
    disabled=0,
    active=(0x10,) * 8,
)


def after(condition: Condition, *times: float) -> Step:
    """What is done about a condition that is seen again and again, the last time."""
    progress, step = Progress(), Step()
    for now in times or (0.0,):
        step, progress = next_step(condition, IDENTITY, progress, now)
    return step


def test_a_module_that_is_up_needs_nothing() -> None:
    assert after(UP) == Step(is_up=True)


@pytest.mark.parametrize("control", [0x10, 0x40, 0x50])
def test_low_power_is_left_whoever_asked_for_it(control: int) -> None:
    step = after(replace(UP, state=ModuleState.LOW_POWER, control=control | 0x80))
    assert step.writes == (Write(0, 26, b"\x80"),)


def test_a_ready_module_that_was_told_to_go_down_is_told_otherwise() -> None:
    assert after(replace(UP, control=0x50)).writes == (Write(0, 26, b"\x00"),)


@pytest.mark.parametrize(("deinit", "disabled"), [(0xFF, 0), (0, 0x01), (0xFF, 0xFF)])
def test_what_a_former_host_left_is_cleared(deinit: int, disabled: int) -> None:
    step = after(replace(UP, deinit=deinit, disabled=disabled))
    assert step.writes == (Write(0x10, 128, b"\0"), Write(0x10, 130, b"\0"))


def test_lanes_that_are_not_configured_get_the_first_application() -> None:
    idle = replace(UP, active=(0,) * 8, data_paths=(DpState.DEACTIVATED,) * 8)
    assert after(idle).writes == (Write(0x10, 145, bytes([0x10] * 8)), Write(0x10, 143, b"\xff"))


def test_configuring_again_and_again_ends() -> None:
    refused = replace(UP, active=(0,) * 8, data_paths=(DpState.DEACTIVATED,) * 8, config=(3,) * 8)
    with pytest.raises(ModuleTroubleError, match="configured 3 times to no avail") as caught:
        after(refused, 0.0, 1.0, 2.0, 3.0)
    assert caught.value.code is Trouble.DOWN


@pytest.mark.parametrize(
    ("state", "longest"),
    [
        (DpState.DEACTIVATED, 0.4),
        (DpState.INIT, 0.4),
        (DpState.DEINIT, 0.1),
        (DpState.INITIALIZED, 0.05),
        (DpState.TURNING_ON, 0.05),
        (DpState.TURNING_OFF, 0.05),
    ],
)
def test_each_state_has_the_time_that_is_advertised_and_half_as_much_again(state: DpState, longest: float) -> None:
    condition = replace(UP, data_paths=(state,) + (DpState.ACTIVATED,) * 7)
    limit = longest * 1.5 + 0.25
    assert after(condition, 0.0, limit) == Step()
    with pytest.raises(ModuleTroubleError, match=state.name):
        after(condition, 0.0, limit + 0.001)


def test_the_clock_starts_anew_whenever_the_state_changes() -> None:
    progress = Progress()
    for at in range(20):
        state = DpState.INIT if at % 2 else DpState.DEACTIVATED
        condition = replace(UP, data_paths=(state,) * 8)
        _, progress = next_step(condition, IDENTITY, progress, at * 0.8)


def test_one_lane_that_is_in_progress_has_seconds() -> None:
    condition = replace(
        UP, data_paths=(DpState.DEACTIVATED,) * 8, config=(1, 1, 1, ConfigStatus.IN_PROGRESS, 1, 1, 1, 1)
    )
    assert after(condition, 0.0, 4.9) == Step()
    with pytest.raises(ModuleTroubleError):
        after(condition, 0.0, 5.1)


def test_a_module_with_a_fault_of_its_own_is_not_waited_for() -> None:
    with pytest.raises(ModuleTroubleError, match="cause 6"):
        after(replace(UP, state=ModuleState.FAULT, fault_cause=6))


@pytest.mark.parametrize("state", [ModuleState.POWERING_UP, ModuleState.POWERING_DOWN, 0, 7])
def test_states_in_between_and_unknown_ones_are_waited_out(state: int) -> None:
    condition = replace(UP, state=state, control=0)
    assert after(condition, 0.0, 1.7) == Step()
    with pytest.raises(ModuleTroubleError, match="does not come up"):
        after(condition, 0.0, 1.8)


@pytest.mark.parametrize(
    "ignoring",
    [
        replace(UP, state=ModuleState.LOW_POWER, control=0x50),
        replace(UP, control=0x50),
        replace(UP, deinit=0xFF),
        replace(UP, disabled=0x01),
        replace(UP, active=(0,) * 8, data_paths=(DpState.DEACTIVATED,) * 8),
    ],
)
def test_a_module_that_takes_no_write_is_given_up(ignoring: Condition) -> None:
    """What is written is seen at once when it was taken: to write it again does not start the clock anew."""
    with pytest.raises(ModuleTroubleError) as caught:
        after(ignoring, *(turn * 0.02 for turn in range(2_000)))
    assert caught.value.code is Trouble.DOWN


def test_a_state_of_a_lane_that_nobody_has_heard_of_is_waited_for_and_then_told() -> None:
    strange = replace(UP, data_paths=(0,) * 8)
    assert not after(strange, 0.0, 0.5).is_up
    with pytest.raises(ModuleTroubleError, match="lanes 0"):
        after(strange, 0.0, 0.5, 1.0, 2.0)


def test_the_clock_starts_anew_whenever_something_moves() -> None:
    progress = Progress()
    on_the_way = (DpState.INIT, DpState.INITIALIZED, DpState.TURNING_ON)
    for turn, state in enumerate(on_the_way):
        step, progress = next_step(replace(UP, data_paths=(state,) * 8), IDENTITY, progress, turn * 0.3)
        assert not step.is_up
