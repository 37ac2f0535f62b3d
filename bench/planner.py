"""How long the planner takes to place a job on nearly a whole fabric, and to replace one node of it afterwards.

One job asks for rings of eight on about 90 % of the nodes, 2 % of the nodes are down. Each repair is a single fault
on the placement as it was: one node of one ring is lost.
"""

from functools import partial
from random import Random

from bench.fabrics import RING_NODES, make_spec
from bench.figures import Figure, median, percentile, timed
from ringlight.controller.planning.planner import RingPlan, RingRequest, plan_rings
from ringlight.controller.planning.terrain import Chain, Terrain
from ringlight.fabric.circuits import CircuitTable
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.wiring import Wiring

_SIZES = (64, 400, 2_000, 10_000)
_BUSY, _DOWN = 0.9, 0.02
_SEED = 1


def measure(*, quick: bool) -> list[Figure]:
    """Place and repair on fabrics of four sizes; of two when quick."""
    figures = []
    for nodes in _SIZES[: 2 if quick else None]:
        figures += _Site(nodes).measure(repairs=20 if quick else 100)
    return figures


class _Site:
    """One fabric: its wiring and which nodes are up."""

    def __init__(self, nodes: int) -> None:
        self._random = Random(_SEED)  # noqa: S311 - the same faults in every run; no secret
        self._wiring = Wiring(make_spec(nodes))
        self._usable = [True] * nodes
        for position in self._random.sample(range(nodes), max(1, int(nodes * _DOWN))):
            self._usable[position] = False
        self._rings = int(nodes * _BUSY) // RING_NODES

    def measure(self, repairs: int) -> list[Figure]:
        """Place the job, then repair it so many times."""
        nodes = self._wiring.size
        terrain = self._terrain(self._usable, [self._wiring.loopback] * nodes)
        plans: list[RingPlan] = []
        request = RingRequest(RING_NODES, self._rings)
        placed_in = timed(lambda: plans.append(plan_rings(terrain, request)))
        chains = plans[0].placed
        sum_time = median([timed(lambda: sum(self._usable)) for _ in range(9)])
        tables_time = median([timed(lambda: chain_tables(self._wiring, chains[0])) for _ in range(9)])
        times = self._repair(chains, repairs)
        title = f"{nodes:,} nodes, {len(chains):,} rings"
        tables_name = "chain_tables of one chain"
        return [
            Figure("planner", f"place, {title}", placed_in, sum_time, "sum of the usable flags"),
            Figure("planner", f"repair p50, {title}", median(times), tables_time, tables_name),
            Figure("planner", f"repair p99, {title}", percentile(times, 0.99), tables_time, tables_name),
        ]

    def _repair(self, chains: tuple[Chain, ...], repairs: int) -> list[float]:
        """Seconds of each single repair. What the engine would hand over is made outside of the time."""
        tables = [self._wiring.loopback] * self._wiring.size
        for chain in chains:
            for position, table in chain_tables(self._wiring, chain).items():
                tables[position] = table
        times = []
        for _ in range(repairs):
            broken = self._random.choice(chains)
            usable = list(self._usable)
            usable[self._random.choice(broken)] = False
            terrain = self._terrain(usable, tables)
            survivors = tuple(chain for chain in chains if chain is not broken)
            request = RingRequest(RING_NODES, len(chains), survivors=survivors, broken=(broken,))
            times.append(timed(partial(plan_rings, terrain, request)))
        return times

    def _terrain(self, usable: list[bool], tables: list[CircuitTable]) -> Terrain:
        return Terrain(self._wiring, usable=usable, barred=[False] * self._wiring.size, tables=tables)
