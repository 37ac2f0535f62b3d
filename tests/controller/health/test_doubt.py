"""The gate, the breaker, and trust that is lost by flapping: pure decisions."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.health.breaker import allowance, newly_failed
from ringlight.controller.health.doubt import Situation, doubts
from ringlight.controller.health.flapping import suppressed_until, why_quarantine
from ringlight.controller.health.settings import BreakerSettings, DoubtSettings, FlapSettings

DAY = 86_400.0
TIMES = st.lists(st.floats(0, 10 * DAY), max_size=12).map(sorted)


def test_every_doubt_shuts_the_gate_and_says_why():
    assert doubts(Situation(starting=False, stalled="", speaking=10, known=10), DoubtSettings()) == ()
    assert "started" in doubts(Situation(starting=True, stalled="", speaking=1, known=1), DoubtSettings())[0]
    assert doubts(Situation(starting=False, stalled="stood still", speaking=1, known=1), DoubtSettings()) == (
        "stood still",
    )


def test_fewer_than_half_is_too_few_and_half_is_not():
    for speaking, shut in ((5, False), (4, True), (0, True)):
        found = doubts(Situation(starting=False, stalled="", speaking=speaking, known=10), DoubtSettings())
        assert bool(found) is shut
    assert doubts(Situation(starting=False, stalled="", speaking=0, known=0), DoubtSettings()) == ()


def test_the_breaker_lets_a_rack_fail_in_a_small_fabric_and_a_fifth_in_a_large_one():
    settings = BreakerSettings()
    assert [allowance(nodes, settings) for nodes in (2, 16, 40, 45, 64, 1000)] == [8, 8, 8, 9, 12, 200]


def test_only_new_failures_of_different_nodes_count():
    failures = [(0.0, 1), (100.0, 2), (290.0, 2), (299.0, 3)]
    assert newly_failed(failures, 299.0, BreakerSettings()) == 3
    assert newly_failed(failures, 300.5, BreakerSettings()) == 2
    assert newly_failed(failures, 1_000.0, BreakerSettings()) == 0


@given(TIMES)
def test_suppression_ends_in_time(flaps):
    settings = FlapSettings()
    until = suppressed_until(flaps, settings)
    if until is not None:
        assert flaps[-1] < until <= flaps[-1] + settings.longest + 1e-6


@given(TIMES, st.floats(0, DAY))
def test_one_flap_more_never_gives_trust_back(flaps, later):
    last = flaps[-1] if flaps else 0.0
    before, after = suppressed_until(flaps, FlapSettings()), suppressed_until([*flaps, last + later], FlapSettings())
    if before is not None and before > last + later:
        assert after is not None
        assert after >= before - 1e-6


def test_suppression_begins_at_one_level_and_ends_at_a_lower_one():
    settings = FlapSettings()
    assert suppressed_until([0.0], settings) is None
    assert suppressed_until([0.0, 0.0], settings) is not None  # 2,000 points
    assert suppressed_until([0.0, 60.0], settings) is None  # 1,955
    until = suppressed_until([0.0, 60.0, 120.0], settings)
    assert until is not None
    assert 120 + 900 < until < 120 + 2 * 900  # from 2,866 to 750 points


def test_three_failures_in_a_week_or_three_flaps_in_half_a_day():
    settings = FlapSettings()
    assert why_quarantine([0.0, 3 * DAY], [], 3 * DAY, settings) == ""
    assert why_quarantine([0.0, 3 * DAY, 6 * DAY], [], 6 * DAY, settings) == "failed 3 times in 7 days"
    assert why_quarantine([0.0, 3 * DAY, 8 * DAY], [], 8 * DAY, settings) == ""
    assert "in 12 hours" in why_quarantine([], [0.0, 100.0, 40_000.0], 40_000.0, settings)
    assert why_quarantine([], [0.0, 100.0, 44_000.0], 44_000.0, settings) == ""


def test_quarantine_can_be_switched_off():
    settings = FlapSettings(quarantine_faults=0, quarantine_flaps=0)
    assert why_quarantine([0.0] * 9, [0.0] * 9, 1.0, settings) == ""
