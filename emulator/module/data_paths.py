"""The data path state machines and their configuration: pages 10h and 11h, all but powers and losses of signal.

Lanes that are configured together make one data path and go through its states together; several data paths do not
disturb each other. A host stages what it wants in set 0 and applies it: every lane then says what became of that. An
apply to lanes that are in between two states, or whose last apply is not done, is passed over in silence.
"""

from collections.abc import Callable
from enum import IntEnum

from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.encoding import bits, nibbles
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.module.pages import APPLICATIONS
from ringlight.emulator.module.profile import LANES

CONTROL, STATUS = 0x10, 0x11
_DEINIT, _TX_DISABLE, _SQUELCH, _RX_DISABLE = 128, 130, 132, 138
_RW = (*range(128, 136), 137, 138, 139, *range(145, 176), *range(178, 213))
_APPLY, _APPLY_NOW, _STAGED = 143, 144, 145
_STATES, _RX_VALID, _TX_VALID, _STATE_FLAG, _RX_FLAG = 128, 132, 133, 134, 153
_CONFIG, _ACTIVE, _PENDING = 202, 206, 235
_CONFIGURING = (0.0005, 0.004)  # seconds


class DpState(IntEnum):
    """Of one data path. The numbers are those of the register."""

    DEACTIVATED = 1
    INIT = 2
    DEINIT = 3
    ACTIVATED = 4
    TURNING_ON = 5
    TURNING_OFF = 6
    INITIALIZED = 7


_IN_BETWEEN = (DpState.INIT, DpState.DEINIT, DpState.TURNING_ON, DpState.TURNING_OFF)


class ConfigStatus(IntEnum):
    """What became of the last apply on a lane. The numbers are those of the register."""

    UNDEFINED = 0
    SUCCESS = 1
    BAD_APPLICATION = 3
    BAD_DATA_PATH = 4
    PARTIAL = 7
    IN_PROGRESS = 0xC


