"""Pauses between attempts: exponential, with full jitter, so that a thousand agents never come back at once.

The jitter is taken after the cap: at the cap, too, pauses spread over the whole interval.
"""

from random import Random


class Backoff:
    """The pauses of one series of attempts."""

    def __init__(self, rng: Random, *, first: float, cap: float) -> None:
        self._rng = rng
        self._first = first
        self._cap = cap
        self._bound = first

    def next(self) -> float:
        """The next pause in seconds: anything up to a bound that doubles each time, up to the cap."""
        bound = min(self._bound, self._cap)
        self._bound = min(2 * bound, self._cap)
        return self._rng.uniform(0.0, bound)

    def reset(self) -> None:
        """Begin anew: an attempt succeeded."""
        self._bound = self._first
