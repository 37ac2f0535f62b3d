"""The module state machine: from reset to low power to ready, and back when the host wants so.

Low power is wanted by software, or by the LPMode line where the host allows that line to count. A module leaves Ready
only when all its data paths are deactivated. Entering LowPwr, Ready or Fault raises ModuleStateChanged; the states in
between do not.
"""

from collections.abc import Callable
from enum import IntEnum

from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.memory import LOWER

_STATE_BYTE = 3
_CONTROL_BYTE = 26
_ALLOW_LINE, _REQUEST, _RESET = 0x40, 0x10, 0x08
_FLAG_BYTE, _STATE_CHANGED = 8, 0x01
_MANAGEMENT_INIT = (0.05, 0.3)  # seconds until the registers answer after power came, or a reset ended


class ModuleState(IntEnum):
    """The numbers are those of the register; a module that is not up yet has none."""

    STARTING = 0
    LOW_POWER = 1
    POWERING_UP = 2
    READY = 3
    POWERING_DOWN = 4
    FAULT = 5


class Power:
    """The state of one module.

    Args:
        low_power: whether LPMode is asserted.
        changed: called after every change of state, and of what is wanted.
        reset: called when software asks for a reset.

    Attributes:
        state: where it is.
        low_power_line: whether LPMode is asserted.
    """

    def __init__(
        self, chassis: Chassis, *, low_power: bool, changed: Callable[[], None], reset: Callable[[], None]
    ) -> None:
        self.state = ModuleState.STARTING
        self.low_power_line = low_power
        self._memory = memory = chassis.memory
        self._flags = chassis.flags
        self._timeline = chassis.timeline
        self._pace = chassis.pace
        self._durations = chassis.profile.durations
        self._changed = changed
        self._reset = reset
        memory.allow(LOWER, [_CONTROL_BYTE], 0xF0)
        memory.on_write(LOWER, _CONTROL_BYTE, self._controlled)

    @property
    def answers(self) -> bool:
        """Whether there is anybody at the registers."""
        return self.state is not ModuleState.STARTING

    @property
    def is_ready(self) -> bool:
        """Whether data paths may be initialised."""
        return self.state is ModuleState.READY

    @property
    def wants_low_power(self) -> bool:
        """LowPwrS of the standard."""
        control = self._memory.lower[_CONTROL_BYTE]
        return bool(control & _REQUEST) or (bool(control & _ALLOW_LINE) and self.low_power_line)

    def set_line(self, *, low_power: bool) -> None:
        """LPMode is asserted, or no longer."""
        if low_power != self.low_power_line:
            self.low_power_line = low_power
            self._changed()

    def start(self) -> None:
        """Power came, or a reset ended."""
        self._enter(ModuleState.STARTING)
        self._timeline.plan("module", self._pace.between(*_MANAGEMENT_INIT), self._started)

    def reconsider(self, *, all_deactivated: bool) -> None:
        """Something this depends on may have changed."""
        match self.state:
            case ModuleState.LOW_POWER if not self.wants_low_power:
                self._enter(ModuleState.POWERING_UP)
                self._timeline.plan("module", self._pace.of(self._durations.power_up), self._powered_up)
            case ModuleState.READY if self.wants_low_power and all_deactivated:
                self._enter(ModuleState.POWERING_DOWN)
                self._timeline.plan("module", self._pace.of(self._durations.power_down), self._started)

    def fail(self) -> None:
        """A fault that the module cannot get out of but by a reset."""
        self._enter(ModuleState.FAULT)

    def _started(self) -> None:
        self._enter(ModuleState.LOW_POWER)

    def _powered_up(self) -> None:
        self._enter(ModuleState.READY)

    def _enter(self, state: ModuleState) -> None:
        self.state = state
        self._memory.lower[_STATE_BYTE] = (self._memory.lower[_STATE_BYTE] & 1) | state << 1
        if state in (ModuleState.LOW_POWER, ModuleState.READY, ModuleState.FAULT):
            self._flags.happen(LOWER, _FLAG_BYTE, _STATE_CHANGED)
        self._changed()

    def _controlled(self, value: int) -> None:
        if value & _RESET:
            self._reset()
        else:
            self._changed()
