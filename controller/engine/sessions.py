"""Agents that come and go: welcome one, take over what it read from its hardware, let it go.

Losing a session says nothing about a node (I7): only the time since the node was last heard counts, and what its
neighbours see. The first hello after a start changes no circuit (I6).
"""

from ringlight.controller.engine.admission import check_hello
from ringlight.controller.engine.assessment import note_light
from ringlight.controller.engine.commitment import confirm
from ringlight.controller.engine.effects import Admit, Close, Persist, Refuse
from ringlight.controller.engine.events import AgentHello, NodeHello
from ringlight.controller.engine.faults import take_faults
from ringlight.controller.engine.hold import depose, why_held
from ringlight.controller.engine.repair import Change, command, needs_parking
from ringlight.controller.engine.state import NodeRecord, RingState, SessionRecord, State
from ringlight.fabric.errors import RinglightError, UnavailableError

_REDIAL = "its agent dialled again"


def welcome(state: State, hello: AgentHello, change: Change, now: float) -> None:
    """Admit an agent and take over what it found, or refuse it and change nothing."""
    try:
        _refuse_if_deposed(state, hello)
        check_hello(state, hello, now)
    except RinglightError as error:
        state.emit(Refuse(hello.session, error))
        state.tell("agent-refused", hello.agent or "agent", f"{error} ({error.hint})", code=error.code)
        return
    former = {state.session_of_agent.get(hello.agent, "")} | {state.node(node.node).session for node in hello.nodes}
    for session in sorted(former & state.sessions.keys()):
        state.emit(Close(session, _REDIAL))
        lose(state, session, _REDIAL)
    _outrank(state, hello, change)
    names = tuple(node.node for node in hello.nodes)
    state.sessions[hello.session] = SessionRecord(hello.session, hello.agent, hello.agent_boot, names)
    state.session_of_agent[hello.agent] = hello.session
    state.emit(Admit(hello.session, state.epoch, state.settings.heartbeat.interval))
    state.tell("agent-connected", hello.agent, f"serves {len(names)} nodes", nodes=" ".join(names))
    for node_hello in hello.nodes:
        _adopt(state, hello.session, node_hello, change, now)


def _refuse_if_deposed(state: State, hello: AgentHello) -> None:
    """Agents belong to the controller of the highest epoch.

    One that is starting, or that nobody dialled yet, may be a controller whose store was lost, and outranks what its
    agents have seen. For any other a higher epoch means that another controller took over.

    Raises:
        UnavailableError: the agent should dial again, and find that other one.
    """
    serves = state.has_commanded or (state.open and bool(state.known_agents))
    if hello.highest_epoch > state.epoch and serves:
        depose(state, f"agent {hello.agent} has obeyed epoch {hello.highest_epoch}")
    if state.deposed:
        raise UnavailableError(
            f"this controller is not in charge any more: {state.deposed}",
            hint="stop it, or restart it to take over",
        )


def _outrank(state: State, hello: AgentHello, change: Change) -> None:
    """Agents obey no lower epoch or generation than they have seen: a store that was lost must not silence us."""
    unheard_of = hello.agent not in state.known_agents  # one that we never told our epoch has it from somebody else
    state.known_agents.add(hello.agent)
    if hello.highest_epoch > state.epoch or (unheard_of and hello.highest_epoch == state.epoch):
        state.epoch = hello.highest_epoch + 1
        state.emit(Persist(epoch=state.epoch))
        text = f"agent {hello.agent} has obeyed epoch {hello.highest_epoch}; this controller now has {state.epoch}"
        state.tell("epoch-raised", state.wiring.spec.name, text, epoch=str(state.epoch))
    applied = max(node.applied_generation for node in hello.nodes)
    if applied > state.generation:
        state.generation = applied
        change.generation = applied + 1  # also what follows in this very step
        state.reserve_generations()


def _adopt(state: State, session: str, hello: NodeHello, change: Change, now: float) -> None:
    """Take over what the hardware says."""
    node = state.node(hello.node)
    if not node.adopted:
        node.is_foreign = not 0 < hello.applied_generation <= state.recorded_generation
        state.strange_light |= state.light_waits
    rebooted = node.hardware_boot not in ("", hello.hardware_boot)
    node.session = session
    node.adopted = True
    node.hardware_boot = hello.hardware_boot
    node.observed = hello.circuits
    node.answered = node.generation
    node.unanswered = False
    node.unconfirmed = False
    state.owing.discard(node.position)
    take_faults(state, node, hello.faults, now)
    node.light.clear()
    note_light(state, node, hello.light, now)
    if rebooted:
        node.well_since = now
        state.tell("node-rebooted", node.name, "its hardware lost power and came back")
    if hello.unconfirmed:
        _take_unconfirmed(state, node, hello.unconfirmed)
    hear(state, node, now)
    state.dirty_nodes.add(node.position)
    if needs_parking(node) and not state.open:
        state.tell("drift", node.name, "selects fibres that no ring wants; left so, since the controller just started")
        state.agenda.put(("park", node.name), now + state.settings.change.retry_interval)
    else:
        park(state, node, change, now)


def _take_unconfirmed(state: State, node: NodeRecord, transaction: str) -> None:
    """A planned change still waits for its confirmation: the last one was lost, or its controller is gone."""
    node.transaction = transaction
    node.unconfirmed = True
    if not node.in_place:
        return  # nobody wants what it has: let it go back
    ring = state.rings.get(node.ring or node.leaving)
    if ring is None or ring.state is RingState.ACTIVE:
        confirm(state, node)
    else:
        ring.planned = True


def hear(state: State, node: NodeRecord, now: float) -> None:
    """The node's agent spoke for it. For one that speaks anyhow that changes nothing by itself."""
    node.last_heard = now
    node.witness = ""
    node.probed_at = None
    if node.position not in state.speaking:
        state.dirty_nodes.add(node.position)


def park(state: State, node: NodeRecord, change: Change, now: float) -> None:
    """Bring an idle node back to loopback, if it needs it, that is safe, and anything may move."""
    if not needs_parking(node) or node.position in state.audits.members:
        return
    if why_held(state):
        state.agenda.put(("park", node.name), now + state.settings.change.retry_interval)
    else:
        state.tell("parking", node.name, "back to loopback: it selects fibres that no ring wants")
        command(state, node, change, now)


def lose(state: State, session: str, reason: str) -> None:
    """A session ended."""
    record = state.sessions.pop(session, None)
    if record is None:
        return
    state.session_of_agent.pop(record.agent, None)
    for name in record.nodes:
        node = state.node(name)
        node.session = ""
        state.owing.discard(node.position)
        state.dirty_nodes.add(node.position)
    state.tell("agent-lost", record.agent, reason, nodes=" ".join(record.nodes))
