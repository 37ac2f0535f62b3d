"""Ring geometry: what a chain of nodes asks of its bundles, and in which order light visits its GPUs.

A ring is a chain of m nodes closed by loopback at both ends: one cycle over all its m·R GPUs, with no wrap-around
fibre. The orders here are built by splicing node rings into each other; `ringlight.fabric.trace` finds the same
cycles by following light, and shares no code with this module.
"""

from collections.abc import Sequence
from itertools import pairwise

from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.wiring import Hop, Wiring

GpuRef = tuple[int, int]  # (position, GPU number in its node)


def chain_hops(wiring: Wiring, chain: Sequence[int]) -> tuple[Hop, ...]:
    """The hops of a chain, in chain order.

    Raises:
        InvalidError: two neighbours of the chain are joined by no fibre, a node would have to enter and leave
            through the same bundle, or a node is in the chain twice.
    """
    if len(set(chain)) < len(chain):
        twice = next(node for index, node in enumerate(chain) if node in chain[:index])
        raise InvalidError(f"{wiring.name(twice)} is in the chain twice")
    hops = []
    for first, second in pairwise(chain):
        hop = wiring.hop_between(first, second)
        if hop is None:
            raise InvalidError(f"no fibre joins {wiring.name(first)} and {wiring.name(second)}")
        hops.append(hop)
    for node, (into, out_of) in zip(chain[1:-1], pairwise(hops), strict=True):
        if into.near(node).bundle == out_of.near(node).bundle:
            raise InvalidError(f"{wiring.name(node)} cannot enter and leave through the same bundle")
    return tuple(hops)


def chain_tables(wiring: Wiring, chain: Sequence[int]) -> dict[int, CircuitTable]:
    """The circuit table each node of a chain needs, by position; bundles the chain does not use are in loopback.

    Raises:
        InvalidError: as `chain_hops`.
    """
    paths = {position: [Path.LOOPBACK] * wiring.bundles for position in chain}
    for hop in chain_hops(wiring, chain):
        for port in (hop.low, hop.high):
            paths[port.position][port.bundle] = port.path
    return {position: tuple(of_node) for position, of_node in paths.items()}


def gpu_order(wiring: Wiring, chain: Sequence[int]) -> tuple[GpuRef, ...]:
    """The GPUs of a chain in the order of its one cycle, beginning in its first node.

    A bundle on edge (u, v) that is joined to edge (u', v') carries u to u' and v to v'. So a node entered at the v
    side of its edge is walked upwards from v to the u side of the edge it leaves by; the rest of the chain follows
    in the opposite sense (it is entered at u'), and comes back at the v side of that edge.

    Raises:
        InvalidError: as `chain_hops`.
    """
    gpus = wiring.spec.gpus
    hops = chain_hops(wiring, chain)
    tail: list[GpuRef] = []
    for index in range(len(chain) - 1, -1, -1):
        node = chain[index]
        entry = _edge(wiring, hops[index - 1], node) if index > 0 else None
        leave = _edge(wiring, hops[index], node) if index < len(hops) else None
        start = ((entry if entry is not None else leave if leave is not None else gpus - 1) + 1) % gpus
        upwards = [(node, (start + step) % gpus) for step in range(gpus)]
        if leave is None:
            tail = upwards
        else:
            cut = upwards.index((node, leave)) + 1
            tail = [*upwards[:cut], *reversed(tail), *upwards[cut:]]
    return tuple(tail)


def _edge(wiring: Wiring, hop: Hop, node: int) -> int:
    return wiring.spec.bundles[hop.near(node).bundle].edge
