"""The end of a run: when nothing more goes wrong, everything that can be whole must become whole."""

from ringlight.controller.engine.events import ResetBreaker, Resume, Uncordon
from ringlight.controller.engine.observed import pieces
from ringlight.controller.engine.proposals import plan_job
from ringlight.controller.engine.state import JobRecord, RingState, State
from ringlight.fabric.trace import canonical_cycle
from ringlight.simulator.controller import Controller
from ringlight.simulator.link import USUAL_DELAY
from ringlight.simulator.simulation import Simulation

_DIAL_IN = 20.0  # virtual seconds until everybody is there again
_SETTLE = 60.0  # until what was given back is in use


def make_peace(simulation: Simulation) -> list[str]:
    """Repair everything, let everybody speak, and see what becomes of it; everything that is not as it must be."""
    _repair(simulation)
    simulation.schedule.run(_DIAL_IN)
    leader = _one_leader(simulation)
    state = leader.engine.state
    for request in (Resume(""), ResetBreaker("")):
        simulation.ask(request)
    laid = tuple(node.name for node in state.nodes if node.overlay)
    if laid:
        simulation.ask(Uncordon("", laid))
    simulation.release_quarantine()
    simulation.trust_hops()
    simulation.schedule.run(_SETTLE)
    return _problems(simulation, leader)


def _repair(simulation: Simulation) -> None:
    simulation.store.refuses = False
    for fault in simulation.plant.faults.all():
        simulation.mend(fault.id)
    _one_leader(simulation)
    for agent in simulation.agents:
        agent.start()
        link = agent.link
        if link is not None:
            for direction in (link.up, link.down):
                direction.delay = USUAL_DELAY
                direction.doubled = False
                direction.release()


def _one_leader(simulation: Simulation) -> Controller:
    """One controller, that takes calls and has not been succeeded."""
    leader = simulation.leader
    for controller in simulation.controllers:
        if controller is not leader or controller.engine.state.deposed:
            controller.crash()
    if leader is not None and leader.alive:
        leader.resume()
        return leader
    simulation.start_controller()
    simulation.schedule.run(_DIAL_IN)
    return simulation.controllers[-1]


def _problems(simulation: Simulation, leader: Controller) -> list[str]:
    state = leader.engine.state
    problems = []
    if not state.settled:
        waiting = sorted(state.in_flight) + [state.nodes[position].name for position in sorted(state.owing)]
        problems.append(f"not at rest: {' '.join(waiting)}")
    across = _across(state)
    problems += [
        f"{node.name} is {node.verdict} and not usable: {node.judgement.reason}"
        for node in state.nodes
        if not node.usable and node.position not in across
    ]
    problems += [f"{node.name} is unconfirmed" for node in state.nodes if node.unconfirmed]
    problems += _unlit(simulation, state, across)
    for job in state.jobs.values():
        problems += _waiting(state, job, leader.now)
    return problems


def _across(state: State) -> set[int]:
    """Nodes of light that nobody knows and that lies across a ring: it is told, and left to a person."""
    order = state.planner.order
    strange = [node.position for node in state.nodes if node.carries_foreign_light]
    chains = [piece.chain for piece in pieces(state, strange) if piece.chain is not None]
    return {position for chain in chains if not order.has_room_for(chain) for position in chain}


def _unlit(simulation: Simulation, state: State, across: set[int]) -> list[str]:
    """Light against plan, GPU for GPU."""
    gpus = simulation.wiring.spec.gpus
    cycles = {canonical_cycle(cycle) for cycle in simulation.plant.trace().cycles}
    lit = {frozenset(cycle): cycle for cycle in cycles}
    problems = []
    for ring in state.rings.values():
        members = frozenset((position, gpu) for position in ring.chain for gpu in range(gpus))
        if ring.state is RingState.ACTIVE and lit.pop(members, None) is None:
            problems.append(f"{ring.name} is ACTIVE and not a cycle of light")
    for cycle in lit.values():
        nodes = sorted({position for position, _ in cycle})
        if len(nodes) > 1 and not across.issuperset(nodes):
            problems.append(f"light over {nodes} that belongs to no ring")
    return problems


def _waiting(state: State, job: JobRecord, now: float) -> list[str]:
    """Rings that wait although the planner, asked afresh, finds a place."""
    if job.active >= job.rings_wanted:
        return []
    plan = plan_job(state, job, now)
    problems = [
        f"{ring.name} is {ring.state}" for ring in job.rings if ring.state not in (RingState.ACTIVE, RingState.BROKEN)
    ]
    if plan.rings > job.active:
        problems.append(f"{job.name} has {job.active} rings, and {plan.rings} could be")
    return problems
