"""What events say for whoever counts: how a failure was found and how long that took, and why a ring changed."""

import pytest

from ringlight.emulator.faults import FaultKind


def last(world, kind, **data):
    return next(
        event for event in reversed(world.told) if event.kind == kind and data.items() <= dict(event.data).items()
    )


def found(event):
    return event.data["evidence"], float(event.data["detection_seconds"])


def test_a_report_is_evidence_at_once(world):
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    assert found(last(world, "verdict", verdict="FAILED")) == ("report", 0.0)
    assert last(world, "ring-active").data["reason"] == "node-failed"


def test_silence_and_darkness_count_from_the_last_word(world):
    victim = world.chain("train/0")[1]
    world.advance(3)
    heard = world.engine.state.node(victim).last_heard
    world.fail(FaultKind.POWER_OFF, victim)
    world.advance(10)
    evidence, seconds = found(last(world, "verdict", verdict="FAILED"))
    assert evidence == "darkness"
    settings = world.settings
    assert settings.confirm_seconds <= seconds <= settings.confirm_seconds + 0.5
    assert world.now - heard > seconds


def test_a_witness_is_told_from_darkness(world):
    idle = next(node.name for node in world.engine.state.nodes if not node.ring)
    world.silent.add(idle)
    world.advance(10)
    assert world.declare_dead(idle).error is None
    assert found(last(world, "verdict", verdict="FAILED"))[0] == "witness"


def test_a_dark_hop_counts_from_the_light_that_was_lost(world):
    world.fail(FaultKind.FIBRE_CUT, world.chain("train/0")[0], distance=1)
    world.advance(5)
    evidence, seconds = found(last(world, "hop-dead"))
    assert evidence == "light"
    assert world.settings.health.light_settle <= seconds < 2
    assert last(world, "ring-active").data["reason"] == "hop-dark"


def test_only_failures_say_how_they_were_found(world):
    world.silent.add("n0")
    world.advance(10)
    assert all("evidence" in event.data for event in world.told if event.data.get("verdict") == "FAILED")
    assert not any("evidence" in event.data for event in world.told if event.data.get("verdict") == "SUSPECT")


def test_placing_and_draining_have_their_reasons(world):
    world.submit("other", rings=1, tp=16)
    placed = last(world, "ring-active").data
    assert placed["reason"] == "placed"
    assert "heal_seconds" not in placed
    world.drain(world.chain("other/0")[1])
    assert last(world, "ring-active").data["reason"] == "drain"


def test_a_ring_that_makes_room_says_so(make_world):
    world = make_world(nodes=9, k=1, closed=False).start()
    world.submit(rings=2, tp=16)
    spare = next(node.position for node in world.engine.state.nodes if not node.ring)
    world.drain("n0" if spare == 8 else "n8")
    reasons = {event.subject: event.data["reason"] for event in world.told if event.kind == "ring-switching"}
    assert spare in (0, 8)
    assert sorted(reasons.values()) == ["drain", "made-room"]


def test_a_ring_without_a_place_waits(make_world):
    world = make_world(nodes=8, k=1, closed=False).start()
    world.submit(rings=2, tp=16, min_rings=1)
    world.fail(FaultKind.GPU_LOST, "n5")
    waiting = last(world, "ring-broken").data
    assert (waiting["reason"], waiting["waiting"]) == ("node-failed", "for room")


def test_a_ring_that_may_not_be_healed_yet_does_not_wait_for_room(world):
    world.pause()
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    assert dict(last(world, "ring-broken").data) == {"reason": "node-failed"}


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_change_that_a_restart_finishes_took_no_time_that_anybody_knows(world, left_out):
    """The one who began it is gone, and with it the moment when that was."""
    victim = world.chain("train/0")[1]
    world.commands.clear()
    world.deaf = {node.name for node in world.spec.nodes}
    world.fail(FaultKind.GPU_LOST, victim)
    world.deaf = set()
    world.carry_out_unheard(world.commands[left_out:])
    mark = len(world.told)
    world.restart()
    world.advance(30)
    done = [event.data for event in world.told[mark:] if event.kind == "ring-active" and event.subject == "train/0"]
    assert all(float(data.get("switch_seconds", 0)) < 30 for data in done)
    assert done
