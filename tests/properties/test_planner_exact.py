"""The planner against exhaustive search: on small fabrics it finds the most rings and keeps the most of them.

Fabrics have any K, any port map, lines and closed orders; some nodes are down or cordoned, some hops are dark; up to
three jobs with rings of different sizes lie there. Then several nodes and hops fail at once, and every job is planned
in order of priority, each given all the rest.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import Planner, RingRequest
from ringlight.fabric.circuits import EXTERNAL_PATHS
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_hops
from ringlight.fabric.spec import FabricSpec, NodeSpec, default_bundles, fibres_of_port_map
from ringlight.fabric.wiring import HopKey, Wiring

Span = frozenset[int]


@cache
def make_wiring(nodes: int, k: int, ports: tuple[int, ...], *, closed: bool) -> Wiring:
    """A fabric whose port map gives the offsets +1, -1, +2, -2, ... to the ports with these numbers."""
    bundles = max(2, k)
    every_port = [(bundle, path) for bundle in range(bundles) for path in EXTERNAL_PATHS]
    offsets = [sign * distance for distance in range(1, k + 1) for sign in (1, -1)]
    port_map = {every_port[port]: offset for port, offset in zip(ports, offsets, strict=True)}
    return Wiring(
        FabricSpec(
            name="small",
            k=k,
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
            for distance in range(1, wiring.spec.k + 1)
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
class Problem:
    wiring: Wiring
    jobs: list[Job]  # by priority
    down: set[int]  # failed at once
    cordoned: set[int]  # before; a ring that holds one stands
    dead: set[HopKey]
    dead_before: set[HopKey]


@st.composite
def problems(draw: st.DrawFn, most_nodes: int = 10) -> Problem:
    k = draw(st.integers(1, 4))
    closed = draw(st.booleans())
    size = draw(st.integers(2 * k + 1 if closed else 2, most_nodes))
    ports = draw(st.sampled_from(list(permutations(range(2 * max(2, k)), 2 * k))[:: max(1, 7 * k)]))
    wiring = make_wiring(size, k, ports, closed=closed)
    hops = sorted(hop.key for hop in wiring.hops)
    dead_before = draw(st.sets(st.sampled_from(hops), max_size=2)) if hops else set()
    jobs: list[Job] = []
    taken: Span = frozenset()
    for number in range(draw(st.integers(1, 3))):
        nodes = draw(st.integers(1, min(4, size)))
        possible = [chain for chain in every_chain(wiring, nodes) if stands(wiring, chain, set(), dead_before)]
        chains: list[Chain] = []
        for chain in draw(st.lists(st.sampled_from(possible), max_size=4)) if possible else []:
            if not covered(wiring, chain) & taken:
                chains.append(chain)
                taken |= covered(wiring, chain)
        wanted = draw(st.integers(max(1, len(chains)), len(chains) + 2))
        jobs.append(Job(f"job{number}", nodes, wanted, chains))
    return Problem(
        wiring,
        jobs,
        down=draw(st.sets(st.integers(0, size - 1), max_size=size // 2)),
        cordoned=draw(st.sets(st.integers(0, size - 1), max_size=2)),
        dead=draw(st.sets(st.sampled_from(hops), max_size=3)) if hops else set(),
        dead_before=dead_before,
    )


def planner_of(problem: Problem) -> Planner:
    wiring = problem.wiring
    planner = Planner(Cabling.of_wiring(wiring), wiring.name)
    for hop in sorted(problem.dead_before):
        planner.order.set_live(hop, live=False)
    for position in sorted(problem.cordoned):
        planner.order.set_usable(position, usable=False)
    for job in problem.jobs:
        for number, chain in enumerate(job.chains):
            planner.order.lay(f"{job.name}/{number}", job.name, chain)
    return planner


def break_and_plan(problem: Problem, planner: Planner) -> None:
    """Everything fails at once; each job is planned in turn, and compared with exhaustive search."""
    wiring, order = problem.wiring, planner.order
    for hop in sorted(problem.dead):
        order.set_live(hop, live=False)
    for position in sorted(problem.down):
        order.set_usable(position, usable=False)
    standing: dict[str, list[Chain]] = {}
    broken: dict[str, list[Chain]] = {}
    for job in problem.jobs:
        standing[job.name], broken[job.name] = [], []
        for number, chain in enumerate(job.chains):
            if stands(wiring, chain, problem.down, problem.dead):
                standing[job.name].append(chain)
            else:
                broken[job.name].append(order.lift(f"{job.name}/{number}").chain)
    out_of_use = problem.down | problem.cordoned
    dead = problem.dead | problem.dead_before
    for job in problem.jobs:
        survivors = standing[job.name]
        others = {
            p for name, chains in standing.items() if name != job.name for c in chains for p in covered(wiring, c)
        }
        plan = planner.plan(RingRequest(job.name, job.nodes, job.wanted, tuple(broken[job.name])))
        candidates = {
            covered(wiring, chain)
            for chain in every_chain(wiring, job.nodes)
            if stands(wiring, chain, out_of_use, dead) and not covered(wiring, chain) & others
        }
        assert (plan.rings, plan.kept) == best(candidates, [covered(wiring, c) for c in survivors], job.wanted)
        assert plan.kept + len(plan.moved) == len(survivors)
        for ring in plan.moved:
            order.lift(ring.name)
            survivors.remove(ring.chain)
        for number, placed in enumerate(plan.placed):
            chain = placed.chain
            assert is_chain(wiring, chain)
            assert stands(wiring, chain, out_of_use, dead)
            assert not covered(wiring, chain) & others
            assert placed.reasons
            order.lay(f"{job.name}/new{number}", job.name, chain)
            survivors.append(chain)
        for one, other in combinations(survivors, 2):
            assert not covered(wiring, one) & covered(wiring, other)
        assert bool(plan.reasons) == (plan.rings < job.wanted or bool(plan.moved))


@settings(max_examples=600, deadline=None)
@given(problems())
def test_every_job_gets_most_rings_and_keeps_most_survivors(problem):
    break_and_plan(problem, planner_of(problem))
