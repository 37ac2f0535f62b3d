"""Two families of failures of a formally verified controller, each at every phase of a transaction.

A device that loses everything and comes back (a complete transient failure), and a controller that is replaced as
planned.
"""

import pytest

from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind

PHASES_OF_A_DEVICE = 14
PHASES_OF_A_TAKE_OVER = 26


class Phases:
    """Calls something before the so manieth event that the engine is given, counted from now."""

    def __init__(self, world, phase, action):
        self.left, self.done = phase, False
        self.world, self.action = world, action
        self.engine = world.engine
        self.handle = world.engine.handle
        world.engine.handle = self.take

    def take(self, event, now):
        effects = self.handle(event, now)
        self.left -= 1
        if self.left < 0 and not self.done:
            self.done = True
            self.engine.handle = self.handle
            self.world.after_this.append(self.action)
        return effects


@pytest.fixture
def world(make_world):
    world = make_world(nodes=16, probation=2.0, retest=5.0).start()
    assert world.submit().error is None
    world.advance(5)
    world.ever_commanded.clear()
    return world


PLANNED = pytest.mark.parametrize("planned", [False, True], ids=["fault", "drain"])


def change(world, victim, *, planned):
    """The transaction: a ring is laid without a node, because it failed or is drained."""
    if planned:
        assert world.drain(victim).error is None
    else:
        world.fail(FaultKind.GPU_LOST, victim)


def newcomer(world, victim):
    """The node that takes the place of another."""
    (name,) = [ring for ring in world.drain(victim, dry_run=True).planned.rings if ring.ring == "train/0"]
    return (set(name.chain) - set(name.former)).pop()


def assert_all_is_well(world, phases, other):
    """At the end light is plan; nobody else moved, or was even told anything; nothing is left over."""
    assert phases.done
    world.assert_light_is_plan()
    assert world.ring("train/0").state is RingState.ACTIVE
    assert world.chain("train/1") == other
    assert world.ring("train/1").state is RingState.ACTIVE
    assert not world.ever_commanded & set(other)
    assert not world.pending
    idle = [node.position for node in world.engine.state.nodes if not node.ring]
    assert {world.plant.table(position) for position in idle} == {world.wiring.loopback}


@PLANNED
@pytest.mark.parametrize("phase", range(PHASES_OF_A_DEVICE))
@pytest.mark.parametrize("who", ["first", "victim", "third", "last", "newcomer"])
def test_pitfall_39_a_device_fails_completely_and_comes_back_at_any_phase(world, phase, who, planned):
    """Whatever of it was believed to be done is not done any more."""
    other, chain = world.chain("train/1"), world.chain("train/0")
    victim = chain[1]
    failing = dict(zip(("first", "victim", "third", "last"), chain, strict=True)).get(who) or newcomer(world, victim)

    def lose_power_and_come_back():
        world.repair(world.fail(FaultKind.POWER_OFF, failing))

    phases = Phases(world, phase, lose_power_and_come_back)
    change(world, victim, planned=planned)
    world.advance(5)
    world.run_what_waits()
    world.advance(30)
    assert_all_is_well(world, phases, other)
    assert planned or victim not in world.chain("train/0")


@PLANNED
@pytest.mark.parametrize("phase", range(PHASES_OF_A_TAKE_OVER))
def test_pitfall_39_a_controller_is_replaced_as_planned_at_any_phase(world, phase, planned):
    """The next one goes on from what the devices say; nothing is done twice, and nothing is left half done."""
    other, victim = world.chain("train/1"), world.chain("train/0")[1]
    phases = Phases(world, phase, world.restart)
    change(world, victim, planned=planned)
    world.advance(5)
    world.run_what_waits()
    world.advance(30)
    assert_all_is_well(world, phases, other)
    assert victim not in world.chain("train/0")
    assert not planned or world.overlay(victim) == "cordoned"
