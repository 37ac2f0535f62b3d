"""Pauses between attempts."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ringlight.protos.backoff import Backoff


def jitter(seed):
    return Random(seed)


class Highest(Random):
    """Draws the upper bound itself."""

    def uniform(self, _, b):
        return b


def test_bounds_double_up_to_the_cap():
    backoff = Backoff(Highest(), first=0.1, cap=1.0)
    assert [backoff.next() for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_success_begins_anew():
    backoff = Backoff(Highest(), first=0.1, cap=1.0)
    for _ in range(5):
        backoff.next()
    backoff.reset()
    assert backoff.next() == 0.1


@given(st.integers(), st.floats(0.001, 10), st.floats(0.001, 10), st.integers(1, 40))
def test_a_pause_is_never_longer_than_its_bound(seed, first, cap, attempts):
    backoff = Backoff(jitter(seed), first=first, cap=cap)
    for attempt in range(attempts):
        assert 0 <= backoff.next() <= min(first * 2**attempt, cap)


def test_pauses_at_the_cap_spread_over_the_whole_interval():
    backoff = Backoff(jitter(7), first=0.1, cap=5.0)
    for _ in range(10):
        backoff.next()
    pauses = [backoff.next() for _ in range(2000)]
    tenths = Counter(int(pause / 0.5) for pause in pauses)
    assert sorted(tenths) == list(range(10))
    assert min(tenths.values()) > 100


def test_a_thousand_agents_that_lost_their_controller_at_once_do_not_come_back_at_once():
    """Peak over mean of arrivals a 100 ms, once everybody is at the cap."""
    arrivals = Counter()
    for agent in range(1000):
        backoff = Backoff(jitter(agent), first=0.1, cap=5.0)
        now = 0.0
        while now < 60:
            now += backoff.next()
            arrivals[int(now * 10)] += 1
    at_the_cap = [arrivals[slot] for slot in range(200, 590)]
    assert max(at_the_cap) / (sum(at_the_cap) / len(at_the_cap)) < 3
