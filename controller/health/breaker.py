"""The breaker: when so many nodes newly fail at once that a person must look before anything moves.

One cause that looks like many dead nodes (a firmware roll-out, a management switch, a mistake of ours) must not take a
working fabric apart. Tripping is decided here; that nothing moves until a reset is the engine's part.
"""

import math
from collections.abc import Iterable

from ringlight.controller.health.settings import BreakerSettings


def allowance(nodes: int, settings: BreakerSettings) -> int:
    """How many nodes of a fabric of so many may newly fail within the window."""
    return max(settings.burst, math.floor(settings.share * nodes))


def newly_failed(failures: Iterable[tuple[float, int]], now: float, settings: BreakerSettings) -> int:
    """Different nodes, as (time, position), that failed within the window."""
    return len({position for when, position in failures if when > now - settings.window})
