"""Resize, and what `min_rings` means when there are fewer rings than wanted."""

import pytest

from ringlight.controller.engine.state import JobState, RingState
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.errors import ErrorCode


def lit(world, job="train"):
    return sorted(ring.name for ring in world.engine.state.jobs[job].rings if ring.state is RingState.ACTIVE)


def picture(world):
    state = world.engine.state
    return (
        state.generation,
        len(world.told),
        [(job.rings_wanted, job.min_rings, [r.name for r in job.rings]) for job in state.jobs.values()],
        {name: world.chain(name) for name in state.rings},
    )


def test_a_job_grows(world):
    before = {name: world.chain(name) for name in lit(world)}
    world.commands.clear()
    answer = world.resize("train", 3)
    assert answer.error is None
    (change,) = answer.planned.rings
    assert (change.ring, change.former, list(change.chain)) == ("train/2", (), world.chain("train/2"))
    assert lit(world) == ["train/0", "train/1", "train/2"]
    assert {name: world.chain(name) for name in before} == before
    assert world.commanded() == set(world.chain("train/2"))
    assert all(command.revert_after > 0 for command in world.commands), "commit-confirmed"
    job = world.engine.state.jobs["train"]
    assert (job.state, job.rings_wanted, job.min_rings) == (JobState.RUNNING, 3, 2)
    world.advance(30)
    assert not world.pending
    world.assert_light_is_plan()


def test_growing_beyond_what_fits_is_refused_if_the_minimum_says_so(world):
    before = picture(world)
    error = world.resize("train", 6, min_rings=6).error
    assert error.code is ErrorCode.REFUSED
    assert "would have 4 rings, and 6 are its minimum" in str(error)
    assert "--min-rings 4" in error.hint
    assert picture(world) == before
    assert world.resize("train", 6).error is None
    assert len(lit(world)) == 4
    job = world.engine.state.jobs["train"]
    assert (job.state, job.min_rings) == (JobState.DEGRADED, 2)
    world.assert_light_is_plan()


def test_shrinking_releases_the_highest_rank_and_frees_its_nodes(world):
    freed, kept = set(world.chain("train/1")), world.chain("train/0")
    world.commands.clear()
    answer = world.resize("train", 1)
    assert [(change.ring, set(change.former), change.chain) for change in answer.planned.rings] == [
        ("train/1", freed, ())
    ]
    assert lit(world) == ["train/0"]
    assert world.chain("train/0") == kept
    assert world.commanded() == freed
    job = world.engine.state.jobs["train"]
    assert (job.state, job.rings_wanted, job.min_rings) == (JobState.RUNNING, 1, 1)
    assert world.submit("other", rings=3, tp=16).error is None
    world.assert_light_is_plan()


def test_shrinking_takes_the_ring_without_light_first(world):
    world.cordon(*(node.name for node in world.engine.state.nodes if not node.ring))
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(2)
    assert lit(world) == ["train/1"]
    world.resize("train", 1)
    assert lit(world) == ["train/1"]
    assert world.engine.state.jobs["train"].state is JobState.RUNNING
    world.uncordon(*(node.name for node in world.engine.state.nodes if node.overlay))
    world.resize("train", 3)
    assert lit(world) == ["train/0", "train/1", "train/2"], "the lowest free ranks come back first"
    world.assert_light_is_plan()


def test_a_dry_run_tells_the_same_and_changes_nothing(world):
    for rings in (1, 3):
        before = picture(world)
        dry = world.resize("train", rings, dry_run=True)
        assert picture(world) == before
        assert dry.planned == world.resize("train", rings).planned
        world.resize("train", 2)


def test_the_same_size_again_tells_nothing(world):
    before = picture(world)
    assert world.resize("train", 2).error is None
    assert picture(world) == before
    assert world.resize("train", 2, min_rings=1).error is None
    assert world.engine.state.jobs["train"].min_rings == 1


@pytest.mark.parametrize(("rings", "min_rings"), [(0, 0), (2, 3), (-1, 0)])
def test_bad_numbers(world, rings, min_rings):
    assert world.resize("train", rings, min_rings).error.code is ErrorCode.INVALID


def test_an_unknown_job(world):
    error = world.resize("nothing", 2).error
    assert error.code is ErrorCode.NOT_FOUND
    assert "train" in error.hint


def test_a_minimum_that_is_not_there_is_refused(world):
    world.cordon(*(node.name for node in world.engine.state.nodes if not node.ring))
    world.resize("train", 2, min_rings=1)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(2)
    assert world.resize("train", 2, min_rings=2).error.code is ErrorCode.REFUSED


def test_a_size_survives_a_restart(world):
    world.resize("train", 3, min_rings=2)
    world.resize("train", 1)
    world.resize("train", 2)
    chains = {name: world.chain(name) for name in lit(world)}
    world.restart()
    world.advance(15)
    job = world.engine.state.jobs["train"]
    assert (job.rings_wanted, job.min_rings) == (2, 1)
    assert {name: world.chain(name) for name in lit(world)} == chains
    assert sorted(chains) == ["train/0", "train/1"]
    assert not world.commands


def test_without_spares_a_job_runs_degraded_then_waits_and_heals_when_nodes_come_back(make_world):
    """Twelve nodes, three rings of four, two of them are enough; the rings that are left never move."""
    world = make_world(nodes=12, probation=5.0).start()
    assert world.submit(rings=3, tp=16, min_rings=2).error is None
    job = world.engine.state.jobs["train"]
    assert job.state is JobState.RUNNING
    last = world.chain("train/2")
    first = world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    world.advance(2)
    assert (job.state, lit(world)) == (JobState.DEGRADED, ["train/1", "train/2"])
    world.assert_light_is_plan()
    spared = [name for name in ("n0", "n1", "n2", "n3") if not world.engine.state.node(name).faults]
    world.cordon(*spared)
    second = world.fail(FaultKind.GPU_LOST, world.chain("train/1")[1], gpu=0)
    world.advance(2)
    assert (job.state, lit(world)) == (JobState.WAITING, ["train/2"])
    assert world.chain("train/2") == last, "what it still has stays lit"
    world.assert_light_is_plan()
    world.repair(second)
    world.advance(10)
    assert (job.state, len(lit(world))) == (JobState.DEGRADED, 2)
    world.uncordon(*spared)
    world.repair(first)
    world.advance(10)
    assert (job.state, lit(world)) == (JobState.RUNNING, ["train/0", "train/1", "train/2"])
    assert world.chain("train/2") == last
    world.assert_light_is_plan()
