"""The breaker: how many new failures are too many."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.health.breaker import allowance, newly_failed
from ringlight.controller.health.settings import BreakerSettings

FAILURES = st.lists(st.tuples(st.floats(0, 1_000), st.integers(0, 20)), max_size=30)
SETTINGS = st.builds(BreakerSettings, st.floats(0.01, 1), st.integers(1, 50), st.floats(1, 600))


def test_the_breaker_lets_a_rack_fail_in_a_small_fabric_and_a_fifth_in_a_large_one():
    settings = BreakerSettings()
    assert [allowance(nodes, settings) for nodes in (2, 16, 40, 45, 64, 1000)] == [8, 8, 8, 9, 12, 200]


def test_only_new_failures_of_different_nodes_count():
    failures = [(0.0, 1), (100.0, 2), (290.0, 2), (299.0, 3)]
    assert newly_failed(failures, 299.0, BreakerSettings()) == 3
    assert newly_failed(failures, 300.5, BreakerSettings()) == 2
    assert newly_failed(failures, 1_000.0, BreakerSettings()) == 0


@given(SETTINGS, st.integers(1, 10_000), st.integers(0, 100))
def test_a_larger_fabric_is_allowed_no_less_and_none_less_than_a_burst(settings, nodes, more):
    assert settings.burst <= allowance(nodes, settings) <= allowance(nodes + more, settings)


@given(SETTINGS, FAILURES, st.floats(0, 1_000), st.floats(0, 600))
def test_failures_count_once_a_node_and_only_for_a_while(settings, failures, now, later):
    recent = {position for when, position in failures if when > now - settings.window}
    assert newly_failed(failures, now, settings) == len(recent)
    assert newly_failed([*failures, *failures], now, settings) == len(recent)
    assert newly_failed(failures, now + later, settings) <= len(recent)
    assert newly_failed(failures, 1_001 + settings.window, settings) == 0
