"""Every family is shown, with the labels it declares, and nothing else is."""

from collections import Counter
from dataclasses import replace

import pytest

from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Restored
from ringlight.controller.engine.view import GateView
from ringlight.controller.metrics.census import take_census
from ringlight.controller.metrics.families import FAMILIES
from ringlight.controller.metrics.rejection import Rejection
from ringlight.controller.metrics.samples import BusReport, Process, samples
from ringlight.controller.metrics.tally import Tally
from ringlight.controller.settings import Settings
from ringlight.fabric.metric_family import Kind

GAUGES = {
    "ringlight_epoch": "epoch",
    "ringlight_generation": "generation",
    "ringlight_nodes_quarantined": "quarantined",
    "ringlight_spares": "spares",
    "ringlight_longest_bypass_hops": "longest_bypass",
    "ringlight_gpus_healthy": "gpus_healthy",
    "ringlight_gpus_in_rings": "gpus_in_rings",
    "ringlight_sessions": "sessions",
    "ringlight_breaker_failures": "newly_failed",
    "ringlight_breaker_allowance": "breaker_allowance",
    "ringlight_invariant_violations_total": "violations",
}


BUS = BusReport(
    connected=True, losses=2, received=30, sent=40, dropped_in=5, dropped_out=6, rejected={Rejection.RETAINED: 7}
)


@pytest.fixture
def census(make_wiring):
    engine = Engine(make_wiring(8), Settings())
    engine.handle(Restored(epoch=3), 0.0)
    return take_census(engine.state, 0.0)


def shown(census, tally=None, process=None):
    """Every series: by family, from the values of its labels to its own."""
    every = samples(census, tally or Tally(), process or Process(store_ok=True, events_dropped=0, loop_lag=0.0))
    return {each.family.name: dict(each.values) for each in every}


def seen(census, **changes):
    return shown(replace(census, view=replace(census.view, **changes)))


def test_every_family_is_shown_once_and_in_order(census):
    every = samples(census, Tally(), Process(store_ok=True, events_dropped=0, loop_lag=0.0))
    assert [each.family for each in every] == list(FAMILIES)


def test_label_values_are_those_that_are_declared(census):
    tally = Tally(events=Counter(drift=1), exported={"train": 2})
    process = Process(store_ok=True, events_dropped=0, loop_lag=0.0, bus=BUS)
    series = shown(replace(census, job_generations={"train": 2}, in_rings=(1, 2), spares=(3,)), tally, process)
    for family in FAMILIES:
        assert series[family.name], f"{family.name} has no series here: is it tested?"
        for values in series[family.name]:
            assert len(values) == len(family.labels)
            for label, value in zip(family.labels, values, strict=True):
                assert not label.values or value in label.values


def test_without_a_broker_nothing_is_said_of_one(census):
    assert not any(values for name, values in shown(census).items() if name.startswith("ringlight_bus_"))


def test_the_connection_to_a_broker_is_told(census):
    process = Process(store_ok=True, events_dropped=0, loop_lag=0.0, bus=BUS)
    series = shown(census, process=process)
    assert series["ringlight_bus_connected"] == {(): 1}
    assert series["ringlight_bus_losses_total"] == {(): 2}
    assert series["ringlight_bus_messages_total"] == {("in",): 30, ("out",): 40}
    assert series["ringlight_bus_rejected_total"] == {("retained",): 7, ("malformed",): 0, ("no-session",): 0}


def test_a_closed_set_is_shown_whole(census):
    """What did not happen yet is 0, not absent: an alert must not wait for the first time."""
    series = shown(census, process=Process(store_ok=True, events_dropped=0, loop_lag=0.0, bus=BUS))
    for family in FAMILIES:
        if len(family.labels) == 1 and family.labels[0].values and family.name != "ringlight_spare_distance_hops":
            assert {value for (value,) in series[family.name]} == set(family.labels[0].values)


def test_every_name_has_the_ending_of_its_kind():
    for family in FAMILIES:
        assert family.name.startswith("ringlight_")
        assert family.name.endswith("_total") is (family.kind is Kind.COUNTER)
        assert bool(family.buckets) is (family.kind is Kind.HISTOGRAM)


def test_every_number_of_the_fabric_is_shown(census):
    numbers = {field: index + 11 for index, field in enumerate(GAUGES.values())}
    series = seen(census, **numbers)
    for name, field in GAUGES.items():
        assert series[name] == {(): numbers[field]}
    assert series["ringlight_gpus"] == {(): 8 * 4}


def test_hops_are_live_unless_something_else_is_known(census):
    hops = seen(census, dead_hops=("n1+1", "n3+2"), untested_hops=("n2+1",))["ringlight_hops"]
    assert hops == {("live",): 8 * 2 - 3, ("dead",): 2, ("untested",): 1}


def test_only_a_controller_that_may_act_leads(census):
    assert shown(census)["ringlight_leader"] == {(): 1}
    assert seen(census, epoch=0)["ringlight_leader"] == {(): 0}
    deposed = (GateView("silence", open=True), GateView("term", open=False, reason="a later one"))
    assert seen(census, gates=deposed)["ringlight_leader"] == {(): 0}


def test_gates_that_are_shut_are_0(census):
    gates = (GateView("silence", open=True), GateView("breaker", open=False, reason="many"))
    assert seen(census, gates=gates)["ringlight_gate_open"] == {("silence",): 1, ("breaker",): 0}


def test_waste_is_part_of_all_gpus(census):
    series = shown(replace(census, gpus_wasted=8))
    assert (series["ringlight_gpus_wasted"], series["ringlight_waste_ratio"]) == ({(): 8}, {(): 0.25})


def test_distances_to_spares_are_absent_without_spares(census):
    assert shown(replace(census, in_rings=(1, 2), spares=()))["ringlight_spare_distance_hops"] == {}
    series = shown(replace(census, in_rings=(1, 2, 7), spares=(3,)))["ringlight_spare_distance_hops"]
    assert series == {("p50",): 2, ("max",): 4}


def test_the_process_tells_of_itself(census):
    tally = Tally(watch_drops=4, store_errors=2)
    series = shown(census, tally, Process(store_ok=False, events_dropped=7, loop_lag=0.25, bus=BUS))
    assert series["ringlight_store_ok"] == {(): 0}
    assert series["ringlight_store_errors_total"] == {(): 2}
    assert series["ringlight_queue_drops_total"] == {
        ("store",): 7,
        ("watch",): 4,
        ("mqtt-in",): 5,
        ("mqtt-out",): 6,
    }
    assert series["ringlight_loop_lag_seconds"] == {(): 0.25}


def test_a_node_has_a_series_only_while_it_is_not_healthy(census):
    """The gauges are of one look: nothing has to remember to take a series away."""
    assert seen(census, abnormal={"n5": "SUSPECT", "n2": "FAILED"})["ringlight_node_abnormal"] == {
        ("n2", "FAILED"): 1,
        ("n5", "SUSPECT"): 1,
    }
    assert seen(census, abnormal={})["ringlight_node_abnormal"] == {}


def test_pitfall_31_a_node_that_was_never_seen_has_its_series_from_the_start(census):
    """Nobody dialled in yet: every node of the fabric file counts, and is named."""
    series = shown(census)
    assert series["ringlight_nodes"][("UNKNOWN",)] == 8
    assert {node for node, _ in series["ringlight_node_abnormal"]} == {f"n{number}" for number in range(8)}
