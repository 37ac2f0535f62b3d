"""How trust is lost by failing again and again: a penalty that halves with time, and quarantine.

Both follow from the times of a node's flaps and failures alone. A *failure* is one episode of FAILED, a *flap* one of
FAILED or DEGRADED. The penalty is that of route flap damping: suppression begins at one level and ends at a lower one.
"""

import math
from collections.abc import Sequence

from ringlight.controller.health.settings import FlapSettings

_MOST_HALF_LIVES = 512.0  # of suppression: no number of flaps comes to so many points, and a float could not hold more


def suppressed_until(flaps: Sequence[float], settings: FlapSettings) -> float | None:
    """When a node that flapped at these times, oldest first, may be used again; None if it never lost so much trust.

    The time may lie in the past. It is at most `longest` after the last flap.
    """
    ceiling = settings.reuse * 2 ** min(settings.longest / settings.half_life, _MOST_HALF_LIVES)
    points, last, suppressed = 0.0, 0.0, False
    for flap in flaps:
        points *= 0.5 ** ((flap - last) / settings.half_life) if points else 0.0
        suppressed = suppressed and points >= settings.reuse
        points, last = min(points + settings.penalty, ceiling), flap
        suppressed = suppressed or points >= settings.suppress
    return last + settings.half_life * math.log2(points / settings.reuse) if suppressed else None


def why_quarantine(failures: Sequence[float], flaps: Sequence[float], now: float, settings: FlapSettings) -> str:
    """Why a node is to be quarantined until a person releases it; empty when it is not."""
    failed = _since(failures, now - settings.faults_window)
    if 0 < settings.quarantine_faults <= failed:
        return f"failed {failed} times in {_in_words(settings.faults_window)}"
    flapped = _since(flaps, now - settings.flaps_window)
    if 0 < settings.quarantine_flaps <= flapped:
        return f"failed or degraded {flapped} times in {_in_words(settings.flaps_window)}"
    return ""


def still_counting(times: Sequence[float], window: float, now: float) -> list[float]:
    """The times that still count, oldest first."""
    return [when for when in times if when > now - window]


def _since(times: Sequence[float], since: float) -> int:
    return sum(when > since for when in times)


def _in_words(seconds: float) -> str:
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:g} {name}"
    return f"{seconds:g} seconds"
