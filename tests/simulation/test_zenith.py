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
    return world


def untouched(world, before):
    assert world.chain("train/1") == before
    assert world.ring("train/1").state is RingState.ACTIVE


@pytest.mark.parametrize("phase", range(PHASES_OF_A_DEVICE))
@pytest.mark.parametrize("member", [0, 2])
def test_pitfall_39_a_device_fails_completely_and_comes_back_at_any_phase(world, phase, member):
    """Whatever of it was believed to be done is not done any more."""
    other, victim, failing = world.chain("train/1"), world.chain("train/0")[1], world.chain("train/0")[member]
    if failing == victim:
        failing = world.chain("train/0")[3]

    def lose_power_and_come_back():
        world.repair(world.fail(FaultKind.POWER_OFF, failing))

    Phases(world, phase, lose_power_and_come_back)
    world.fail(FaultKind.GPU_LOST, victim)
    world.advance(5)
    world.run_what_waits()
    world.advance(30)
    world.assert_light_is_plan()
    assert world.ring("train/0").state is RingState.ACTIVE
    assert victim not in world.chain("train/0")
    untouched(world, other)


@pytest.mark.parametrize("phase", range(PHASES_OF_A_TAKE_OVER))
def test_pitfall_39_a_controller_is_replaced_as_planned_at_any_phase(world, phase):
    """The next one goes on from what the devices say; nothing is done twice, and nothing is left half done."""
    other, victim = world.chain("train/1"), world.chain("train/0")[1]
    Phases(world, phase, world.restart)
    world.fail(FaultKind.GPU_LOST, victim)
    world.advance(5)
    world.run_what_waits()
    world.advance(30)
    world.assert_light_is_plan()
    assert world.ring("train/0").state is RingState.ACTIVE
    assert victim not in world.chain("train/0")
    untouched(world, other)
