"""The controller's slow timers in compressed time: trust that takes days to lose or gain, in seconds.

The fast ones (heartbeats, answers, light) are those of the real software and stay as they are. Quarantine is off:
weeks pass here in seconds, and there is no person to release a node.
"""

from typing import Any

_PROBATION = 600.0  # seconds, as the controller's defaults
_WINDOW = 300.0
_HALF_LIFE = 900.0
_LONGEST = 3_600.0


def compressed_timers(speed: float) -> dict[str, Any]:
    """Sections of a controller's configuration in which so many seconds pass in one."""
    return {
        "health": {"probation": _PROBATION / speed},
        "breaker": {"window": _WINDOW / speed},
        "flap": {
            "half_life": _HALF_LIFE / speed,
            "longest": _LONGEST / speed,
            "quarantine_faults": 0,
            "quarantine_flaps": 0,
        },
    }
