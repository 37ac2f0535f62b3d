"""A metrics page as Prometheus reads it."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest

from ringlight.fabric.metric_family import Distributions, Kind, Samples


def exposition(shown: Iterable[Samples | Distributions]) -> bytes:
    """The text of a page that shows these families."""
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
