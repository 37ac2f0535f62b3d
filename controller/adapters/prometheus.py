"""Metrics: gauges from a snapshot of the fabric, histograms and counters from its events.

The gauges are collected from one immutable view, so the series of something that is gone vanish by themselves. Label
sets are closed; the only series a node gets is one for an abnormal verdict. Rendering runs in a thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from ringlight import __version__
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.view import FabricView

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_PHASES = ("switch", "verify", "heal")


class Metrics:
    """All metrics of one controller.

    Args:
        view: gives the present state of the fabric.
        store_trouble: gives what is wrong with the store, or an empty string.
        events_dropped: gives the number of events that the store never took.
    """

    def __init__(
        self, view: Callable[[], FabricView], store_trouble: Callable[[], str], events_dropped: Callable[[], int]
    ) -> None:
        self._view = view
        self._store_trouble = store_trouble
        self._events_dropped = events_dropped
        self._registry = CollectorRegistry()
        self._phases = Histogram(
            "ringlight_reconfiguration_seconds",
            "Time of a ring's change by phase: switch until every bundle read back right, verify until light was"
            " proven, heal from the evidence to proven light",
            ["phase"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._events = Counter("ringlight_events", "Events of the log by kind", ["kind"], registry=self._registry)

    def observe(self, event: FabricEvent) -> None:
        """Count an event, and the times it carries."""
        self._events.labels(event.kind).inc()
        for phase in _PHASES:
            seconds = event.data.get(f"{phase}_seconds")
            if seconds is not None:
                self._phases.labels(phase).observe(float(seconds))

    async def render(self) -> bytes:
        """The exposition text."""
        snapshot = _Snapshot(self._view(), self._store_trouble(), self._events_dropped())
        return await asyncio.to_thread(self._render, snapshot)

    def _render(self, of_now: "_Snapshot") -> bytes:
        snapshot = CollectorRegistry()
        snapshot.register(of_now)
        return generate_latest(snapshot) + generate_latest(self._registry)


class _Snapshot:
    """The gauges of one moment."""

    def __init__(self, view: FabricView, store_trouble: str, events_dropped: int) -> None:
        self._fabric = view
        self._store_trouble = store_trouble
        self._events_dropped = events_dropped

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        fabric = self._fabric
        info = InfoMetricFamily("ringlight_build", "Version of the controller")
        info.add_metric([], {"version": __version__})
        yield info
        yield GaugeMetricFamily("ringlight_epoch", "The controller's term", fabric.epoch)
        yield GaugeMetricFamily("ringlight_generation", "Version of the fabric's desired state", fabric.generation)
        yield _by_label("ringlight_nodes", "Nodes by verdict", "verdict", fabric.verdicts)
        yield _by_label("ringlight_rings", "Rings by state", "state", fabric.ring_states)
        abnormal = GaugeMetricFamily(
            "ringlight_node_abnormal", "1 for each node that is not HEALTHY", labels=["node", "verdict"]
        )
        for node, verdict in sorted(fabric.abnormal.items()):
            abnormal.add_metric([node, verdict], 1)
        yield abnormal
        yield GaugeMetricFamily("ringlight_spares", "Available nodes that no ring uses", fabric.spares)
        yield GaugeMetricFamily("ringlight_gpus", "GPUs of the fabric", fabric.nodes * fabric.gpus_per_node)
        yield GaugeMetricFamily("ringlight_gpus_healthy", "GPUs of nodes that are not FAILED", fabric.gpus_healthy)
        yield GaugeMetricFamily("ringlight_gpus_in_rings", "GPUs of ACTIVE rings", fabric.gpus_in_rings)
        yield GaugeMetricFamily("ringlight_hops_dead", "Hops that carry no light", len(fabric.dead_hops))
        yield GaugeMetricFamily(
            "ringlight_longest_bypass_hops", "Largest hop distance an ACTIVE ring uses", fabric.longest_bypass
        )
        yield _by_label("ringlight_nodes_overlaid", "Nodes by what lies over them", "overlay", fabric.overlays)
        yield GaugeMetricFamily(
            "ringlight_nodes_quarantined",
            "Nodes that wait for a release",
            fabric.quarantined,
        )
        gates = {gate.name: int(gate.open) for gate in fabric.gates}
        yield _by_label("ringlight_gate_open", "1 while a gate keeps nothing back", "gate", gates)
        yield GaugeMetricFamily("ringlight_sessions", "Live sessions of agents", fabric.sessions)
        yield GaugeMetricFamily("ringlight_settled", "1 while no transaction is in flight", int(fabric.settled))
        yield GaugeMetricFamily("ringlight_store_ok", "1 while the store can be written", int(not self._store_trouble))
        yield CounterMetricFamily("ringlight_events_dropped", "Events that the store never took", self._events_dropped)
        yield CounterMetricFamily(
            "ringlight_invariant_violations",
            "Commands refused by an invariant; anything but 0 is a bug",
            fabric.violations,
        )


def _by_label(name: str, documentation: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, documentation, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family
