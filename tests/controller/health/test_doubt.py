"""The self-doubt gate: every reason to mistrust oneself, and when there is none."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.health.doubt import Situation, doubts
from ringlight.controller.health.settings import DoubtSettings


def test_every_doubt_shuts_the_gate_and_says_why():
    assert doubts(Situation(starting=False, stalled="", speaking=10, known=10), DoubtSettings()) == ()
    assert "started" in doubts(Situation(starting=True, stalled="", speaking=1, known=1), DoubtSettings())[0]
    assert doubts(Situation(starting=False, stalled="stood still", speaking=1, known=1), DoubtSettings()) == (
        "stood still",
    )


def test_who_may_be_deaf_doubts_itself():
    situation = Situation(starting=False, stalled="", speaking=10, known=10, deaf="the broker is gone")
    assert doubts(situation, DoubtSettings()) == ("the broker is gone",)


def test_fewer_than_half_is_too_few_and_half_is_not():
    for speaking, shut in ((5, False), (4, True), (0, True)):
        found = doubts(Situation(starting=False, stalled="", speaking=speaking, known=10), DoubtSettings())
        assert bool(found) is shut
    assert doubts(Situation(starting=False, stalled="", speaking=0, known=0), DoubtSettings()) == ()


@given(st.integers(0, 50), st.integers(0, 50), st.booleans(), st.sampled_from(["", "stood still"]))
def test_the_gate_is_open_only_without_any_doubt_and_one_more_that_speaks_never_shuts_it(
    speaking, quiet, starting, stalled
):
    known = speaking + quiet
    now = doubts(Situation(starting, stalled, speaking, known), DoubtSettings())
    more = doubts(Situation(starting, stalled, speaking + 1, known + 1), DoubtSettings())
    assert bool(now) is (starting or bool(stalled) or 2 * speaking < known)
    assert len(more) <= len(now)
