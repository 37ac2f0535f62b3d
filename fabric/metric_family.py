"""Metrics as data: what is said of a family, and its series. Pages, their documentation and tests follow it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ringlight.fabric.distribution import Distribution


class Kind(StrEnum):
    """What a family is to Prometheus."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Label:
    """A label.

    Attributes:
        values: the closed set of them; empty when the fabric names them.
    """

    name: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """A metric family.

    Attributes:
        name: as it is queried, the ending of its kind included.
        text: what a person needs to know, in one line.
        labels: of each series.
        buckets: upper bounds of a histogram, in seconds.
    """

    name: str
    kind: Kind
    text: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()


Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Samples:
    """The series of a family of numbers, by the values of its labels."""

    family: Family
    values: Iterable[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Distributions:
    """The series of a histogram, by the values of its labels."""

    family: Family
    values: Iterable[tuple[Labels, Distribution]]
