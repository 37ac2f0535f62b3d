"""A fabric as the planner alone sees it, with a job whose rings break and are repaired: what several benches drive."""

from collections.abc import Sequence
from random import Random

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain, LaidRing
from ringlight.controller.planning.planner import Planner, RingPlan, RingRequest
from ringlight.fabric.spec import default_port_map, nearest_distances

JOB = "train"


class Site:
    """One closed fabric with one job on it, planned without controller or agents.

    Args:
        nodes: N.
        k: longest hop distance.
        ring_nodes: nodes of a ring, m.
        down: positions that are out of use from the beginning.
    """

    def __init__(self, nodes: int, k: int, ring_nodes: int, down: Sequence[int] = ()) -> None:
        self.ring_nodes = ring_nodes
        self.planner = Planner(Cabling.of_port_map(default_port_map(nearest_distances(k)), nodes, closed=True), str)
        self.order = self.planner.order
        for position in down:
            self.order.set_usable(position, usable=False)
        self._laid = 0

    def plan(self, rings: int, broken: Sequence[LaidRing] = (), *, pinned: bool = False) -> RingPlan:
        """The planner's answer for so many rings."""
        former = tuple(ring.chain for ring in broken)
        return self.planner.plan(RingRequest(JOB, self.ring_nodes, rings, former, pinned=pinned))

    def lay(self, chains: Sequence[Chain]) -> list[str]:
        """Lay rings; their names."""
        names = []
        for chain in chains:
            names.append(f"{JOB}/{self._laid}")
            self.order.lay(names[-1], JOB, chain)
            self._laid += 1
        return names

    def fail(self, ring: LaidRing, random: Random) -> int:
        """A random node of a ring fails, and the ring is lifted; the node."""
        lost = random.choice(ring.chain)
        self.order.set_usable(lost, usable=False)
        self.order.lift(ring.name)
        return lost

    def carry_out(self, plan: RingPlan) -> list[str]:
        """Lay what a plan says; the names of the new rings."""
        for ring in plan.moved:
            self.order.lift(ring.name)
        return self.lay([placement.chain for placement in plan.placed])
