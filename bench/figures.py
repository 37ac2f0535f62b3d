"""What a measurement hands back: figures, each with its floor; and how samples become one.

A figure is a time, less is better, or a rate, more is better. Its ratio to the floor is written so that 1 means "as
good as the floor" and larger is worse, for both.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

_MICRO, _MILLI = 1e-6, 1e-3
_ROUNDS_UP = 0.9995  # from here on, three digits of a unit are one of the next


class Unit(StrEnum):
    """What a figure counts."""

    SECONDS = "s"
    RATE = "1/s"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number and its floor, both in the same unit.

    Attributes:
        measurement: name of the measurement it belongs to.
        name: of what was measured.
        value: as measured.
        floor: the same for the least that had to be done.
        floor_name: what that least is.
    """

    measurement: str
    name: str
    value: float
    floor: float
    floor_name: str
    unit: Unit = Unit.SECONDS

    @property
    def ratio(self) -> float:
        """How many times worse than the floor."""
        return self.floor / self.value if self.unit is Unit.RATE else self.value / self.floor


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of all samples does not exceed; `share` in (0, 1]."""
    ordered = sorted(samples)
    return ordered[math.ceil(share * len(ordered)) - 1]


def median(samples: Sequence[float]) -> float:
    """The middle one."""
    return percentile(samples, 0.5)


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median_time(work: Callable[[], object], *, times: int) -> float:
    """Seconds that one call takes, in the middle of so many."""
    return median([timed(work) for _ in range(times)])


def written(value: float, unit: Unit) -> str:
    """A value for people: three digits and a unit that suits its size."""
    if unit is Unit.RATE:
        return f"{value:,.0f} /s"
    if value < _ROUNDS_UP * _MILLI:
        return f"{value / _MICRO:.3g} µs"
    if value < _ROUNDS_UP:
        return f"{value / _MILLI:.3g} ms"
    return f"{value:.3g} s"
