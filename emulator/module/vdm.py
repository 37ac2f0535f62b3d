"""Versatile diagnostics (VDM), the basics: descriptors, values, thresholds, and freezing them for a consistent reading.

Observables: laser temperature (type 4), signal to noise at the media side (5) and bit errors before correction at the
media side (15), each for all eight lanes. Where no light comes in, noise is
all there is.
"""

from ringlight.emulator.module import encoding
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.monitors import Monitors
from ringlight.emulator.module.optics import Optics
from ringlight.emulator.module.profile import LANES

DESCRIPTORS, VALUES, LIMITS, FLAGS, MASKS, CONTROL = 0x20, 0x24, 0x28, 0x2C, 0x2D, 0x2F
_LASER_TEMPERATURE, _SIGNAL_TO_NOISE, _BIT_ERRORS = 4, 5, 15
_TYPES = (_LASER_TEMPERATURE, _SIGNAL_TO_NOISE, _BIT_ERRORS)  # each has a threshold set of its own, by its place here
_FREEZE, _FREEZE_STATE = 144, 145
_ASKED, _FROZEN, _UNFROZEN = 0x80, 0x80, 0x40
_HIGHEST_MANTISSA, _HIGHEST_EXPONENT = 2047, 7
_WARMER = 5.0  # degrees Celsius that a laser is above the case
_BEST_RATIO = 24.0  # dB at 0 dBm
_LIMITS = (
    b"".join(map(encoding.temperature, (85.0, 0.0, 80.0, 5.0))),
    b"".join(encoding.u16(decibels * 256) for decibels in (60.0, 15.0, 60.0, 17.0)),
)


class Diagnostics:
    """VDM of one module."""

    def __init__(self, chassis: Chassis, monitors: Monitors, optics: Optics) -> None:
        self._memory = memory = chassis.memory
        self._monitors = monitors
        self._optics = optics
        descriptors = b"".join(
            bytes((number << 4 | lane, kind)) for number, kind in enumerate(_TYPES) for lane in range(LANES)
        )
        memory.add_page(DESCRIPTORS)[: len(descriptors)] = descriptors
        memory.add_page(VALUES)
        limits = b"".join(_LIMITS) + b"".join(map(bit_errors, (1e-4, 0.0, 1e-5, 0.0)))
        memory.add_page(LIMITS)[: len(limits)] = limits
        memory.add_page(FLAGS)
        memory.add_page(MASKS)
        memory.add_page(CONTROL)
        memory.put(CONTROL, 129, encoding.u16(10 / 0.1))  # measured every 10 ms
        memory.set(CONTROL, _FREEZE_STATE, _UNFROZEN)
        memory.allow(MASKS, range(128, 256))
        memory.allow(CONTROL, [_FREEZE], _ASKED)
        memory.on_write(CONTROL, _FREEZE, self._freeze)
        memory.before_read(VALUES, range(128, 256), self._refresh)
        self._measure()

    def _freeze(self, value: int) -> None:
        self._measure()
        self._memory.set(CONTROL, _FREEZE_STATE, _FROZEN if value & _ASKED else _UNFROZEN)

    def _refresh(self) -> None:
        if not self._memory.get(CONTROL, _FREEZE) & _ASKED:
            self._measure()

    def _measure(self) -> None:
        warm = encoding.temperature(self._monitors.temperature() + _WARMER)
        ratios = [self._signal_to_noise(lane) for lane in range(LANES)]
        values = (
            warm * LANES
            + b"".join(encoding.u16(ratio * 256) for ratio in ratios)
            + b"".join(bit_errors(10 ** (-ratio / 2)) for ratio in ratios)
        )
        self._memory.put(VALUES, 128, values)

    def _signal_to_noise(self, lane: int) -> float:
        """In dB: best at 0 dBm, a dB less for each dB of light that is missing, never below none."""
        return max(0.0, min(_BEST_RATIO, _BEST_RATIO + self._optics.received(lane)))


def bit_errors(rate: float) -> bytes:
    """F16: a mantissa of 11 bits times ten to the power of an exponent of 5 bits, less 24."""
    if rate <= 0:
        return b"\x00\x00"
    exponent = -24
    while rate / 10.0**exponent > _HIGHEST_MANTISSA and exponent < _HIGHEST_EXPONENT:
        exponent += 1
    mantissa = min(_HIGHEST_MANTISSA, round(rate / 10.0**exponent))
    return (mantissa | (exponent + 24) << 11).to_bytes(2, "big")
