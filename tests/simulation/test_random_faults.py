"""Anything that can happen, in any order: no invariant breaks, and when faults stop, every ring comes back.

The engine, the emulated plant and obedient agents in virtual time, driven by seeded random events. A failing seed is
in the test's name; run it again with ``pytest -k "seed-17"``.
"""

from random import Random

import pytest

from ringlight.controller.engine.proposals import plan_job
from ringlight.controller.engine.state import RingState
from ringlight.controller.health.settings import BreakerSettings, FlapSettings
from ringlight.emulator.faults import FaultKind

SEEDS = 100
STEPS = 120
HARDWARE = (
    FaultKind.GPU_LOST,
    FaultKind.GPU_XID,
    FaultKind.POWER_OFF,
    FaultKind.FIBRE_CUT,
    FaultKind.MODULE_DEAD,
    FaultKind.BUNDLE_STUCK,
)


class Chaos:
    """One seeded run."""

    def __init__(self, world, rng):
        self.world = world
        self.rng = rng
        self.jobs = 0

    def step(self):
        action = self.rng.choices(
            (
                *(self.fault, self.repair, self.crash_agent, self.revive, self.deafen),
                *(self.submit, self.release, self.wait, self.restart),
                *(self.drain, self.cordon, self.uncordon, self.resize),
            ),
            weights=[6, 5, 2, 3, 1, 1, 0.5, 4, 0.5, 2, 0.5, 2, 1],
        )[0]
        action()
        self.world.advance(self.rng.choice([0, 0.25, 1, 3]))
        assert self.world.engine.state.violations == 0
        self.no_ring_shares_a_node()
        self.planner_is_in_step()

    def node(self):
        return self.rng.choice(self.world.spec.nodes).name

    def fault(self):
        kind = self.rng.choice(HARDWARE)
        if kind is FaultKind.FIBRE_CUT:
            hop = self.rng.choice(sorted(hop.key for hop in self.world.wiring.hops))
            self.world.fail(kind, self.world.wiring.name(hop.position), distance=hop.distance)
            return
        details = {
            "gpu": self.rng.randrange(self.world.spec.gpus),
            "bundle": self.rng.randrange(self.world.wiring.bundles),
            "module": self.rng.randrange(8),
            "xid": 79,
        }
        self.world.fail(kind, self.node(), **details)

    def repair(self):
        faults = self.world.plant.faults.all()
        if faults:
            self.world.repair(self.rng.choice(faults).id)

    def crash_agent(self):
        talking = sorted(self.world.sessions)
        if talking:
            self.world.hang_up(self.rng.choice(talking))

    def revive(self):
        for name in sorted(self.world.silent):
            if self.world.plant.powered(self.world.wiring.position(name)) and self.rng.random() < 0.5:
                self.world.silent.discard(name)
                self.world.dial(name)

    def deafen(self):
        self.world.deaf = {self.node() for _ in range(self.rng.randint(0, 3))}

    def submit(self):
        self.jobs += 1
        rings, m = self.rng.randint(1, 3), self.rng.randint(1, 5)
        self.world.submit(
            f"job{self.jobs}",
            rings=rings,
            tp=m * 4,
            min_rings=self.rng.randint(1, rings),
            priority=self.rng.randint(0, 2),
        )

    def release(self):
        jobs = sorted(self.world.engine.state.jobs)
        if jobs:
            self.world.release(self.rng.choice(jobs))

    def drain(self):
        """Now and then one that may cost a ring; one that may not never costs one at once."""
        nodes = {self.node() for _ in range(self.rng.choice([1, 1, 2]))}
        force, dry_run = self.rng.random() < 0.2, self.rng.random() < 0.2
        state = self.world.engine.state
        before = {name: bool(ring.chain) for name, ring in state.rings.items()}
        told = len(self.world.told)
        answer = self.world.drain(*nodes, force=force, dry_run=dry_run)
        if answer.error or dry_run:
            assert "node-draining" not in [event.kind for event in self.world.told[told:]]
        elif not force:
            planned = {change.ring for change in answer.planned.rings if not change.chain}
            assert not {name for name in planned if before[name]}

    def cordon(self):
        self.world.cordon(self.node(), reason="chaos")

    def uncordon(self):
        laid = [node.name for node in self.world.engine.state.nodes if node.overlay]
        if laid:
            self.world.uncordon(self.rng.choice(laid))

    def resize(self):
        jobs = sorted(self.world.engine.state.jobs)
        if jobs:
            rings = self.rng.randint(1, 4)
            self.world.resize(self.rng.choice(jobs), rings, self.rng.randint(0, rings), dry_run=self.rng.random() < 0.2)

    def restart(self):
        self.world.restart()

    def wait(self):
        self.world.advance(self.rng.choice([5, 20]))

    def peace(self):
        """Everything is repaired, everyone speaks, and time passes."""
        self.world.deaf = set()
        for fault in self.world.plant.faults.all():
            self.world.repair(fault.id)
        for name in sorted(self.world.silent):
            self.world.silent.discard(name)
            self.world.dial(name)
        self.world.advance(60)
        # No drain goes on for ever, and what was drained serves again when it is given back.
        state = self.world.engine.state
        assert "draining" not in {node.overlay for node in state.nodes}
        assert not state.leaving
        assert not self.world.pending, "everything is confirmed or undone"
        laid = [node.name for node in state.nodes if node.overlay]
        if laid:
            self.world.uncordon(*laid)
        self.world.advance(60)

    def planner_is_in_step(self):
        """The planner's order, kept current event by event, says what the records say."""
        state = self.world.engine.state
        order = state.planner.order
        laid = {ring.name: ring.chain for job in order.jobs for ring in order.chains_of(job)}
        assert laid == {name: order.forward(ring.chain) for name, ring in state.rings.items() if ring.chain}
        assert {node.position for node in state.nodes if node.usable} <= {
            p for p in range(order.size) if order.usable[p]
        }
        for position in range(order.size):
            node = state.nodes[position]
            assert node.usable or node.ring or not order.usable[position], f"{node.name} is on offer"
        for distance, row, laid_row in zip(order.cabling.distances, order.live, order.cabling.laid, strict=True):
            expected = bytearray(laid_row)
            for hop in state.dead_hops:
                if hop.distance == distance:
                    expected[hop.position] = 0
            assert row == expected

    def no_ring_shares_a_node(self):
        state = self.world.engine.state
        owners = [position for ring in state.rings.values() for position in ring.chain]
        assert len(owners) == len(set(owners))


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"seed-{seed}")
def test_random_faults(make_world, seed):
    rng = Random(seed)
    k = rng.choice([1, 2, 2, 2, 3])
    world = make_world(
        nodes=rng.randint(10, 24),
        k=k,
        gpus=4,
        closed=rng.random() < 0.7,
        probation=5.0,
        retest=30.0,
        breaker=BreakerSettings(burst=1_000),
        flap=FlapSettings(penalty=1.0, quarantine_faults=0, quarantine_flaps=0),
    ).start()
    chaos = Chaos(world, rng)
    world.submit(rings=2, tp=16, min_rings=1)
    for _ in range(STEPS):
        chaos.step()
    chaos.peace()
    world.assert_light_is_plan()
    state = world.engine.state
    assert state.settled
    assert {node.verdict.value for node in state.nodes} == {"HEALTHY"}
    for job in state.jobs.values():
        if job.active < job.rings_wanted:
            waiting = [ring for ring in job.rings if ring.state is not RingState.ACTIVE]
            assert all(ring.state is RingState.BROKEN for ring in waiting)
            assert no_room(world, job), f"{job.name} waits although there is room"


def no_room(world, job):
    """Whether the planner, asked afresh, finds nothing better."""
    return plan_job(world.engine.state, job, world.now).rings <= job.active
