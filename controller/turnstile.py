"""Agents are let in at a rate: a herd that dials at once must not drown the controller in hellos.

A pure decision, by the time it is given: who comes gets a turn soon, or is sent away at once when its turn would come
too late. So nobody waits until its own patience ends, dials again, and makes the herd larger.
"""

from ringlight.controller.settings import SessionSettings


class Turnstile:
    """Gives turns, evenly spread after a first burst."""

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._next = -float("inf")  # when the next turn is, had nobody come lately

    def turn(self, now: float) -> float | None:
        """Seconds until whoever comes now has its turn; None when it should come again later."""
        settings = self._settings
        start = max(self._next, now - (settings.burst - 1) / settings.rate)
        wait = max(0.0, start - now)
        if wait > settings.longest_wait:
            return None
        self._next = start + 1.0 / settings.rate
        return wait
