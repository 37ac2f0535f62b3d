"""Trust that is lost by flapping: suppression that wears off, and quarantine that does not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.health.flapping import still_counting, suppressed_until, why_quarantine
from ringlight.controller.health.settings import FlapSettings

DAY = 86_400.0
TIMES = st.lists(st.floats(0, 10 * DAY), max_size=12).map(sorted)
DENSE = st.lists(st.floats(0, 5_000), min_size=2, max_size=30).map(sorted)


@st.composite
def sites(draw):
    """Whatever a site may set."""
    suppress, reuse, half_life = draw(st.floats(1_000, 5_000)), draw(st.floats(1, 999)), draw(st.floats(1, 5_000))
    least = half_life * math.log2(suppress / reuse)
    return FlapSettings(
        penalty=draw(st.floats(1, 5_000)),
        suppress=suppress,
        reuse=reuse,
        half_life=half_life,
        longest=draw(st.floats(least * 1.001 + 1.0, 86_400.0)),
    )


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


def test_a_site_cannot_switch_suppression_off_unawares():
    """Points are capped: with so short a time they would never come to the level from which it begins."""
    with pytest.raises(ValueError, match="longest must be at least 1274"):
        FlapSettings(longest=1_200.0)


@given(sites())
def test_enough_flaps_at_once_suppress_at_every_site(settings):
    flaps = [0.0] * (math.ceil(settings.suppress / settings.penalty) + 1)
    until = suppressed_until(flaps, settings)
    assert until is not None
    assert until > 0


@given(sites(), DENSE)
def test_whatever_a_site_sets_suppression_is_no_longer_than_it_allows(settings, flaps):
    until = suppressed_until(flaps, settings)
    if until is not None:
        assert until <= flaps[-1] + settings.longest * (1 + 1e-9)


@given(DENSE, st.data())
def test_trust_depends_on_how_long_ago_flaps_were_and_on_nothing_else(flaps, data):
    """Later flaps weigh more, and when the clock began does not matter."""
    shift = data.draw(st.floats(0, DAY))
    until, shifted = (
        suppressed_until(flaps, FlapSettings()),
        suppressed_until([t + shift for t in flaps], FlapSettings()),
    )
    assert (until is None) is (shifted is None) or abs(2_000 - points(flaps)) < 1e-3
    if until is not None and shifted is not None:
        assert shifted == pytest.approx(until + shift, abs=1e-3)


def points(flaps):
    """The highest points that these flaps ever come to, added up one by one."""
    highest, settings = 0.0, FlapSettings()
    for last in flaps:
        sum_of = sum(settings.penalty * 0.5 ** ((last - flap) / settings.half_life) for flap in flaps if flap <= last)
        highest = max(highest, sum_of)
    return highest


@given(st.lists(st.floats(0, 3_000), min_size=1, max_size=5).map(sorted))
def test_points_are_the_sum_of_what_is_left_of_each_flap(flaps):
    """Below the ceiling, suppression begins as soon as the sum is high enough."""
    until = suppressed_until(flaps, FlapSettings())
    if points(flaps) < 2_000 - 1e-6:
        assert until is None
    elif points(flaps) > 2_000 + 1e-6 and flaps[-1] - flaps[0] < 300:
        assert until is not None


@given(TIMES, st.floats(0, 10 * DAY), st.floats(1, DAY))
def test_what_counts_no_more_is_left_out(times, now, window):
    counting = still_counting(times, window, now)
    assert counting == [when for when in times if when > now - window]
    assert why_quarantine(times, [], now, FlapSettings()) == why_quarantine(
        still_counting(times, FlapSettings().faults_window, now), [], now, FlapSettings()
    )
