"""How long things really take in one module: less than it advertises, another time each time, by its seed."""

from random import Random

from ringlight.emulator.module.encoding import LONGEST

_FASTEST = 0.3  # of what is advertised
_SLOWEST = 0.9


class Pace:
    """Draws durations.

    Args:
        rng: of this module.
        scale: what every duration is multiplied by; what is advertised stays, so 0.001 makes a module that is done
            long before it must be.
    """

    def __init__(self, rng: Random, scale: float) -> None:
        self._rng = rng
        self._scale = scale

    def of(self, code: int) -> float:
        """Seconds for something whose longest duration is advertised by this code."""
        return LONGEST[code] * self._rng.uniform(_FASTEST, _SLOWEST) * self._scale

    def between(self, shortest: float, longest: float) -> float:
        """Seconds, drawn from a range."""
        return self._rng.uniform(shortest, longest) * self._scale

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self._rng.random() < probability
