"""What is counted as it happens: from events to counters and distributions."""

import pytest

from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.metrics.tally import Tally

HEALED = {"reason": "node-failed", "switch_seconds": "0.004", "verify_seconds": "0.03", "heal_seconds": "0.05"}


@pytest.fixture
def tally():
    return Tally()


def note(tally, kind, subject="train/0", **data):
    tally.note_event(FabricEvent(1, kind, subject, "", data))


def totals(distributions):
    return {word: (int(times.cumulative()[-1][1]), times.sum) for word, times in distributions.items()}


def test_events_are_counted_by_kind(tally):
    note(tally, "drift")
    note(tally, "drift")
    note(tally, "settled")
    assert tally.events == {"drift": 2, "settled": 1}


def test_a_healed_ring_has_phases_and_a_result(tally):
    note(tally, "ring-active", **HEALED)
    assert tally.reconfigurations == {("active", "node-failed"): 1}
    assert totals(tally.phases) == {"plan": (0, 0.0), "switch": (1, 0.004), "verify": (1, 0.03), "total": (1, 0.05)}


def test_a_ring_that_was_laid_for_the_first_time_took_what_its_steps_took(tally):
    note(tally, "ring-active", **{**HEALED, "heal_seconds": "0"}, generation="3")
    note(tally, "ring-active", reason="placed", switch_seconds="0.25", verify_seconds="0.5")
    assert totals(tally.phases)["total"] == (2, 0.75)


def test_a_ring_that_stands_again_as_it_was_is_no_reconfiguration(tally):
    note(tally, "ring-active", generation="3")
    note(tally, "ring-broken", reason="node-failed")  # left so: nothing may move
    assert not tally.reconfigurations
    note(tally, "ring-broken", reason="hop-dark", waiting="for room")
    assert tally.reconfigurations == {("waiting", "hop-dark"): 1}


def test_detection_is_told_by_its_evidence(tally):
    note(tally, "verdict", "n1", verdict="FAILED", evidence="darkness", detection_seconds="2.5")
    note(tally, "hop-dead", "n1+1", evidence="light", detection_seconds="0.1")
    note(tally, "verdict", "n2", verdict="SUSPECT")
    found = totals(tally.detection)
    assert (found["darkness"], found["light"], found["report"]) == ((1, 2.5), (1, 0.1), (0, 0.0))


def test_only_a_refusal_for_the_sake_of_a_later_term_is_a_stale_epoch(tally):
    note(tally, "refused", "n1", code="stale-epoch")
    note(tally, "refused", "n1", code="bad-table")
    assert tally.stale_epochs == 1


def test_the_first_heartbeat_of_a_session_follows_no_other(tally):
    for gap in (None, 1.0, 3.0):
        tally.note_heartbeat(gap)
    assert (tally.heartbeats, int(tally.gaps.cumulative()[-1][1]), tally.gaps.sum) == (3, 2, 4.0)


def test_what_was_published_of_a_job_is_forgotten_with_it(tally):
    tally.exported |= {"train": 3, "eval": 1}
    note(tally, "job-released", "train")
    assert tally.exported == {"eval": 1}
