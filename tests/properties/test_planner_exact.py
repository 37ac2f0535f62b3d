"""The planner against exhaustive search: on small fabrics it finds the most rings and keeps the most of them.

Fabrics have any distances, any port map, are lines or closed; some nodes are down or cordoned, some hops are dark; up
to three jobs with rings of different sizes lie there. Then several nodes and hops fail at once, and every job is
planned in order of priority, each given all the rest. It is done twice, so that the second burst meets an order and an
index that were kept current through the first.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain, Order
from ringlight.controller.planning.planner import Planner, RingRequest
from ringlight.fabric.circuits import EXTERNAL_PATHS
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_hops
from ringlight.fabric.spec import FabricSpec, NodeSpec, default_bundles, fibres_of_port_map
from ringlight.fabric.wiring import HopKey, Wiring

Span = frozenset[int]


@cache
def make_wiring(nodes: int, distances: tuple[int, ...], ports: tuple[int, ...], *, closed: bool) -> Wiring:
    """A fabric whose port map gives the offsets +d, -d of each distance to the ports with these numbers."""
    k = len(distances)
    every_port = [(bundle, path) for bundle in range(max(2, k)) for path in EXTERNAL_PATHS]
    offsets = [sign * distance for distance in distances for sign in (1, -1)]
    port_map = {every_port[port]: offset for port, offset in zip(ports, offsets, strict=True)}
    return Wiring(
        FabricSpec(
            name="small",
            distances=distances,
            closed=closed,
            gpus=4,
            bundles=default_bundles(k, 4),
            nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
            fibres=fibres_of_port_map(port_map, nodes, closed=closed),
        )
    )


def covered(wiring: Wiring, chain: Chain) -> Span:
    """The span of a forward chain, counted step by step."""
    positions = {chain[0]}
    for here, there in pairwise(chain):
        position = here
        while position != there:
            position = (position + 1) % wiring.size
            positions.add(position)
    return frozenset(positions)


@cache
def every_chain(wiring: Wiring, nodes: int) -> list[Chain]:
    """Every forward chain that ports and fibres allow and that does not run into itself."""
    chains: list[Chain] = [(position,) for position in range(wiring.size)]
    for _ in range(nodes - 1):
        chains = [
            (*chain, (chain[-1] + distance) % wiring.size)
            for chain in chains
            for distance in wiring.spec.distances
            if wiring.hop(chain[-1], distance) is not None
        ]
    return [chain for chain in chains if is_chain(wiring, chain)]


def is_chain(wiring: Wiring, chain: Chain) -> bool:
    steps = sum((b - a) % wiring.size for a, b in pairwise(chain))
    if steps >= wiring.size:
        return False
    try:
        chain_hops(wiring, chain)
    except InvalidError:
        return False
    return True


def stands(wiring: Wiring, chain: Chain, down: set[int], dead: set[HopKey]) -> bool:
    return not set(chain) & down and not {hop.key for hop in chain_hops(wiring, chain)} & dead


def best(candidates: set[Span], survivors: list[Span], wanted: int) -> tuple[int, int]:
    """By trying everything: most rings up to the number wanted, then most survivors."""
    top = (0, 0)
    everything = [(span, 1) for span in survivors] + [(span, 0) for span in sorted(candidates, key=sorted)]

    def search(index: int, taken: Span, rings: int, kept: int) -> None:
        nonlocal top
        top = max(top, (rings, kept))
        if rings == wanted:
            return
        for number in range(index, len(everything)):
            span, survives = everything[number]
            if not span & taken:
                search(number + 1, taken | span, rings + 1, kept + survives)

    search(0, frozenset(), 0, 0)
    return top


@dataclass
class Job:
    name: str
    nodes: int
    wanted: int
    chains: list[Chain]


@dataclass
class Burst:
    """What happens at once: nodes fail or become idle again, hops go dark."""

    down: set[int]
    back: set[int]
    dark: set[HopKey]


@dataclass
class Problem:
    wiring: Wiring
    jobs: list[Job]  # by priority
    cordoned: set[int]  # a ring that holds one stands
    dark: set[HopKey]  # from the beginning
    bursts: list[Burst]


@st.composite
def problems(draw: st.DrawFn, most_nodes: int = 10) -> Problem:
    distances = draw(st.sampled_from([(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 3), (1, 2, 4), (2, 3), (1, 4)]))
    k, closed = len(distances), draw(st.booleans())
    fewest = 2 * distances[-1] + 1 if closed else 2
    size = draw(st.integers(fewest, max(most_nodes, fewest)))
    default = (0, 2, 1, 3, 4, 5, 6, 7)[: 2 * k]
    ports = draw(st.sampled_from([default, *list(permutations(range(2 * max(2, k)), 2 * k))[:: 7 * k]]))
    wiring = make_wiring(size, distances, ports, closed=closed)
    hops = sorted(hop.key for hop in wiring.hops)
    some_hops = st.sets(st.sampled_from(hops), max_size=2) if hops else st.just(set())
    some_nodes = st.sets(st.integers(0, size - 1), max_size=size // 3)
    dark = draw(some_hops)
    jobs: list[Job] = []
    taken: Span = frozenset()
    for number in range(draw(st.integers(1, 3))):
        nodes = draw(st.integers(1, min(4, size)))
        possible = [chain for chain in every_chain(wiring, nodes) if stands(wiring, chain, set(), dark)]
        chains: list[Chain] = []
        for chain in draw(st.lists(st.sampled_from(possible), max_size=4)) if possible else []:
            if not covered(wiring, chain) & taken:
                chains.append(chain)
                taken |= covered(wiring, chain)
        jobs.append(Job(f"job{number}", nodes, max(1, len(chains) + draw(st.integers(0, 2))), chains))
    bursts = draw(st.lists(st.builds(Burst, some_nodes, some_nodes, some_hops), min_size=1, max_size=3))
    return Problem(wiring, jobs, cordoned=draw(some_nodes), dark=dark, bursts=bursts)


class Model:
    """What the planner is told, kept a second time in plain sets and lists."""

    def __init__(self, problem: Problem) -> None:
        self.wiring = problem.wiring
        self.jobs = problem.jobs
        self.cordoned = set(problem.cordoned)
        self.down: set[int] = set()
        self.dark = set(problem.dark)
        self.chains = {job.name: dict(enumerate(job.chains)) for job in problem.jobs}
        self.next = 100
        self.planner = Planner(Cabling.of_wiring(self.wiring), self.wiring.name)
        self._tell(self.planner.order)

    def _tell(self, order: Order) -> None:
        for hop in sorted(self.dark):
            order.set_live(hop, live=False)
        for position in sorted(self.cordoned | self.down):
            order.set_usable(position, usable=False)
        for job, chains in self.chains.items():
            for number, chain in chains.items():
                order.lay(f"{job}/{number}", job, chain)

    def happen(self, burst: Burst) -> dict[str, list[Chain]]:
        """Let it happen, lift what is broken; the broken chains by job."""
        order = self.planner.order
        self.down = (self.down | burst.down) - burst.back
        self.cordoned -= burst.back
        self.dark |= burst.dark
        for hop in sorted(burst.dark):
            order.set_live(hop, live=False)
        for position in sorted(burst.down | burst.back):
            order.set_usable(position, usable=position not in self.down | self.cordoned)
        broken: dict[str, list[Chain]] = {}
        for job, chains in self.chains.items():
            gone = [n for n, chain in chains.items() if not stands(self.wiring, chain, self.down, self.dark)]
            broken[job] = [order.lift(f"{job}/{number}").chain for number in gone]
            for number in gone:
                del chains[number]
        return broken

    def plan(self, job: Job, broken: list[Chain]) -> None:
        """Plan one job, compare with exhaustive search and with a planner made anew, and carry the plan out."""
        wiring, chains = self.wiring, self.chains[job.name]
        request = RingRequest(job.name, job.nodes, job.wanted, tuple(broken))
        plan = self.planner.plan(request)
        others = {p for name in self.chains if name != job.name for p in self.spans(name)}
        candidates = {
            covered(wiring, chain)
            for chain in every_chain(wiring, job.nodes)
            if stands(wiring, chain, self.down | self.cordoned, self.dark) and not covered(wiring, chain) & others
        }
        survivors = [covered(wiring, chain) for chain in chains.values()]
        assert (plan.rings, plan.kept) == best(candidates, survivors, job.wanted)
        fresh = Planner(Cabling.of_wiring(wiring), wiring.name)
        self._tell(fresh.order)
        assert fresh.plan(request).rings == plan.rings
        assert plan.kept + len(plan.moved) == len(chains)
        assert bool(plan.reasons) == (plan.rings < job.wanted or bool(plan.moved))
        for ring in plan.moved:
            del chains[int(ring.name.partition("/")[2])]
            self.planner.order.lift(ring.name)
        for placed in plan.placed:
            assert placed.reasons
            assert covered(wiring, placed.chain) in candidates
            self.planner.order.lay(f"{job.name}/{self.next}", job.name, placed.chain)
            chains[self.next] = placed.chain
            self.next += 1
        for one, other in combinations(chains.values(), 2):
            assert not covered(wiring, one) & covered(wiring, other)

    def spans(self, job: str) -> Span:
        return frozenset(p for chain in self.chains[job].values() for p in covered(self.wiring, chain))


@settings(max_examples=500, deadline=None)
@given(problems())
def test_every_job_gets_most_rings_and_keeps_most_survivors(problem):
    model = Model(problem)
    for burst in problem.bursts:
        broken = model.happen(burst)
        for job in model.jobs:
            model.plan(job, broken[job.name])
