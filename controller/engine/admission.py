"""Who may speak: the check of an agent's hello, and what the controller learns from it.

A hello that can never be right is refused with an `InvalidError` (its agent must not retry), one that collides with a
live session with a `ConflictError` (it may, for a while). A refused hello changes nothing.
"""

from ringlight.controller.engine.events import AgentHello
from ringlight.controller.engine.state import SessionRecord, State
from ringlight.fabric.errors import ConflictError, InvalidError
from ringlight.fabric.inventory import difference, inventory_of
from ringlight.fabric.protocol import PROTOCOL, SILENT_INTERVALS


def check_hello(state: State, hello: AgentHello, now: float) -> None:
    """Refuse a hello that does not fit this fabric or collides with a live session.

    Raises:
        InvalidError: wrong protocol, fabric, nodes or cabling.
        ConflictError: the agent id or a node belongs to another live session.
    """
    _check_identity(state, hello)
    _check_nodes(state, hello)
    _check_sessions(state, hello, now)


def _check_identity(state: State, hello: AgentHello) -> None:
    fabric = state.wiring.spec.name
    if hello.protocol != PROTOCOL:
        raise InvalidError(
            f"agent {hello.agent!r} speaks protocol {hello.protocol}, this controller speaks {PROTOCOL}",
            hint="run the same release of Ringlight on the controller and on every node",
        )
    if hello.fabric != fabric:
        raise InvalidError(
            f"agent {hello.agent!r} serves fabric {hello.fabric!r}, this controller runs fabric {fabric!r}",
            hint="check the agent's controller address, or the name in its fabric file",
        )
    if not hello.agent or not hello.nodes:
        raise InvalidError("an agent needs an id and at least one node", hint="start it with --id and --node")


def _check_nodes(state: State, hello: AgentHello) -> None:
    seen: set[str] = set()
    for node in hello.nodes:
        if not state.wiring.has_node(node.node):
            raise InvalidError(
                f"agent {hello.agent!r} serves node {node.node!r}, which fabric {hello.fabric!r} does not have",
                hint="correct the agent's --node, or add the node to the controller's fabric file and restart it",
            )
        if node.node in seen:
            raise InvalidError(f"agent {hello.agent!r} lists node {node.node!r} twice", hint="name each node once")
        seen.add(node.node)
        wanted = inventory_of(state.wiring, state.wiring.position(node.node))
        mismatch = difference(wanted, node.inventory)
        if mismatch:
            raise InvalidError(
                f"node {node.node!r}: the agent's inventory differs from the fabric file: {mismatch}",
                hint="make the cabling and both fabric files agree; nothing is switched until they do",
            )
        if len(node.circuits) != state.wiring.bundles:
            raise InvalidError(
                f"node {node.node!r}: {len(node.circuits)} bundles read, {state.wiring.bundles} expected",
                hint="the agent's driver must report every bundle of the node",
            )


def _check_sessions(state: State, hello: AgentHello, now: float) -> None:
    former = state.sessions.get(state.session_of_agent.get(hello.agent, ""))
    if former is not None and former.agent_boot != hello.agent_boot and is_live(state, former, now):
        raise ConflictError(
            f"agent id {hello.agent!r} has a live session already",
            hint="give each agent its own --id; after a crash the old session ends by itself within "
            f"{SILENT_INTERVALS} heartbeats",
        )
    for node in hello.nodes:
        other = state.sessions.get(state.node(node.node).session)
        if other is not None and other.agent != hello.agent and is_live(state, other, now):
            raise ConflictError(
                f"node {node.node!r} is served by agent {other.agent!r} already",
                hint="stop one of the two agents; a node has exactly one",
            )


def is_live(state: State, session: SessionRecord, now: float) -> bool:
    """Whether anything was heard on a session lately."""
    heard = max(state.node(name).last_heard for name in session.nodes)
    return now - heard < SILENT_INTERVALS * state.settings.heartbeat.interval
