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
from multiprocessing import get_context
from statistics import fmean

from ringlight.controller.planning.alignment import place_aligned
from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.cross_tor import cross_tor_rate
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import Planner, RingRequest
from ringlight.controller.planning.racks import RackLayout
from ringlight.fabric.spec import default_port_map, nearest_distances

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
        planner = _planner(case, seed)
        begin = time.perf_counter()
        chains = place_aligned(planner.order, layout, nodes=RING_NODES, rings=rings) or ()
        seconds.append(time.perf_counter() - begin)
        aligned.append(cross_tor_rate(chains, layout.rows, case.nodes_a_rack))
        blind = _dealt(_rack_blind(planner, rings), case.nodes_a_rack)
        rack_blind.append(cross_tor_rate(blind, layout.rows, case.nodes_a_rack))
        placed.append(len(chains) / rings)
    return Point(case, fmean(aligned), fmean(rack_blind), fmean(placed), fmean(seconds))


def _rack_blind(planner: Planner, rings: int) -> list[Chain]:
    return [placement.chain for placement in planner.plan(RingRequest("study", RING_NODES, rings)).placed]


def _dealt(chains: Sequence[Chain], parts: int) -> list[Chain]:
    """Data-parallel order for rings laid along the order: one from each part of it in turn, what is over at the end.

    In fabric order neighbour rings never share a rack, which would be too easy a rival.
    """
    groups = len(chains) // parts
    dealt = [chains[part * groups + group] for group in range(groups) for part in range(parts)]
    return dealt + list(chains[parts * groups :])


def _planner(case: Case, seed: int) -> Planner:
    draw = random.Random(seed)  # noqa: S311  # a study, not a secret
    planner = Planner(Cabling.of_port_map(default_port_map(nearest_distances(case.k)), case.nodes, closed=False), str)
    for position in range(case.nodes):
        planner.order.set_usable(position, usable=draw.random() >= case.fault_rate)
    return planner


def _layout(nodes: int, nodes_a_rack: int) -> RackLayout:
    racks = nodes // nodes_a_rack
    layout = RackLayout.of([f"r{position % racks}" for position in range(nodes)])
    if layout is None or not layout.interleaved or nodes % nodes_a_rack:
        raise ValueError(f"{nodes} nodes do not fill racks of {nodes_a_rack} in two rows or more")
    return layout
