"""The planner's neighbourhood against the whole order: its index never hides a better choice.

On fabrics too large for exhaustive search, over long lives: nodes fail and come back, hops go dark and light up again.
Each plan is compared with `pack`, which looks at the whole order and is itself compared with exhaustive search.
"""

from itertools import pairwise
from random import Random

import pytest

from ringlight.controller.planning import planner as planner_module
from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.packing import pack
from ringlight.controller.planning.planner import Planner, RingRequest

LIVES = 60


def whole_order(planner, request):
    """Most rings, and how many survivors stay, by packing everything."""
    has = planner.order.rings_of(request.job)
    if request.rings <= has:
        return has, has
    choice = pack(planner.order, request.job, request.nodes, request.rings)
    return has + choice.gain, has - choice.moved


class Life:
    """One fabric with a few jobs, through many bursts."""

    def __init__(self, rng, make_wiring):
        self.rng = rng
        distances = rng.choice([(1,), (1, 2), (1, 2), (1, 2), (1, 2, 3), (1, 2, 4)])
        self.wiring = make_wiring(rng.randint(30, 140), closed=rng.random() < 0.6, distances=distances)
        self.planner = Planner(Cabling.of_wiring(self.wiring), self.wiring.name)
        self.order = self.planner.order
        self.down, self.dark = set(), set()
        self.hops = sorted(hop.key for hop in self.wiring.hops)
        self.jobs = {f"job{number}": (rng.randint(2, 5), 0) for number in range(rng.choice([1, 1, 2, 3]))}
        self.next = 0
        self.burst(rng.randint(0, 8), 0)
        for name, (nodes, _) in list(self.jobs.items()):
            share = rng.choice([0.5, 0.9, 1.0]) if len(self.jobs) > 1 else rng.choice([0.8, 0.95, 1.0])
            wanted = max(1, int(share * self.wiring.size / nodes / len(self.jobs)))
            self.jobs[name] = nodes, wanted
            self.carry_out(name, self.planner.plan(RingRequest(name, nodes, wanted)))

    def burst(self, failing, returning):
        """Nodes and hops fail and come back at once; what is broken is lifted."""
        for position in self.rng.sample(range(self.wiring.size), failing):
            self.down.add(position)
        for position in self.rng.sample(sorted(self.down), min(returning, len(self.down))):
            self.down.discard(position)
        for position in range(self.wiring.size):
            self.order.set_usable(position, usable=position not in self.down)
        if self.rng.random() < 0.3:
            self.dark.add(self.rng.choice(self.hops))
        if self.dark and self.rng.random() < 0.3:
            self.dark.discard(self.rng.choice(sorted(self.dark)))
        for hop in self.hops:
            self.order.set_live(hop, live=hop not in self.dark)
        broken = {name: [] for name in self.jobs}
        for name in self.jobs:
            for ring in list(self.order.chains_of(name)):
                if not self.stands(ring.chain):
                    broken[name].append(self.order.lift(ring.name).chain)
        return broken

    def stands(self, chain):
        hops = pairwise(chain)
        return not self.down & set(chain) and not any(
            self.wiring.hop_between(low, high).key in self.dark for low, high in hops
        )

    def carry_out(self, name, plan):
        for ring in plan.moved:
            self.order.lift(ring.name)
        for placed in plan.placed:
            self.order.lay(f"{name}/{self.next}", name, placed.chain)
            self.next += 1

    def plan(self, name, broken):
        nodes, wanted = self.jobs[name]
        request = RingRequest(name, nodes, wanted, tuple(broken))
        expected = whole_order(self.planner, request)
        plan = self.planner.plan(request)
        assert (plan.rings, plan.kept) == expected
        self.carry_out(name, plan)


@pytest.mark.parametrize("seed", range(LIVES), ids=lambda seed: f"seed-{seed}")
def test_a_plan_is_as_good_as_one_over_the_whole_order(make_wiring, seed):
    life = Life(Random(seed), make_wiring)
    for _ in range(25):
        broken = life.burst(life.rng.choice([0, 1, 1, 1, 2, 4, 8]), life.rng.choice([0, 1, 1, 2, 4]))
        for name in sorted(life.jobs):
            life.plan(name, broken[name])


@pytest.mark.parametrize("seed", range(5), ids=lambda seed: f"seed-{seed}")
def test_most_plans_never_look_at_the_whole_order(make_wiring, seed, monkeypatch):
    """While there are spares, packing everything is the exception."""
    packed = []

    def counted(*args):
        packed.append(args)
        return pack(*args)

    monkeypatch.setattr(planner_module, "pack", counted)
    planner = Planner(Cabling.of_wiring(make_wiring(4_000, 2)), str)
    rng = Random(seed)
    plan = planner.plan(RingRequest("train", 8, 485))
    for number, placed in enumerate(plan.placed):
        planner.order.lay(f"train/{number}", "train", placed.chain)
    packed.clear()
    for number in range(60):
        ring = rng.choice(list(planner.order.chains_of("train")))
        lost = rng.choice(ring.chain)
        planner.order.lift(ring.name)
        planner.order.set_usable(lost, usable=False)
        plan = planner.plan(RingRequest("train", 8, 485, (ring.chain,)))
        assert plan.rings == 485
        for other in plan.moved:
            planner.order.lift(other.name)
        for index, placed in enumerate(plan.placed):
            planner.order.lay(f"train/{number}-{index}", "train", placed.chain)
    assert not packed