class DataPaths:
    """All lanes of one module.

    Args:
        is_ready: whether the module is, and is wanted to be, out of low power.
        changed: called after every change of state.

    Attributes:
        states: of each lane.
    """

    def __init__(self, chassis: Chassis, *, is_ready: Callable[[], bool], changed: Callable[[], None]) -> None:
        self.states = [DpState.DEACTIVATED] * LANES
        self._active = [_configuration(1, 0)] * LANES
        self._status = [ConfigStatus.UNDEFINED] * LANES
        self._recycling: set[int] = set()
        self._memory = memory = chassis.memory
        self._flags = chassis.flags
        self._timeline = chassis.timeline
        self._pace = chassis.pace
        self._profile = chassis.profile
        self._faults = chassis.faults
        self._is_ready = is_ready
        self._changed = changed
        memory.add_page(CONTROL)
        memory.add_page(STATUS)
        memory.put(CONTROL, _STAGED, bytes(self._active))
        memory.allow(CONTROL, _RW)
        for byte in (_DEINIT, _TX_DISABLE, _SQUELCH, _RX_DISABLE):
            memory.on_write(CONTROL, byte, lambda _: self._changed())
        memory.on_write(CONTROL, _APPLY, lambda lanes: self._apply(lanes, recycle=True))
        memory.on_write(CONTROL, _APPLY_NOW, lambda lanes: self._apply(lanes, recycle=False))
        self._show()

    @property
    def all_deactivated(self) -> bool:
        """Whether the module may power down."""
        return all(state is DpState.DEACTIVATED for state in self.states)

    def lasers_on(self) -> list[bool]:
        """Which lanes send."""
        off = self._memory.get(CONTROL, _TX_DISABLE) | self._memory.get(CONTROL, _SQUELCH)
        return [state is DpState.ACTIVATED and not off >> lane & 1 for lane, state in enumerate(self.states)]

    def see(self, has_signal: list[bool]) -> None:
        """What the receivers see: whether a lane's output to the host, and to the fibre, is worth anything."""
        off = self._memory.get(CONTROL, _RX_DISABLE)
        up = (DpState.ACTIVATED, DpState.INITIALIZED, DpState.TURNING_ON, DpState.TURNING_OFF)
        receiving = bits(
            [
                signal and state in up and not off >> lane & 1
                for lane, (signal, state) in enumerate(zip(has_signal, self.states, strict=True))
            ]
        )
        before = self._memory.get(STATUS, _RX_VALID)
        self._memory.set(STATUS, _RX_VALID, receiving)
        self._memory.set(STATUS, _TX_VALID, bits(self.lasers_on()))
        if receiving != before:
            self._flags.happen(STATUS, _RX_FLAG, receiving ^ before)

    def reconsider(self) -> None:
        """Something that data paths depend on may have changed."""
        for lanes in self.together():
            self._step(lanes)

    def together(self) -> list[list[int]]:
        """Lanes that are configured together, in order of lanes."""
        together: dict[int, list[int]] = {}
        for lane, configuration in enumerate(self._active):
            if configuration >> 4:
                together.setdefault(configuration >> 1 & 0x7, []).append(lane)
        return list(together.values())

    # -- states --------------------------------------------------------------------------------------------------------

    def _step(self, lanes: list[int]) -> None:
        durations = self._profile.durations
        down = self._is_to_be_down(lanes)
        off = self._is_to_be_off(lanes)
        match self.states[lanes[0]]:
            case DpState.DEACTIVATED if not down:
                self._go(lanes, DpState.INIT, DpState.INITIALIZED, self._pace.of(durations.init))
            case DpState.INITIALIZED if down:
                late = self._faults.seconds(ModuleFaultKind.DEACTIVATED_LATE)
                self._go(lanes, DpState.DEINIT, DpState.DEACTIVATED, self._pace.of(durations.deinit) + late)
            case DpState.INITIALIZED if not off:
                self._go(lanes, DpState.TURNING_ON, DpState.ACTIVATED, self._pace.of(durations.turn_on))
            case DpState.ACTIVATED if down or off:
                self._go(lanes, DpState.TURNING_OFF, DpState.INITIALIZED, self._pace.of(durations.turn_off))

    def _is_to_be_down(self, lanes: list[int]) -> bool:
        wanted = self._memory.get(CONTROL, _DEINIT)
        return not self._is_ready() or any(wanted >> lane & 1 or lane in self._recycling for lane in lanes)

    def _is_to_be_off(self, lanes: list[int]) -> bool:
        disabled = self._memory.get(CONTROL, _TX_DISABLE)
        return all(disabled >> lane & 1 for lane in lanes)

    def _go(self, lanes: list[int], through: DpState, to: DpState, seconds: float) -> None:
        self._enter(lanes, through)
        self._timeline.plan(("data path", lanes[0]), seconds, lambda: self._enter(lanes, to))

    def _enter(self, lanes: list[int], state: DpState) -> None:
        for lane in lanes:
            self.states[lane] = state
        if state is DpState.DEACTIVATED:
            self._recycling -= set(lanes)
        if state not in _IN_BETWEEN:
            self._flags.happen(STATUS, _STATE_FLAG, sum(1 << lane for lane in lanes))
        self._show()
        self._changed()

    # -- configuration -------------------------------------------------------------------------------------------------

    def _apply(self, wanted: int, *, recycle: bool) -> None:
        lanes = [
            lane
            for lane in range(LANES)
            if wanted >> lane & 1
            and self.states[lane] not in _IN_BETWEEN
            and self._status[lane] is not ConfigStatus.IN_PROGRESS
        ]
        outcomes = {lane: self._judged(lane, lanes) for lane in lanes}
        for lane in lanes:
            self._status[lane] = ConfigStatus.IN_PROGRESS
        self._show()
        if lanes:
            after = self._pace.between(*_CONFIGURING)
            self._timeline.plan(("configuring", lanes[0]), after, lambda: self._configured(outcomes, recycle=recycle))

    def _judged(self, lane: int, lanes: list[int]) -> ConfigStatus:
        staged = self._memory.get(CONTROL, _STAGED + lane)
        application, first = staged >> 4, staged >> 1 & 0x7
        if application == 0:
            refused = self._faults.has(ModuleFaultKind.REFUSES_UNUSED)
            return ConfigStatus.BAD_APPLICATION if refused else ConfigStatus.SUCCESS
        if application > len(APPLICATIONS):
            return ConfigStatus.BAD_APPLICATION
        _, _, lane_counts, may_begin_at = APPLICATIONS[application - 1]
        whole = range(first, first + (lane_counts & 0xF))
        if not may_begin_at >> first & 1 or lane not in whole:
            return ConfigStatus.BAD_DATA_PATH
        together = all(
            other in lanes and self._memory.get(CONTROL, _STAGED + other) >> 1 == staged >> 1 for other in whole
        )
        return ConfigStatus.SUCCESS if together else ConfigStatus.PARTIAL

    def _configured(self, outcomes: dict[int, ConfigStatus], *, recycle: bool) -> None:
        slow = self._faults.lanes(ModuleFaultKind.LANE_IN_PROGRESS)
        for lane, outcome in outcomes.items():
            if outcome is ConfigStatus.SUCCESS:
                self._take(lane, self._memory.get(CONTROL, _STAGED + lane), recycle=recycle)
            if not slow >> lane & 1:
                self._status[lane] = outcome
        late = {lane: outcome for lane, outcome in outcomes.items() if slow >> lane & 1}
        if late:
            seconds = self._faults.seconds(ModuleFaultKind.LANE_IN_PROGRESS)
            self._timeline.plan(("slow lanes", min(late)), seconds, lambda: self._say(late))
        self._show()
        self._changed()

    def _say(self, outcomes: dict[int, ConfigStatus]) -> None:
        for lane, outcome in outcomes.items():
            self._status[lane] = outcome
        self._show()

    def _take(self, lane: int, configuration: int, *, recycle: bool) -> None:
        self._active[lane] = configuration
        if configuration >> 4 == 0:
            self.states[lane] = DpState.DEACTIVATED
        elif recycle and not self._profile.stepped and self.states[lane] is not DpState.DEACTIVATED:
            self._recycling.add(lane)

    def _show(self) -> None:
        self._memory.put(STATUS, _STATES, nibbles([int(state) for state in self.states]))
        self._memory.put(STATUS, _CONFIG, nibbles([int(status) for status in self._status]))
        self._memory.put(STATUS, _ACTIVE, bytes(self._active))
        pending = bits([lane in self._recycling for lane in range(LANES)])
        if self._faults.has(ModuleFaultKind.PENDING_AT_RANDOM):
            pending = bits([self._pace.chance(0.5) for _ in range(LANES)])
        self._memory.set(STATUS, _PENDING, pending)


def _configuration(application: int, first_lane: int) -> int:
    return application << 4 | first_lane << 1
