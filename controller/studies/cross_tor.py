"""How much data-parallel traffic leaves the rack, against the share of nodes that are down.

For every number of nodes a rack, longest hop and fault rate, a job is placed on fabrics with independent node faults,
once with regard to racks and once without. The setting: N nodes of 4 GPUs on an open, interleaved order with the
default cabling; rings of 32 GPUs; a job of 85 % of all GPUs, or as many of its rings as fit. Seed s draws one number a
node, and a node is down at rate f if its number is below f, so the same seed at a higher rate has the same faults and
more.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from statistics import fmean

from ringlight.controller.planning.alignment import place_aligned
from ringlight.controller.planning.cross_tor import cross_tor_rate
from ringlight.controller.planning.planner import RingRequest, plan_rings
from ringlight.controller.planning.racks import RackLayout
from ringlight.controller.planning.terrain import Chain, Terrain
from ringlight.fabric.spec import FabricSpec, NodeSpec, default_bundles, default_port_map, fibres_of_port_map
from ringlight.fabric.wiring import Wiring

GPUS = 4  # a node
RING_NODES = 8  # tp 32
NODES_A_RACK = (2, 4, 8)
HOPS = (2, 3)  # K
SHARE = 0.85  # of all GPUs, asked for by the job


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a curve.

    Attributes:
        nodes_a_rack: p.
        k: longest hop distance.
        fault_rate: chance of a node to be down.
        nodes: in the fabric; a multiple of p.
        seeds: one random fabric each.
    """

    nodes_a_rack: int
    k: int
    fault_rate: float
    nodes: int
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What a case came to, as means over its seeds.

    Attributes:
        case: the case.
        aligned: cross-ToR rate of the placement that regards racks.
        rack_blind: cross-ToR rate of the placement that does not.
        placed: share of the rings asked for that the aligned placement has.
        seconds: of one aligned placement.
    """

    case: Case
    aligned: float
    rack_blind: float
    placed: float
    seconds: float


def cases(*, nodes: int, seeds: Sequence[int], fault_rates: Sequence[float]) -> list[Case]:
    """The curves for every p of `NODES_A_RACK` and K of `HOPS`."""
    return [
        Case(nodes_a_rack, k, rate, nodes, tuple(seeds))
        for nodes_a_rack in NODES_A_RACK
        for k in HOPS
        for rate in fault_rates
    ]


def study(asked: Sequence[Case], *, processes: int | None = None) -> Iterator[Point]:
    """Points in the order of the cases, each as soon as it is known; one process a CPU unless said otherwise."""
    processes = min(processes or os.cpu_count() or 1, len(asked))
    if processes <= 1:
        yield from map(measure, asked)
        return
    # Started anew rather than forked: the caller may run threads.
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        yield from pool.map(measure, asked)
    finally:
        pool.shutdown(cancel_futures=True)


def measure(case: Case) -> Point:
    """One point of a curve."""
    layout = _layout(case.nodes, case.nodes_a_rack)
    rings = int(SHARE * case.nodes / RING_NODES)
    aligned, rack_blind, placed, seconds = [], [], [], []
    for seed in case.seeds:
        terrain = _terrain(case, seed)
        begin = time.perf_counter()
        chains = place_aligned(terrain, layout, nodes=RING_NODES, rings=rings) or ()
        seconds.append(time.perf_counter() - begin)
        aligned.append(cross_tor_rate(chains, layout.rows, case.nodes_a_rack))
        blind = _dealt(_rack_blind(terrain, rings), case.nodes_a_rack)
        rack_blind.append(cross_tor_rate(blind, layout.rows, case.nodes_a_rack))
        placed.append(len(chains) / rings)
    return Point(case, fmean(aligned), fmean(rack_blind), fmean(placed), fmean(seconds))


def _rack_blind(terrain: Terrain, rings: int) -> tuple[Chain, ...]:
    return plan_rings(terrain, RingRequest(nodes=RING_NODES, rings=rings)).placed


def _dealt(chains: Sequence[Chain], parts: int) -> list[Chain]:
    """Data-parallel order for rings laid along the order: one from each part of it in turn, what is over at the end.

    In fabric order neighbour rings never share a rack, which would be too easy a rival.
    """
    groups = len(chains) // parts
    dealt = [chains[part * groups + group] for group in range(groups) for part in range(parts)]
    return dealt + list(chains[parts * groups :])


def _terrain(case: Case, seed: int) -> Terrain:
    draw = random.Random(seed)  # noqa: S311  # a study, not a secret
    wiring = _wiring(case.nodes, case.k)
    return Terrain(
        wiring,
        usable=[draw.random() >= case.fault_rate for _ in range(case.nodes)],
        barred=[False] * case.nodes,
        tables=[wiring.loopback] * case.nodes,
    )


@lru_cache(maxsize=2)
def _wiring(nodes: int, k: int) -> Wiring:
    return Wiring(
        FabricSpec(
            name="study",
            k=k,
            closed=False,
            gpus=GPUS,
            bundles=default_bundles(k, GPUS),
            nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
            fibres=fibres_of_port_map(default_port_map(k), nodes, closed=False),
        )
    )


def _layout(nodes: int, nodes_a_rack: int) -> RackLayout:
    racks = nodes // nodes_a_rack
    layout = RackLayout.of([f"r{position % racks}" for position in range(nodes)])
    if layout is None or not layout.interleaved or nodes % nodes_a_rack:
        raise ValueError(f"{nodes} nodes do not fill racks of {nodes_a_rack} in two rows or more")
    return layout
