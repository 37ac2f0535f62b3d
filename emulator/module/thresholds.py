"""What a module finds too much or too little, and the flags that say so."""

from collections.abc import Callable
from dataclasses import dataclass

LOS_ASSERTED = -15.5  # dBm at a receiver: below it a lane has lost its signal
LOS_CLEARED = -14.5  # dBm: above it the lane has it again


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of one monitor, in the unit of that monitor."""

    high_alarm: float
    low_alarm: float
    high_warning: float
    low_warning: float

    def encoded(self, encode: Callable[[float], bytes]) -> bytes:
        """As page 02h holds them."""
        return b"".join(map(encode, (self.high_alarm, self.low_alarm, self.high_warning, self.low_warning)))

    def crossed(self, value: float) -> tuple[bool, bool, bool, bool]:
        """High alarm, low alarm, high warning, low warning: the order of the flags."""
        return (
            value > self.high_alarm,
            value < self.low_alarm,
            value > self.high_warning,
            value < self.low_warning,
        )


TEMPERATURE = Thresholds(75.0, 0.0, 70.0, 5.0)  # degrees Celsius
SUPPLY = Thresholds(3.465, 3.135, 3.432, 3.168)  # volts
TX_POWER = Thresholds(8.0, -2.0, 7.0, 0.0)  # dBm
BIAS = Thresholds(110.0, 20.0, 100.0, 30.0)  # milliamperes
RX_POWER = Thresholds(7.0, -15.0, 6.0, -13.0)  # dBm
