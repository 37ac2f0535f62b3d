"""Sessions are admitted at a rate, and a herd of agents comes back spread over time."""

import heapq
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.backoff import Backoff
from ringlight.agents.settings import AgentSettings
from ringlight.controller.settings import SessionSettings
from ringlight.controller.turnstile import Turnstile

AGENTS = 1_000


def test_a_few_at_once_do_not_wait():
    turnstile = Turnstile(SessionSettings(rate=10.0, burst=5))
    assert [turnstile.turn(100.0) for _ in range(5)] == [0.0] * 5
    assert turnstile.turn(100.0) is not None


def test_a_herd_is_spread_and_its_end_is_sent_away():
    turnstile = Turnstile(SessionSettings(rate=10.0, burst=1, longest_wait=2.0))
    waits = [turnstile.turn(0.0) for _ in range(100)]
    let_in = [wait for wait in waits if wait is not None]
    assert len(let_in) in (20, 21)
    assert waits[21:] == [None] * 79
    assert turnstile.turn(3.0) is not None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200))
def test_never_more_than_the_rate_allows(pauses):
    settings = SessionSettings(rate=20.0, burst=3, longest_wait=1.0)
    turnstile, now, turns = Turnstile(settings), 0.0, []
    for pause in pauses:
        now += pause / 20
        wait = turnstile.turn(now)
        if wait is not None:
            assert wait <= settings.longest_wait
            turns.append(now + wait)
    for index, first in enumerate(turns):
        assert sum(first <= turn < first + 1.0 for turn in turns[index:]) <= settings.rate + settings.burst + 1


def come_back(seed):
    """When a thousand agents are let in after an outage that brought all of them to the cap of their pauses."""
    rng, settings = Random(seed), AgentSettings()
    turnstile = Turnstile(SessionSettings())
    dials, let_in = [], []
    for agent in range(AGENTS):
        backoff = Backoff(rng, first=settings.backoff_first, cap=settings.backoff_cap)
        for _ in range(10):
            backoff.next()
        heapq.heappush(dials, (backoff.next(), agent, backoff))
    while dials:
        now, agent, backoff = heapq.heappop(dials)
        wait = turnstile.turn(now)
        if wait is None:
            heapq.heappush(dials, (now + backoff.next(), agent, backoff))
        else:
            let_in.append(now + wait)
    return let_in


def test_pitfall_27_a_thousand_agents_are_back_within_half_a_minute_and_never_all_at_once():
    for seed in range(5):
        let_in = come_back(seed)
        assert max(let_in) <= 30.0
        seconds = [sum(second <= when < second + 1 for when in let_in) for second in range(int(max(let_in)) + 1)]
        assert max(seconds) < 3 * (len(let_in) / len(seconds)), seconds


def test_pitfall_27_pauses_are_spread_over_the_whole_interval_at_the_cap_too():
    """Jitter that is clamped after it was added vanishes just there, and a herd stays a herd."""
    rng = Random(3)
    pauses = []
    for _ in range(2_000):
        backoff = Backoff(rng, first=0.1, cap=5.0)
        for _ in range(12):
            last = backoff.next()
        pauses.append(last)
    tenths = [sum(tenth / 2 <= pause < (tenth + 1) / 2 for pause in pauses) for tenth in range(10)]
    assert sum(tenths) == len(pauses)
    assert min(tenths) > 120
    assert max(tenths) < 280
