"""What a module measures of itself, and the flags that say when that is too much or too little.

The temperature drifts a little, and the lasers are held at their power: so their bias follows the temperature. Nothing
drifts far enough to raise an alarm on its own. Registers are brought up to date when they are read, so a module that
nobody reads costs nothing.
"""

import math
from random import Random

from ringlight.emulator.module import encoding, thresholds
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.encoding import bits
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.module.memory import LOWER
from ringlight.emulator.module.optics import DARKNESS, Optics
from ringlight.emulator.module.profile import LANES
from ringlight.emulator.module.thresholds import Thresholds

STATUS = 0x11
_TEMPERATURE, _SUPPLY, _MODULE_FLAGS = 14, 16, 9
_TX_POWER, _BIAS, _RX_POWER = 154, 170, 186
_TX_FLAGS, _BIAS_FLAGS, _LOS, _RX_FLAGS = 139, 143, 147, 149
_DRIFT = 1.5  # degrees Celsius, up and down
_PERIOD = 600.0  # seconds
_BIAS_AT_40 = 60.0  # milliamperes
_BIAS_PER_DEGREE = 0.4


class Monitors:
    """The monitors of one module.

    Args:
        rng: how this module came out of the factory.
    """

    def __init__(self, chassis: Chassis, rng: Random, optics: Optics) -> None:
        self._base = rng.uniform(40.0, 48.0)
        self._phase = rng.uniform(0.0, 2 * math.pi)
        self._volts = rng.uniform(3.28, 3.32)
        self._memory = memory = chassis.memory
        self._flags = chassis.flags
        self._timeline = chassis.timeline
        self._faults = chassis.faults
        self._optics = optics
        self._is_up = False
        self._seen: tuple[object, ...] = ()
        memory.before_read(LOWER, range(_MODULE_FLAGS, _SUPPLY + 2), self.refresh)
        memory.before_read(STATUS, range(_TX_FLAGS, _RX_POWER + 2 * LANES), self.refresh)

    def temperature(self) -> float:
        """Of the case, in degrees Celsius, now."""
        drift = _DRIFT * math.sin(2 * math.pi * self._timeline.now / _PERIOD + self._phase)
        return self._base + drift + self._faults.amount(ModuleFaultKind.HOT)

    def bias(self) -> float:
        """Of a laser that is on, in milliamperes."""
        return _BIAS_AT_40 + _BIAS_PER_DEGREE * (self.temperature() - 40.0)

    def watch(self, *, is_up: bool) -> None:
        """Something changed: raise the flags that it calls for. A module that is not up loses no signals."""
        self._is_up = is_up
        self._tell()

    def refresh(self) -> None:
        """Bring every register of the monitors up to date, and the flags with them."""
        optics, lanes = self._optics, range(LANES)
        self._memory.put(LOWER, _TEMPERATURE, encoding.temperature(self.temperature()))
        self._memory.put(LOWER, _SUPPLY, encoding.supply(self._volts))
        on, off = encoding.bias(self.bias()), encoding.bias(0.0)
        self._memory.put(STATUS, _TX_POWER, b"".join(encoding.optical_power(optics.sent(at)) for at in lanes))
        self._memory.put(STATUS, _BIAS, b"".join(on if sending else off for sending in optics.lasers_on))
        self._memory.put(STATUS, _RX_POWER, b"".join(encoding.optical_power(optics.received(at)) for at in lanes))
        self._tell()

    def _tell(self) -> None:
        """Flags, where anything that they depend on has changed: of what drifts, a degree is enough to matter."""
        optics, lanes = self._optics, range(LANES)
        sent, received = [optics.sent(at) for at in lanes], [self._received(at) for at in lanes]
        seen = (round(self.temperature()), self._is_up, sent, received, list(optics.lasers_on), list(optics.has_signal))
        if seen == self._seen:
            return
        self._seen = seen
        self._flags.hold(
            LOWER,
            _MODULE_FLAGS,
            _nibble(thresholds.TEMPERATURE.crossed(self.temperature()))
            | _nibble(thresholds.SUPPLY.crossed(self._volts)) << 4,
        )
        self._flags.hold(STATUS, _LOS, bits([self._is_up and not signal for signal in optics.has_signal]))
        self._watch_lanes(_TX_FLAGS, thresholds.TX_POWER, sent, optics.lasers_on)
        self._watch_lanes(_BIAS_FLAGS, thresholds.BIAS, [self.bias()] * LANES, optics.lasers_on)
        self._watch_lanes(_RX_FLAGS, thresholds.RX_POWER, received, [self._is_up] * LANES)

    def _received(self, lane: int) -> float:
        received = self._optics.received(lane)
        return max(received, -40.0) if received > DARKNESS else -40.0

    def _watch_lanes(self, byte: int, limits: Thresholds, values: list[float], watched: list[bool]) -> None:
        """Four bytes of flags, one bit a lane: high alarm, low alarm, high warning, low warning."""
        crossed = [limits.crossed(value) for value in values]
        for number in range(4):
            held = [watched[lane] and crossed[lane][number] for lane in range(LANES)]
            self._flags.hold(STATUS, byte + number, bits(held))


def _nibble(crossed: tuple[bool, bool, bool, bool]) -> int:
    return bits(list(crossed))
