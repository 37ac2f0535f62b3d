"""What hardware shows, put together: the pieces that lit hops make of the nodes, whatever was wanted of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ringlight.controller.engine.state import State
from ringlight.controller.planning.order import Chain
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.spec import Port


@dataclass(frozen=True, slots=True)
class Piece:
    """Nodes that are joined by light.

    Attributes:
        nodes: by position, in fabric order.
        chain: the ring that they are, along the order; None when they are none.
        unknown: light comes from a node that was not heard yet: there may be more to it.
    """

    nodes: tuple[int, ...]
    chain: Chain | None
    unknown: bool


def pieces(state: State, among: Iterable[int]) -> list[Piece]:
    """The pieces that these nodes are in, in fabric order. Nodes on which no light arrives are in none."""
    members = sorted(among)
    neighbours = {position: _neighbours(state, position) for position in members}
    found, seen = [], set[int]()
    for position in members:
        if position in seen or not neighbours[position]:
            continue
        joined = _joined(position, neighbours)
        seen |= joined
        unknown = any(not state.nodes[near].adopted for node in joined for near in neighbours.get(node, ()))
        found.append(Piece(tuple(sorted(joined & set(members))), _as_ring(state, joined, neighbours), unknown))
    return found


def _neighbours(state: State, position: int) -> list[int]:
    """The nodes from which light arrives over ports that a node selects."""
    node = state.nodes[position]
    ports = [
        Port(position, bundle, path)
        for bundle, path in enumerate(node.observed or ())
        if path.is_external and node.light.get((bundle, path), False)
    ]
    peers = (state.wiring.peer(port) for port in ports)
    return [peer.position for peer in peers if peer is not None]


def _joined(start: int, neighbours: dict[int, list[int]]) -> set[int]:
    joined, waiting = {start}, [start]
    while waiting:
        for near in neighbours.get(waiting.pop(), ()):
            if near not in joined:
                joined.add(near)
                waiting.append(near)
    return joined


def _as_ring(state: State, joined: set[int], neighbours: dict[int, list[int]]) -> Chain | None:
    """The chain of joined nodes, if every bundle of each is as a ring over just them needs it."""
    ends = [position for position in sorted(joined) if len(neighbours.get(position, ())) == 1]
    if len(ends) != 2 or not joined <= neighbours.keys():  # noqa: PLR2004 - a chain has two ends
        return None
    chain = [ends[0]]
    while onward := [near for near in neighbours[chain[-1]] if near not in chain]:
        chain.append(onward[0])
    forward = state.planner.order.forward(tuple(chain))
    size = state.wiring.size
    if len(chain) != len(joined) or not all(state.wiring.hop(a, (b - a) % size) for a, b in pairwise(forward)):
        return None
    try:
        tables = chain_tables(state.wiring, forward)
    except InvalidError:
        return None
    return forward if all(state.nodes[position].observed == table for position, table in tables.items()) else None
