"""The metrics page of the controller: the series of `controller.metrics`, as Prometheus reads them.

The series of something that is gone vanish by themselves, since all of them are made anew from one look. That look is
taken on the event loop, where nothing moves meanwhile; what follows from it is worked out and written in a thread.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest

from ringlight.controller.metrics.census import Census
from ringlight.controller.metrics.families import Kind
from ringlight.controller.metrics.samples import Distributions, Process, Samples, samples
from ringlight.controller.metrics.tally import Tally


class Metrics:
    """The metrics page of one controller.

    Args:
        census: looks at the fabric as it is now.
        tally: what is counted.
        process: tells how the process fares now.
    """

    def __init__(self, census: Callable[[], Census], tally: Tally, process: Callable[[], Process]) -> None:
        self._census = census
        self._tally = tally
        self._process = process

    async def render(self) -> bytes:
        """The exposition text."""
        # What is counted goes on being counted while the thread reads.
        return await asyncio.to_thread(_text, samples(self._census(), deepcopy(self._tally), self._process()))


def _text(shown: Iterable[Samples | Distributions]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(list(map(_metric, shown))))
    return generate_latest(registry)


class _Collected:
    """Families that are collected already."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        return iter(self._metrics)


def _metric(shown: Samples | Distributions) -> Metric:
    family = shown.family
    labels = [label.name for label in family.labels]
    if isinstance(shown, Distributions):
        histogram = HistogramMetricFamily(family.name, family.text, labels=labels)
        for values, times in shown.values:
            histogram.add_metric(values, times.cumulative(), times.sum)
        return histogram
    if family.kind is Kind.INFO:
        info = InfoMetricFamily(family.name.removesuffix("_info"), family.text)
        for values, _ in shown.values:
            info.add_metric([], dict(zip(labels, values, strict=True)))
        return info
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = kind(family.name.removesuffix("_total"), family.text, labels=labels)
    for values, value in shown.values:
        metric.add_metric(values, float(value))
    return metric
