"""From verdicts to a plan: states the planning problem of a job in the planner's words, and asks.

The planner's order is kept in step with the records: a node is usable there when any ring may take it, or when it is in
a ring that may keep it (one that is degraded or cordoned). Damaged rings are taken up before anything is planned, so
that what is left of them is there for whoever is planned first. A plan is only a proposal: nothing is changed by it.
"""

from dataclasses import replace

from ringlight.controller.engine.assessment import is_usable, may_stay
from ringlight.controller.engine.commitment import leaving
from ringlight.controller.engine.state import JobRecord, NodeRecord, State
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import RingPlan, RingRequest
from ringlight.fabric.rings import chain_hops


def offer(state: State, node: NodeRecord, now: float) -> None:
    """Tell the planner what a node may be used for at present."""
    usable = node.usable or (bool(node.ring) and may_stay(state, node, now))
    state.planner.order.set_usable(node.position, usable=usable)


def take_up(state: State, job: JobRecord) -> None:
    """Let the damaged rings of a job lie nowhere; only nodes that any ring may take are on offer then."""
    for ring in job.rings:
        if ring.name in state.damaged and state.planner.order.is_laid(ring.name):
            state.lift(ring)
            for node in state.chain_nodes(ring):
                state.planner.order.set_usable(node.position, usable=node.usable)


def put_back(state: State, job: JobRecord, now: float) -> None:
    """Let rings that were taken up lie again where they did, since nothing came of it."""
    for ring in job.rings:
        if ring.chain and not state.planner.order.is_laid(ring.name):
            state.lay(ring, ring.chain)
            for node in state.chain_nodes(ring):
                offer(state, node, now)


def plan_job(state: State, job: JobRecord, now: float, proposal: tuple[Chain, ...] = ()) -> RingPlan:
    """The best rings for a job whose damaged rings were taken up, given all others as they are.

    While agents are still dialling in, rings that work are never moved: a better spare may only not have spoken yet.
    Nor are they moved to try out a fibre that was dark.
    """
    order = state.planner.order
    broken = [ring for ring in job.rings if ring.chain and not order.is_laid(ring.name)]
    request = RingRequest(
        job=job.name,
        nodes=job.tp // state.wiring.spec.gpus,
        rings=job.rings_wanted,
        broken=tuple(ring.chain for ring in broken),
        pinned=job.pinned or not state.open,
        proposal=proposal,
    )
    former = [node for ring in broken for node in state.chain_nodes(ring)] + leaving(state, job.name)
    lent = sorted({node.position for node in former if not node.usable and may_stay(state, node, now)})
    for position in lent:
        order.set_usable(position, usable=True)
    plan = _ask(state, request, lent, now)
    if plan.moved and _tries_out(state, plan):
        plan = _ask(state, replace(request, pinned=True), lent, now)
    for position in lent:
        order.set_usable(position, usable=False)
    return plan


def _ask(state: State, request: RingRequest, lent: list[int], now: float) -> RingPlan:
    while mistaken := _no_longer_usable(state, plan := state.planner.plan(request), lent, now):
        for position in mistaken:
            state.planner.order.set_usable(position, usable=False)
    return plan


def _tries_out(state: State, plan: RingPlan) -> bool:
    """Whether a plan needs a fibre that was dark, and that nobody saw lit since."""
    if not state.untested:
        return False
    hops = (hop.key for placement in plan.placed for hop in chain_hops(state.wiring, placement.chain))
    return not state.untested.keys().isdisjoint(hops)


def pause(state: State, job: JobRecord, plan: RingPlan, now: float) -> None:
    """Do not plan a job again for a while that suits what this plan cost; evidence that comes meanwhile waits."""
    job.plan_again_at = now + state.settings.change.replan_pause * plan.looked


def _no_longer_usable(state: State, plan: RingPlan, lent: list[int], now: float) -> list[int]:
    """Nodes of a plan that became unusable by time alone, and were not judged since."""
    kept = {position for ring in plan.moved for position in ring.chain}
    chosen = {position for placement in plan.placed for position in placement.chain}.difference(lent)
    mistaken = []
    for position in sorted(chosen):
        node = state.nodes[position]
        fine = is_usable(state, node, now) or (position in kept and may_stay(state, node, now))
        if not fine:
            mistaken.append(position)
    return mistaken
