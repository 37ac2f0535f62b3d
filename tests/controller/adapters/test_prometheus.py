"""Metrics: every family with its closed labels, and series that vanish with what they are about."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ringlight import __version__
from ringlight.controller.adapters.prometheus import Metrics
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Restored
from ringlight.controller.engine.state import RingState
from ringlight.controller.engine.view import GateView, view_fabric
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.settings import Settings

GAUGES = {
    "ringlight_epoch": "epoch",
    "ringlight_generation": "generation",
    "ringlight_spares": "spares",
    "ringlight_gpus_healthy": "gpus_healthy",
    "ringlight_gpus_in_rings": "gpus_in_rings",
    "ringlight_longest_bypass_hops": "longest_bypass",
    "ringlight_sessions": "sessions",
}


class Shown:
    """What the metrics are made from, for a test to change."""

    def __init__(self, view):
        self.view = view
        self.trouble = ""
        self.dropped = 0
        self.metrics = Metrics(lambda: self.view, lambda: self.trouble, lambda: self.dropped)

    async def families(self):
        """Families by name, each a mapping from its sample's name and labels to the value."""
        text = (await self.metrics.render()).decode()
        return {
            family.name: {(s.name, *sorted(s.labels.items())): s.value for s in family.samples}
            for family in text_string_to_metric_families(text)
        }

    async def value(self, name):
        (value,) = (await self.families())[name].values()
        return value


@pytest.fixture
def shown(make_wiring):
    engine = Engine(make_wiring(8), Settings())
    engine.handle(Restored(epoch=3), 0.0)
    return Shown(view_fabric(engine.state, 0.0))


async def test_every_number_of_the_fabric_is_a_gauge(shown):
    numbers = {field: index + 11 for index, field in enumerate(GAUGES.values())}
    shown.view = replace(shown.view, **numbers, dead_hops=("n1+1", "n3+2"))
    for name, field in GAUGES.items():
        assert await shown.value(name) == numbers[field]
    assert await shown.value("ringlight_gpus") == 8 * 4
    assert await shown.value("ringlight_hops_dead") == 2


async def test_label_sets_are_closed(shown):
    families = await shown.families()
    verdicts = {("ringlight_nodes", ("verdict", verdict.value)) for verdict in Verdict}
    states = {("ringlight_rings", ("state", s.value)) for s in RingState if s is not RingState.RELEASED}
    assert set(families["ringlight_nodes"]) == verdicts
    assert sum(families["ringlight_nodes"].values()) == 8
    assert set(families["ringlight_rings"]) == states
    labels = {label for family in families.values() for _, *pairs in family for label, _ in pairs}
    assert labels == {"verdict", "state", "node", "version", "overlay", "gate"}


async def test_a_node_has_a_series_only_while_it_is_not_healthy(shown):
    shown.view = replace(shown.view, abnormal={"n2": "FAILED", "n5": "SUSPECT"})
    assert (await shown.families())["ringlight_node_abnormal"] == {
        ("ringlight_node_abnormal", ("node", "n2"), ("verdict", "FAILED")): 1,
        ("ringlight_node_abnormal", ("node", "n5"), ("verdict", "SUSPECT")): 1,
    }
    shown.view = replace(shown.view, abnormal={"n2": "PROBATION"})
    assert (await shown.families())["ringlight_node_abnormal"] == {
        ("ringlight_node_abnormal", ("node", "n2"), ("verdict", "PROBATION")): 1
    }
    shown.view = replace(shown.view, abnormal={})
    assert (await shown.families())["ringlight_node_abnormal"] == {}


async def test_yes_and_no(shown):
    for settled in (True, False):
        shown.view = replace(shown.view, settled=settled)
        assert await shown.value("ringlight_settled") == settled
    assert await shown.value("ringlight_store_ok") == 1
    shown.trouble = "disk full"
    assert await shown.value("ringlight_store_ok") == 0


async def test_counters_of_what_must_not_be(shown):
    shown.view = replace(shown.view, violations=2)
    shown.dropped = 7
    families = await shown.families()
    assert families["ringlight_invariant_violations"] == {("ringlight_invariant_violations_total",): 2}
    assert families["ringlight_events_dropped"] == {("ringlight_events_dropped_total",): 7}


async def test_events_are_counted_by_kind_and_their_times_become_histograms(shown):
    shown.metrics.observe(FabricEvent(1, "verdict", "n1", ""))
    times = {"switch_seconds": "0.004", "verify_seconds": "0.03", "heal_seconds": "0.034"}
    shown.metrics.observe(FabricEvent(2, "ring-active", "train/0", "", times))
    shown.metrics.observe(FabricEvent(3, "ring-active", "train/1", "", {"heal_seconds": "45"}))
    shown.metrics.observe(FabricEvent(4, "ring-active", "train/1", ""))
    families = await shown.families()
    counts = {key[1][1]: value for key, value in families["ringlight_events"].items() if key[0].endswith("_total")}
    assert counts == {"verdict": 1, "ring-active": 3}
    histogram = families["ringlight_reconfiguration_seconds"]

    def sample(suffix, phase, **more):
        return histogram[(f"ringlight_reconfiguration_seconds_{suffix}", *sorted({"phase": phase, **more}.items()))]

    assert (sample("count", "switch"), sample("sum", "switch")) == (1, 0.004)
    assert (sample("bucket", "switch", le="0.002"), sample("bucket", "switch", le="0.005")) == (0, 1)
    assert (sample("count", "verify"), sample("bucket", "verify", le="0.05")) == (1, 1)
    assert (sample("count", "heal"), sample("bucket", "heal", le="30.0"), sample("bucket", "heal", le="+Inf")) == (
        2,
        1,
        2,
    )


async def test_the_version_is_told(shown):
    ((key, value),) = (await shown.families())["ringlight_build_info"].items()
    assert key == ("ringlight_build_info", ("version", __version__))
    assert value == 1


async def test_pitfall_30_what_is_gone_has_no_series_any_more(shown):
    """The gauges are of one snapshot: nothing has to remember to take a series away."""
    shown.view = replace(shown.view, abnormal={"n1": "FAILED", "n2": "UNREACHABLE"})
    assert len((await shown.families())["ringlight_node_abnormal"]) == 2
    shown.view = replace(shown.view, abnormal={"n2": "FAILED"})
    assert (await shown.families())["ringlight_node_abnormal"] == {
        ("ringlight_node_abnormal", ("node", "n2"), ("verdict", "FAILED")): 1
    }


async def test_pitfall_31_a_node_that_was_never_seen_has_its_series_from_the_start(shown):
    """Nobody dialled in yet: every node of the fabric file counts, and is named."""
    families = await shown.families()
    assert families["ringlight_nodes"][("ringlight_nodes", ("verdict", "UNKNOWN"))] == 8
    named = {dict(labels)["node"] for _, *labels in families["ringlight_node_abnormal"]}
    assert named == {f"n{number}" for number in range(8)}


async def test_gates_quarantine_and_overlays_are_gauges(shown):
    gates = (GateView("silence", open=True), GateView("breaker", open=False, reason="many"))
    shown.view = replace(shown.view, gates=gates, quarantined=3, overlays={"cordoned": 2, "maintenance": 1})
    families = await shown.families()
    assert families["ringlight_gate_open"] == {
        ("ringlight_gate_open", ("gate", "silence")): 1,
        ("ringlight_gate_open", ("gate", "breaker")): 0,
    }
    assert await shown.value("ringlight_nodes_quarantined") == 3
    assert families["ringlight_nodes_overlaid"][("ringlight_nodes_overlaid", ("overlay", "cordoned"))] == 2
