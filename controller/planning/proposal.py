"""Whether chains that were worked out on a copy of the order can still be laid on the order itself.

Placement with regard to racks takes long, so it is done beside the controller's work, and the order goes on meanwhile.
Nothing is taken on trust: every chain is looked at again.
"""

from collections.abc import Sequence
from itertools import pairwise

from ringlight.controller.planning.order import Chain, Order


def is_sound(order: Order, chains: Sequence[Chain], nodes: int) -> bool:
    """Whether these are forward chains of `nodes` nodes that may be laid now, side by side."""
    taken: set[int] = set()
    for chain in chains:
        if len(chain) != nodes or not _can_be_led(order, chain):
            return False
        ring = order.as_ring(chain)
        span = {order.wrap(position) for position in range(ring.first, ring.last + 1)}
        runs_into_itself = len(span) <= ring.last - ring.first
        if runs_into_itself or span & taken or order.covered.count(ring.first, ring.last):
            return False
        taken |= span
    return True


def _can_be_led(order: Order, chain: Chain) -> bool:
    """Whether every node is free, every hop live, and no node entered and left through the same bundle."""
    if not all(0 <= position < order.size and order.is_free(position) for position in chain):
        return False
    entered = -1
    for before, after in pairwise(chain):
        steps = order.steps(before)
        step = next((step for step in steps if order.wrap(before + step.distance) == after), None)
        if step is None or step.leave[0] == entered:
            return False
        entered = step.enter[0]
    return True
