"""Drift: a node that selects what nobody told it is found by its next heartbeat; the policy says what is done."""

import pytest

from ringlight.controller.engine.state import RingState
from ringlight.controller.settings import ChangeSettings
from ringlight.fabric.circuits import Path


@pytest.fixture(params=["report", "repair"])
def policy(request):
    return request.param


@pytest.fixture
def world(make_world, policy):
    world = make_world(change=ChangeSettings(drift=policy)).start()
    assert world.submit().error is None
    world.advance(15)
    world.commands.clear()
    return world


def drift(world, name, path=Path.PATH_2):
    """Somebody switches a bundle that is in loopback, by hand; the light of the ring is not touched."""
    position = world.wiring.position(name)
    bundle = world.plant.table(position).index(Path.LOOPBACK)
    world.plant.select(position, bundle, path)
    return position, bundle


def test_drift_is_told_and_brought_back_only_if_the_policy_says_so(world, policy):
    """The end of a chain opens the bundle that closes it."""
    name, before = world.chain("train/0")[0], world.chain("train/0")
    drift(world, name)
    world.advance(2)
    assert world.kinds().count("drift") == 1
    assert world.commanded() == ({name} if policy == "repair" else set())
    assert world.chain("train/0") == before
    assert world.ring("train/0").state is RingState.ACTIVE
    if policy == "repair":
        world.assert_light_is_plan()


def test_drift_of_a_node_of_no_ring_is_told_too(world, policy):
    drift(world, "n15")
    world.advance(20)
    assert world.kinds().count("drift") == 1
    assert world.commanded() == ({"n15"} if policy == "repair" else set())
    assert (world.plant.table(15) == world.wiring.loopback) is (policy == "repair")


def test_what_drifted_and_went_back_may_drift_again(world):
    name = world.chain("train/0")[0]
    for _ in range(2):
        position, bundle = drift(world, name)
        world.advance(2)
        world.plant.select(position, bundle, Path.LOOPBACK)
        world.advance(2)
    assert world.kinds().count("drift") == 2


def test_nothing_is_brought_back_while_nothing_may_move(world, policy):
    world.pause()
    for name in (world.chain("train/0")[0], "n15"):
        drift(world, name)
    world.advance(30)
    assert world.kinds().count("drift") == 2
    assert not world.commands
    world.resume()
    world.advance(30)
    assert bool(world.commands) is (policy == "repair")


def test_drift_that_darkens_a_ring_is_routed_around_whatever_the_policy(world):
    """An inner node turns away from its neighbour: light is lost, and that is acted on."""
    name = world.chain("train/0")[1]
    position = world.wiring.position(name)
    bundle = next(bundle for bundle, path in enumerate(world.plant.table(position)) if path.is_external)
    world._tell(world.plant.select(position, bundle, Path.LOOPBACK))
    world.settle()
    world.advance(20)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()
