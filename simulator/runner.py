"""One seed: a fabric is drawn, operations are drawn, all of it is run, and judged."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random

from ringlight.controller.engine.engine import Engine
from ringlight.controller.health.settings import BreakerSettings, FlapSettings, HealthSettings, ProbeSettings
from ringlight.controller.settings import Settings
from ringlight.fabric.spec import (
    FabricSpec,
    NodeSpec,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
    nearest_distances,
)
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.agent import Agent
from ringlight.simulator.controller import Failpoint
from ringlight.simulator.operations import WEIGHTS, Operation, draw
from ringlight.simulator.peace import make_peace
from ringlight.simulator.simulation import Plan, Simulation, groups_of

_GPUS = 4
_CLOSED = 0.7  # share of fabrics whose order wraps around

# Days of trust are seconds here; what is fast stays as it is.
SETTINGS = Settings(
    health=HealthSettings(start_grace=6.0, probation=5.0, dead_hop_retest=20.0, stall_valid=10.0),
    breaker=BreakerSettings(window=10.0),
    flap=FlapSettings(half_life=2.0, longest=8.0, quarantine_faults=4, faults_window=60.0, flaps_window=30.0),
    probe=ProbeSettings(command=("the-site's-own",), interval=5.0),
)


@dataclass(frozen=True, slots=True)
class Case:
    """What makes a run what it is.

    Attributes:
        seed: of everything.
        nodes: of the fabric; 0 to have the seed draw it, too.
        operations: how many are drawn.
        only: the operations that are performed, by index; None for all.
    """

    seed: int
    nodes: int = 64
    operations: int = 200
    only: tuple[int, ...] | None = None

    @property
    def command(self) -> str:
        """What reproduces it."""
        command = f"ringlight simulate --seed {self.seed} --nodes {self.nodes} --operations {self.operations}"
        return command if self.only is None else f"{command} --only {','.join(map(str, self.only)) or 'none'}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run was like.

    Attributes:
        problems: everything that was wrong, in words, in the order in which it came up; none is what must be.
        operations: those that were performed.
        steps: what happened, in all.
    """

    case: Case
    problems: tuple[str, ...]
    operations: tuple[Operation, ...]
    steps: int
    commands: int
    writes: int
    false_bypasses: int
    seconds: float

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems


def run(
    case: Case,
    *,
    engine: type[Engine] = Engine,
    agent: type[Agent] = Agent,
    failpoint: Failpoint | None = None,
    weights: Mapping[str, float] = WEIGHTS,
) -> Verdict:
    """Run one case, to its end or to the first thing that must never be.

    Another engine or agent than the real one, a failpoint, and other weights are for tests of the simulator itself.
    """
    rng = Random(case.seed)  # noqa: S311 - no secret
    plan = draw_plan(rng, case.nodes)
    drawn = draw(rng, plan.wiring.size, case.operations, weights)
    chosen = [operation for operation in drawn if case.only is None or operation.index in _set(case.only)]
    simulation = Simulation(plan, Random(rng.random()), engine=engine, agent=agent, failpoint=failpoint)  # noqa: S311 - no secret
    simulation.begin()
    for operation in chosen:
        simulation.perform(operation)
        if simulation.judge.violations:
            break
    problems = [] if simulation.judge.violations else make_peace(simulation)
    judge = simulation.judge
    return Verdict(
        case,
        (*map(str, judge.violations), *problems),
        tuple(chosen),
        simulation.schedule.steps,
        judge.commands,
        judge.writes,
        judge.false_bypasses,
        simulation.schedule.now,
    )


def _set(only: Collection[int]) -> frozenset[int]:
    return frozenset(only)


def draw_plan(rng: Random, nodes: int) -> Plan:
    """A fabric of so many nodes (0: of 10 to 64), with agents that serve some each."""
    size = nodes or rng.randint(10, 64)
    distances = nearest_distances(rng.choice((1, 2, 2, 2, 3)))
    closed = rng.random() < _CLOSED
    spec = FabricSpec(
        name="simulated",
        distances=distances,
        closed=closed,
        gpus=_GPUS,
        bundles=default_bundles(len(distances), _GPUS),
        nodes=tuple(NodeSpec(f"n{number}") for number in range(size)),
        fibres=fibres_of_port_map(default_port_map(distances), size, closed=closed),
    )
    return Plan(Wiring(spec), SETTINGS, groups_of(rng, size))
