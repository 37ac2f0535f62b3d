"""When a dark hop is blamed on its fibre, and when that must wait."""

from ringlight.controller.health.hops import EndEvidence, HopState, judge_hop
from ringlight.controller.health.verdicts import Speech

SETTLE, HEARTBEAT = 0.02, 1.0


def end(*, dark_since=None, speech=Speech.SPEAKS, last_heard=10.0):
    return EndEvidence(dark_since is None, dark_since, speech, last_heard)


def judged(one, other, now):
    return judge_hop(one, other, now, settle=SETTLE, heartbeat=HEARTBEAT)


def test_a_lit_hop_is_lit():
    assert judged(end(), end(), 10.0) is HopState.LIT


def test_both_ends_say_dark_and_the_fibre_is_blamed_once_settled():
    one, other = end(dark_since=10.0), end(dark_since=10.001)
    assert judged(one, other, 10.01) is HopState.UNDECIDED
    assert judged(one, other, 10.03) is HopState.DEAD


def test_one_dark_end_waits_for_the_other_node_to_go_on_speaking():
    dark = end(dark_since=10.0, last_heard=11.5)
    assert judged(dark, end(last_heard=10.5), 10.6) is HopState.UNDECIDED
    assert judged(dark, end(last_heard=11.2), 11.6) is HopState.DEAD


def test_a_heartbeat_sent_before_the_loss_proves_nothing():
    """It may have been on its way when the far node died."""
    assert judged(end(dark_since=10.0, last_heard=10.4), end(last_heard=10.4), 10.5) is HopState.UNDECIDED


def test_a_far_end_that_falls_silent_is_undecided_until_silence_is_confirmed():
    dark = end(dark_since=10.0, last_heard=14.0)
    assert judged(dark, end(speech=Speech.SUSPECT, last_heard=9.9), 14.0) is HopState.UNDECIDED
    assert judged(dark, end(speech=Speech.SILENT, last_heard=9.9), 15.0) is HopState.DEAD
