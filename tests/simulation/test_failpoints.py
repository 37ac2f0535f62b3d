"""A controller that dies before or after any of its effects: every persist and every send, each in a run of its own.

The scenario has a job placed, a fault healed, a node drained, a job resized and released. Wherever the controller
dies, the next one brings it to an end: no invariant breaks, light = plan, and every ring that can be is.
"""

from random import Random

import pytest

from ringlight.controller.engine.effects import Admit, Persist, SendCircuits, SendConfirm
from ringlight.simulator.operations import Operation
from ringlight.simulator.peace import make_peace
from ringlight.simulator.runner import draw_plan
from ringlight.simulator.simulation import Simulation

SEED = 4  # a fabric of K = 2
NODES = 14
DEADLY = (Admit, SendCircuits, SendConfirm, Persist)
LEAST = 60  # failpoints of each kind: with fewer, the scenario has lost its point

SCENARIO = (
    Operation(0, "submit", 0.1, 0, 7, 0.0),  # two rings of three nodes
    Operation(1, "break", 0.2, 1, 0, 0.0, "gpu-lost"),
    Operation(2, "drain", 0.2, 5, 1, 0.0),
    Operation(3, "wait", 0.2, 0, 0, 0.3),
    Operation(4, "submit", 0.1, 0, 3, 0.0),
    Operation(5, "resize", 0.2, 0, 2, 0.0),
    Operation(6, "break", 0.2, 3, 0, 0.0, "power-off"),
    Operation(7, "wait", 0.2, 0, 0, 9.0),
    Operation(8, "repair", 0.1, 0, 0, 0.0),
    Operation(9, "release", 0.2, 0, 1, 0.0),
    Operation(10, "wait", 0.2, 0, 0, 1.0),
)


class Fuse:
    """Blows at one moment of one kind, once; counts all of them."""

    def __init__(self, when, target):
        self.when, self.target, self.seen, self.blown = when, target, 0, ""
        self.simulation = None

    def __call__(self, _controller, effect, when):
        if when != self.when or not isinstance(effect, DEADLY) or self.blown:
            return False
        self.seen += 1
        if self.seen - 1 != self.target:
            return False
        self.blown = f"{when} {type(effect).__name__} number {self.target}"
        self.simulation.schedule.after(0.3, self.simulation.start_if_none)
        return True


def run_until_peace(when, target):
    rng = Random(SEED)
    fuse = Fuse(when, target)
    simulation = fuse.simulation = Simulation(draw_plan(rng, NODES), Random(1), failpoint=fuse)
    simulation.begin()
    for operation in SCENARIO:
        simulation.perform(operation)
    problems = [str(violation) for violation in simulation.judge.violations] or make_peace(simulation)
    return fuse, problems, simulation


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_failpoint_is_resumed_or_abandoned_cleanly(when):
    whole, problems, simulation = run_until_peace(when, -1)
    assert problems == []
    assert simulation.judge.writes > 10
    assert whole.seen >= LEAST
    for target in range(whole.seen):
        fuse, problems, _ = run_until_peace(when, target)
        assert problems == [], fuse.blown
        assert fuse.blown
