"""How the planner's work grows with the fabric: build, repair of one fault and of eight, full recomputation, memory.

One job of rings of eight nodes (K = 2) fills a closed fabric so that 1 % of its nodes are spare; 2 % are down at random
places. Each repair begins from that placement: a random node of a random ring fails, and the time runs until the new
chains are laid in the planner's order. What the repair changed is put back, outside of the time.
"""

import gc
import sys
from dataclasses import dataclass
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from bench.fabrics import RING_NODES, K, make_spec
from bench.figures import Figure, median, median_time, percentile, timed
from bench.lives import JOB, Site
from ringlight.controller.planning.order import LaidRing
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.wiring import Wiring

DOWN, SPARE = 0.02, 0.01
BURST = 8
_SEED = 1
_SIZES = (1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Scale:
    """What was measured on one fabric; times in seconds.

    Attributes:
        nodes, rings: of the fabric and of the job.
        build: the order from nothing: faults, every ring laid, and the index that the first repair asks for.
        repair_p50, repair_p99: one fault, repaired.
        moved_p50: rings that such a repair moves besides the one that broke.
        burst_p50: eight faults at once, planned at once.
        full: every ring planned anew on the empty order.
        bytes_a_node: memory of the planner, by node.
    """

    nodes: int
    rings: int
    build: float
    repair_p50: float
    repair_p99: float
    moved_p50: float
    burst_p50: float
    full: float
    bytes_a_node: float


def scale(nodes: int, *, repairs: int, bursts: int) -> Scale:
    """Measure one fabric."""
    random = Random(_SEED)  # noqa: S311 - the same faults in every run; no secret
    down = random.sample(range(nodes), int(nodes * DOWN))
    empty = Site(nodes, K, RING_NODES, down)
    rings = int(nodes * (1 - DOWN - SPARE)) // RING_NODES
    plans = []
    full = timed(lambda: plans.append(empty.plan(rings)))
    chains = [placement.chain for placement in plans[0].placed]
    sites: list[Site] = []

    def build() -> None:
        site = Site(nodes, K, RING_NODES, down)
        site.lay(chains)
        while (more := site.plan(site.order.rings + 1, pinned=True)).placed:
            site.carry_out(more)  # a ring's worth of idle nodes in one place is no spare
        sites.append(site)

    built = timed(build)
    trial = _Trial(sites[0], random)
    single = [trial.repair(1) for _ in range(repairs)]
    many = [trial.repair(BURST) for _ in range(bursts)]
    times = [seconds for seconds, _ in single]
    return Scale(
        nodes=nodes,
        rings=sites[0].order.rings,
        build=built,
        repair_p50=median(times),
        repair_p99=percentile(times, 0.99),
        moved_p50=median([moved for _, moved in single]),
        burst_p50=median([seconds for seconds, _ in many]),
        full=full,
        bytes_a_node=_bytes_of(sites[0].planner) / nodes,
    )


class _Trial:
    """Faults on one site, each put back after it was repaired."""

    def __init__(self, site: Site, random: Random) -> None:
        self._site = site
        self._random = random
        self._rings = list(site.order.chains_of(JOB))

    def repair(self, faults: int) -> tuple[float, int]:
        """So many faults at once: seconds until their rings are laid again, and how many other rings moved."""
        site, order = self._site, self._site.order
        broken = [self._rings[index] for index in self._random.sample(range(len(self._rings)), faults)]
        lost: list[int] = []
        moved: list[LaidRing] = []
        laid: list[str] = []

        def work() -> None:
            lost.extend(site.fail(ring, self._random) for ring in broken)
            plan = site.plan(len(self._rings), broken)
            moved.extend(plan.moved)
            laid.extend(site.carry_out(plan))

        seconds = timed(work)
        for name in laid:
            order.lift(name)
        for position in lost:
            order.set_usable(position, usable=True)
        for ring in (*broken, *moved):
            order.lay(ring.name, ring.job, ring.chain)
        return seconds, len(moved)


def _bytes_of(root: object) -> int:
    """Memory of everything an object holds, each part counted once; code is not."""
    seen: set[int] = set()
    total, todo = 0, [root]
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, _CODE):
            continue
        seen.add(id(part))
        total += sys.getsizeof(part)
        todo.extend(gc.get_referents(part))
    return total


_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def measure(*, quick: bool) -> list[Figure]:
    """Build, repair and recompute on fabrics of three sizes; of one when quick."""
    figures = []
    for nodes in _SIZES[: 1 if quick else None]:
        found = scale(nodes, repairs=20 if quick else 100, bursts=5 if quick else 20)
        title = f"{nodes:,} nodes, {found.rings:,} rings"
        look, tables = _floors(nodes)
        figures += [
            Figure("planner", f"place all, {title}", found.full, look, "one look at each node"),
            Figure("planner", f"repair p50, {title}", found.repair_p50, tables, "chain_tables of one chain"),
            Figure("planner", f"repair p99, {title}", found.repair_p99, tables, "chain_tables of one chain"),
            Figure("planner", f"{BURST} faults at once p50, {title}", found.burst_p50, tables * BURST, "of 8 chains"),
        ]
    return figures


def _floors(nodes: int) -> tuple[float, float]:
    """One look at each node, and the tables that follow from one chain."""
    usable = [True] * nodes
    wiring = Wiring(make_spec(4 * RING_NODES))
    chain = tuple(range(RING_NODES))
    look = median_time(lambda: sum(usable), times=9)
    return look, median_time(lambda: chain_tables(wiring, chain), times=9)
