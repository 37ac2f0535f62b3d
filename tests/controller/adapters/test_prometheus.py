"""The metrics page: what Prometheus reads is what was to be shown, and it does not grow."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ringlight import __version__
from ringlight.controller.adapters.prometheus import Metrics
from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Restored
from ringlight.controller.metrics.census import take_census
from ringlight.controller.metrics.families import FAMILIES
from ringlight.controller.metrics.samples import Process
from ringlight.controller.metrics.tally import Tally
from ringlight.controller.settings import Settings

HEALED = {"reason": "hop-dark", "switch_seconds": "0.004", "verify_seconds": "0.03", "heal_seconds": "0.034"}


class Page:
    """The page, and what it is made from, for a test to change."""

    def __init__(self, census):
        self.census = census
        self.tally = Tally()
        process = Process(store_ok=True, events_dropped=3, loop_lag=0.002)
        self.metrics = Metrics(lambda: self.census, self.tally, lambda: process)

    async def text(self):
        return (await self.metrics.render()).decode()

    async def series(self):
        """From the name and labels of every series to its value."""
        families = text_string_to_metric_families(await self.text())
        return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}

    def happen(self, kind, subject, **data):
        self.tally.note_event(FabricEvent(1, kind, subject, f"text of {subject}", data))


@pytest.fixture
def page(make_wiring):
    engine = Engine(make_wiring(8), Settings())
    engine.handle(Restored(epoch=3), 0.0)
    return Page(take_census(engine.state, 0.0))


async def test_every_family_is_told_with_its_kind_and_meaning(page):
    text = await page.text()
    for family in FAMILIES:
        name = family.name
        assert f"# HELP {name} {family.text}\n" in text
        assert f"# TYPE {name} {'gauge' if family.kind == 'info' else family.kind}\n" in text


async def test_the_version_is_told(page):
    assert (await page.series())["ringlight_build_info", ("version", __version__)] == 1


async def test_a_histogram_is_cumulative(page):
    page.happen("ring-active", "train/0", **HEALED)
    page.happen("ring-active", "train/1", **{**HEALED, "heal_seconds": "45"})
    series = await page.series()

    def value(suffix, phase, **more):
        return series[(f"ringlight_reconfiguration_seconds_{suffix}", *sorted({"phase": phase, **more}.items()))]

    assert (value("count", "switch"), value("sum", "switch")) == (2, 0.008)
    assert (value("bucket", "switch", le="0.002"), value("bucket", "switch", le="0.005")) == (0, 2)
    assert [value("bucket", "total", le=le) for le in ("0.02", "0.05", "30.0", "+Inf")] == [0, 1, 1, 2]


async def test_counters_and_gauges(page):
    page.happen("drift", "n1")
    page.happen("ring-active", "train/0", **HEALED)
    series = await page.series()
    assert series["ringlight_drift_total",] == 1
    assert series["ringlight_events_total", ("kind", "drift")] == 1
    assert series["ringlight_reconfigurations_total", ("reason", "hop-dark"), ("result", "active")] == 1
    assert series["ringlight_epoch",] == 3
    assert series["ringlight_queue_drops_total", ("queue", "store")] == 3


async def test_names_of_nodes_are_escaped(page):
    page.census = replace(page.census, view=replace(page.census.view, abnormal={'rack "7"\\n': "FAILED"}))
    assert (await page.series())["ringlight_node_abnormal", ("node", 'rack "7"\\n'), ("verdict", "FAILED")] == 1


async def test_pitfall_30_memory_does_not_grow_with_what_comes_and_goes(page):
    """A thousand jobs, and nodes that fail and are cured: as many series afterwards as before."""
    healthy = replace(page.census.view, abnormal={})
    page.census = replace(page.census, view=healthy)
    page.happen("ring-active", "train/0", **HEALED)
    page.happen("verdict", "n1", evidence="report", detection_seconds="0")
    page.happen("job-released", "train")
    before = set(await page.series())
    for number in range(1_000):
        page.census = replace(
            page.census,
            view=replace(healthy, abnormal={f"n{number}": "FAILED"}),
            job_generations={f"job-{number}": number},
        )
        page.tally.exported[f"job-{number}"] = number
        page.happen("ring-active", f"job-{number}/0", **HEALED)
        page.happen("verdict", f"n{number}", evidence="report", detection_seconds="0")
        page.happen("job-released", f"job-{number}")
        if number % 100 == 0:
            await page.text()
    page.census = replace(page.census, view=healthy, job_generations={})
    assert set(await page.series()) == before
