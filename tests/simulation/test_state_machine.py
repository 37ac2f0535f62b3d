"""hypothesis looks for a way to break the engine: any operation at any time, over model agents, judged after each.

Where `test_seeds` draws long lives, hypothesis looks for short ones, and makes them shorter.
"""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ringlight.simulator.operations import HARDWARE, WEIGHTS, Operation
from ringlight.simulator.peace import make_peace
from ringlight.simulator.runner import draw_plan
from ringlight.simulator.simulation import Simulation

NODES = 12
NODE = st.integers(0, NODES - 1)
NUMBER = st.integers(0, 9_999)
DELAY = st.sampled_from([0.0, 0.003, 0.2, 1.0, 4.0])
SECONDS = st.sampled_from([0.3, 2.0, 7.0])
OTHERS = sorted(set(WEIGHTS) - {"break", "flap", "submit", "repair"})


class Fabric(RuleBasedStateMachine):
    """A fabric of twelve nodes and whatever comes over it."""

    def __init__(self):
        super().__init__()
        self.simulation = None
        self.numbered = 0

    @initialize(seed=st.integers(0, 50))
    def start(self, seed):
        self.simulation = Simulation(draw_plan(Random(seed), NODES), Random(seed))
        self.simulation.begin()

    def perform(self, kind, delay, *, node=0, number=0, seconds=0.0, what=""):
        self.numbered += 1
        self.simulation.perform(Operation(self.numbered, kind, delay, node, number, seconds, what))

    @rule(delay=DELAY, number=NUMBER)
    def submit(self, delay, number):
        self.perform("submit", delay, number=number)

    @rule(delay=DELAY, node=NODE, number=NUMBER, seconds=SECONDS, what=st.sampled_from(HARDWARE))
    def break_something(self, delay, node, number, seconds, what):
        self.perform("break", delay, node=node, number=number, seconds=seconds, what=what)

    @rule(delay=DELAY, number=NUMBER)
    def repair(self, delay, number):
        self.perform("repair", delay, number=number)

    @rule(kind=st.sampled_from(OTHERS), delay=DELAY, node=NODE, number=NUMBER, seconds=SECONDS)
    def anything_else(self, kind, delay, node, number, seconds):
        self.perform(kind, delay, node=node, number=number, seconds=seconds)

    @invariant()
    def nothing_is_that_must_never_be(self):
        if self.simulation is not None:
            assert self.simulation.judge.violations == []

    def teardown(self):
        if self.simulation is not None and not self.simulation.judge.violations:
            assert make_peace(self.simulation) == []


TestFabric = Fabric.TestCase
TestFabric.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
