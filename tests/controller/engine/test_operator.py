"""Jobs that are asked for, refused, released; each refusal says what would be possible."""

import pytest

from ringlight.controller.engine.state import JobState, RingState
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.errors import ErrorCode


def refusal(world, **job):
    before = world.engine.state.generation, len(world.commands)
    error = world.submit("other", **job).error
    assert (world.engine.state.generation, len(world.commands)) == before
    assert "other" not in world.engine.state.jobs
    return error


def test_tp_must_be_whole_nodes(world):
    error = refusal(world, rings=1, tp=18)
    assert error.code is ErrorCode.INVALID
    assert "not a multiple of the 4 GPUs" in str(error)
    assert "tp 16 or 20" in error.hint


def test_a_job_that_does_not_fit_says_how_many_rings_would(world):
    error = refusal(world, rings=5, tp=16)
    assert "only 1 can be placed" in str(error)
    assert "--min-rings 1" in error.hint


def test_a_job_that_can_run_smaller_starts_smaller(world):
    assert world.submit("other", rings=5, tp=16, min_rings=1).error is None
    job = world.engine.state.jobs["other"]
    assert job.active == 1
    assert job.state is JobState.DEGRADED
    assert [ring.state for ring in job.rings[1:]] == [RingState.BROKEN] * 4


def test_nothing_fits_before_agents_dial_in(make_world):
    world = make_world()
    world.silent = {node.name for node in world.spec.nodes}
    world.start()
    error = world.submit().error
    assert "16 of 16 nodes have no agent yet" in error.hint


def test_a_name_is_taken_once(world):
    assert world.submit("train").error.code is ErrorCode.CONFLICT


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-x", "x" * 64])
def test_bad_names(world, name):
    assert world.submit(name).error.code is ErrorCode.INVALID


@pytest.mark.parametrize(("rings", "min_rings"), [(0, 0), (2, 3), (-1, 0)])
def test_bad_numbers(world, rings, min_rings):
    assert refusal(world, rings=rings, tp=16, min_rings=min_rings).code is ErrorCode.INVALID


def test_releasing_what_is_not_there_names_what_is(world):
    error = world.release("nothing").error
    assert error.code is ErrorCode.NOT_FOUND
    assert "train" in error.hint


def test_a_released_jobs_nodes_serve_a_ring_that_waited(make_world):
    world = make_world(nodes=12).start()
    assert world.submit("second", rings=1, tp=16).error is None
    assert world.submit("first", rings=2, tp=16, min_rings=1).error is None
    world.fail(FaultKind.GPU_LOST, world.chain("first/0")[1], gpu=0)
    assert world.ring("first/0").state is RingState.BROKEN
    world.release("second")
    assert world.ring("first/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_the_job_of_higher_priority_is_served_first(make_world):
    """Two rings wait, and what is freed is enough for one."""
    world = make_world(nodes=12).start()
    for name, priority in (("low", 0), ("filler", 0), ("high", 5)):
        assert world.submit(name, rings=1, tp=16, priority=priority).error is None
    for name in ("low", "high"):
        for node in world.chain(f"{name}/0")[1:3]:
            world.fail(FaultKind.GPU_LOST, node, gpu=0)
    assert world.ring("low/0").state is world.ring("high/0").state is RingState.BROKEN
    world.release("filler")
    assert world.ring("high/0").state is RingState.ACTIVE
    assert world.ring("low/0").state is RingState.BROKEN
    world.assert_light_is_plan()


def test_a_ring_of_one_node_needs_no_light(make_world):
    world = make_world().start()
    world.submit(rings=3, tp=4)
    assert [world.ring(f"train/{i}").state for i in range(3)] == [RingState.ACTIVE] * 3
    assert not world.commands, "a node that is in loopback already gets no command"
