"""How much of a job's data-parallel traffic leaves the rack: the measure that rack-aware placement makes small."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

Ring = TypeVar("Ring", bound=Sequence[int])


def cross_tor_rate(chains: Sequence[Sequence[int]], racks: Sequence[int | str], nodes_a_rack: int) -> float:
    """The cross-ToR rate of a placement, from 0 (all data-parallel neighbours share a rack) to 1 (none do).

    The job's rings, in data-parallel order, form groups of p rings, p being the nodes a rack: rings 0..p-1, then
    p..2p-1, and so on. Inside a group the neighbour pairs are the rings (0, 1), (1, 2), .. (p-2, p-1), and every pair
    of rings gives one pair of nodes for each rank, the r-th node of one chain and the r-th of the other. The rate is
    the share of all these node pairs whose two nodes stand under different ToRs. The last group may be incomplete and
    counts the pairs it has. Without any pair the rate is 0.

    Args:
        chains: positions of the rings' nodes in rank order; the rings in data-parallel order, all of the same length.
        racks: the rack of every position, by name or number.
        nodes_a_rack: p, at least 1.
    """
    pairs = crossing = 0
    for one, other in neighbour_rings(chains, nodes_a_rack):
        pairs += len(one)
        crossing += sum(racks[a] != racks[b] for a, b in zip(one, other, strict=True))
    return crossing / pairs if pairs else 0.0


def neighbour_rings(chains: Sequence[Ring], nodes_a_rack: int) -> Iterator[tuple[Ring, Ring]]:
    """The pairs of rings that are data-parallel neighbours inside a group."""
    for index, (one, other) in enumerate(pairwise(chains)):
        if (index + 1) % nodes_a_rack:
            yield one, other
