"""What to do next so that a module sends and receives: pure, from what was read and how long it has been so.

The machine only ever asks for what is missing, so it copes with a module in any state: just plugged in, half-way down
because somebody else's host wanted so, or up for weeks. Each state may last as long as the module says, times a margin;
the clock starts anew whenever the state changes. DPInitPending is not looked at: some modules never show it.

Nothing here moves the switch.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from ringlight.agents.drivers.cmis.identity import ModuleIdentity
from ringlight.agents.drivers.cmis.registers import LANES
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble

MARGIN = 1.5  # what advertised durations are multiplied by
_SLACK = 0.25  # seconds on top: some modules are late by this much, whatever they advertise
_CONFIGURING = 5.0  # seconds that a lane may take to take its configuration; nothing advertises it
_MOST_APPLIES = 3
_LOW_POWER_REQUEST = 0x10  # LowPwrRequestSW
_LOW_POWER_BITS = _LOW_POWER_REQUEST | 0x40  # and LowPwrAllowRequestHW
_APPLICATION_1 = 0x10


class ModuleState(IntEnum):
    """The module state machine, by its register."""

    LOW_POWER = 1
    POWERING_UP = 2
    READY = 3
    POWERING_DOWN = 4
    FAULT = 5


class DpState(IntEnum):
    """The data path state machine, by its register."""

    DEACTIVATED = 1
    INIT = 2
    DEINIT = 3
    ACTIVATED = 4
    TURNING_ON = 5
    TURNING_OFF = 6
    INITIALIZED = 7


class ConfigStatus(IntEnum):
    """What became of an apply, as far as it matters here."""

    UNDEFINED = 0
    SUCCESS = 1
    IN_PROGRESS = 0xC


@dataclass(frozen=True, slots=True)
class Condition:
    """What was read of a module.

    Attributes:
        state: of the module; numbers that are no `ModuleState` are kept as they are.
        control: byte 26.
        data_paths, config: by lane.
        deinit, disabled: bits, one a lane.
        active: configuration in force, by lane.
    """

    state: int
    control: int
    data_paths: tuple[int, ...]
    config: tuple[int, ...]
    deinit: int
    disabled: int
    active: tuple[int, ...]
    fault_cause: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes to write."""

    page: int
    byte: int
    data: bytes

    def __str__(self) -> str:
        """For the log."""
        return f"{self.page:02X}h:{self.byte} = {self.data.hex(' ')}"


@dataclass(frozen=True, slots=True)
class Progress:
    """What the machine remembers between two looks.

    Attributes:
        shape: what was last seen; a change of it starts the clock anew.
        since: when (seconds).
        applies: how often lanes were configured.
    """

    shape: Condition | None = None
    since: float = 0.0
    applies: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now: writes, then look again after a moment; or nothing more, the module is up."""

    writes: tuple[Write, ...] = ()
    is_up: bool = False


def next_step(condition: Condition, identity: ModuleIdentity, progress: Progress, now: float) -> tuple[Step, Progress]:
    """What is missing, and what to remember.

    Raises:
        ModuleTroubleError: it takes longer than it may, or refuses, or has a fault of its own.
    """
    if condition != progress.shape:
        progress = replace(progress, shape=condition, since=now)
    step = _missing(condition, progress)
    if step.is_up:
        return step, progress
    if any(write.byte == _APPLY for write in step.writes):
        if progress.applies == _MOST_APPLIES:
            raise _down(f"its lanes were configured {_MOST_APPLIES} times to no avail ({_told(condition)})")
        return step, replace(progress, since=now, applies=progress.applies + 1)
    # What any other write changes is seen at once: a module that goes on as before has not taken it.
    longest = _longest(condition, identity)
    if now - progress.since > longest:
        raise _down(f"it has been like this for more than {longest:.3g} s: {_told(condition)}")
    return step, progress


_CONTROL, _DEINIT, _DISABLE, _APPLY, _STAGED = 26, 128, 130, 143, 145
_LANE_CONTROL = 0x10
_ALL_LANES = (1 << LANES) - 1


def _missing(condition: Condition, progress: Progress) -> Step:
    if condition.state == ModuleState.FAULT:
        raise ModuleTroubleError(Trouble.DOWN, f"it reports a fault of its own, cause {condition.fault_cause}")
    # That hardware may ask for low power does no harm to a module that is up: its line does not ask.
    keeps_down = _LOW_POWER_BITS if condition.state == ModuleState.LOW_POWER else _LOW_POWER_REQUEST
    if condition.control & keeps_down:
        return Step((Write(0, _CONTROL, bytes((condition.control & ~_LOW_POWER_BITS & 0xFF,))),))
    if condition.state != ModuleState.READY:
        return Step()
    if condition.deinit or condition.disabled:  # left by a host that is gone: nobody else drives this module
        return Step((Write(_LANE_CONTROL, _DEINIT, b"\0"), Write(_LANE_CONTROL, _DISABLE, b"\0")))
    if all(state == DpState.ACTIVATED for state in condition.data_paths):
        return Step(is_up=True)
    if ConfigStatus.IN_PROGRESS in condition.config:
        return Step()
    refused = any(status > ConfigStatus.SUCCESS for status in condition.config)
    if any(configuration >> 4 == 0 for configuration in condition.active) or (refused and progress.applies):
        staged = Write(_LANE_CONTROL, _STAGED, bytes([_APPLICATION_1] * LANES))
        return Step((staged, Write(_LANE_CONTROL, _APPLY, bytes((_ALL_LANES,)))))
    return Step()


def _longest(condition: Condition, identity: ModuleIdentity) -> float:
    """How long a module may stay as it is."""
    if condition.state != ModuleState.READY:
        return identity.power_up * MARGIN + _SLACK
    if ConfigStatus.IN_PROGRESS in condition.config:
        return _CONFIGURING
    lasting = {
        DpState.DEACTIVATED: identity.init,
        DpState.INIT: identity.init,
        DpState.DEINIT: identity.deinit,
        DpState.ACTIVATED: 0.0,
        DpState.TURNING_ON: identity.turn_on,
        DpState.TURNING_OFF: identity.turn_off,
        DpState.INITIALIZED: identity.turn_on,
    }
    # A state that nobody has heard of is one on the way up.
    lanes = [lasting[DpState(state)] if state in _DP_STATES else identity.init for state in condition.data_paths]
    return max(lanes) * MARGIN + _SLACK


_DP_STATES = frozenset(DpState)


def _told(condition: Condition) -> str:
    state = ModuleState(condition.state).name if condition.state in frozenset(ModuleState) else condition.state
    lanes = [DpState(each).name if each in _DP_STATES else str(each) for each in condition.data_paths]
    status = f", configuration {condition.config}" if set(condition.config) - {0, 1} else ""
    asked = f", control {condition.control:02X}h" if condition.control & _LOW_POWER_BITS else ""
    down = f", deinit {condition.deinit:02X}h, disabled {condition.disabled:02X}h"
    left = down if condition.deinit or condition.disabled else ""
    return f"module {state}{asked}, lanes {', '.join(dict.fromkeys(lanes))}{left}{status}"


def _down(why: str) -> ModuleTroubleError:
    return ModuleTroubleError(Trouble.DOWN, f"it does not come up: {why}")
