"""One look at the fabric: waste, distances to spares, and what waits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.engine.engine import Engine
from ringlight.controller.metrics.census import spare_distances, take_census
from ringlight.controller.settings import Settings
from ringlight.emulator.faults import FaultKind


@pytest.fixture
def look():
    return lambda world: take_census(world.engine.state, world.now)


def test_nodes_that_a_ring_could_have_are_no_waste(make_world, look):
    world = make_world(nodes=12, k=2).start()
    assert look(world).gpus_wasted == 0, "no job says how large a ring is"
    world.submit(rings=1, tp=16)
    assert (len(look(world).spares), look(world).gpus_wasted) == (8, 0)


def test_nodes_that_make_no_whole_ring_are_waste(make_world, look):
    """Eleven nodes are left of twelve: two rings of four, and three nodes."""
    world = make_world(nodes=12, k=2).start()
    world.submit(rings=1, tp=16)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    assert (len(look(world).spares), look(world).gpus_wasted) == (7, 3 * 4)


def test_pieces_that_no_hop_joins_are_counted_by_themselves(make_world, look):
    """Ten nodes between two walls, and two on the other side of them, wherever the numbers begin."""
    for first in range(16):
        world = make_world(nodes=16, k=2).start()
        for wall in (first, first + 1, first + 12, first + 13):
            world.fail(FaultKind.GPU_LOST, f"n{wall % 16}")
        world.submit(rings=1, tp=16)
        assert look(world).gpus_wasted == (2 + 2) * 4


def test_a_wanted_ring_without_nodes_waits(make_world, look):
    world = make_world(nodes=8, k=1, closed=False).start()
    world.submit(rings=2, tp=16, min_rings=1)
    world.fail(FaultKind.GPU_LOST, "n1")
    taken = look(world)
    assert (taken.rings_waiting, taken.jobs["DEGRADED"], taken.gpus_wasted) == (1, 1, (1 + 2) * 4)


def test_jobs_are_named_with_their_generations(world, look):
    world.submit("other", rings=1, tp=16)
    assert look(world).job_generations == {"train": world.ring("train/0").generation, "other": 2}


@given(st.booleans(), st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_distances_to_the_nearest_spare(make_wiring, closed, spares, in_rings):
    census = replace(
        take_census(Engine(make_wiring(8), Settings()).state, 0.0),
        size=20,
        spares=sorted(spares),
        in_rings=sorted(in_rings),
    )

    def distance(one, other):
        return min(abs(one - other), 20 - abs(one - other)) if closed else abs(one - other)

    found = spare_distances(census, closed=closed)
    if not spares or not in_rings:
        assert found is None
        return
    nearest = sorted(min(distance(position, spare) for spare in spares) for position in in_rings)
    assert found == (nearest[(len(nearest) - 1) // 2], nearest[-1])
