"""Planned changes are commit-confirmed: who still waits for a confirmation, and when it is given.

An agent undoes a planned change that nobody confirms. So every node that such a change touches is told to wait for a
confirmation, those that *leave* a ring included: should the controller die, the former ring comes back whole. When the
ring's new chain is proven, or when there will be none, all of them are told that what they have stands.
"""

from ringlight.controller.engine.effects import SendConfirm
from ringlight.controller.engine.overlays import end_drain
from ringlight.controller.engine.state import NodeRecord, Overlay, RingRecord, RingState, State


def confirm(state: State, node: NodeRecord) -> None:
    """Tell a node that its last change is proven, so that its agent does not undo it."""
    node.unconfirmed = False
    state.emit(SendConfirm(node.session, node.name, state.epoch, node.transaction))


def leave(state: State, node: NodeRecord, ring: RingRecord) -> None:
    """A planned change took a node out of a ring. Until it is proven, the ring may call the node back."""
    node.leaving = ring.name
    state.leaving.add(node.position)


def join(state: State, node: NodeRecord, ring: RingRecord) -> None:
    """A node becomes part of a ring, and leaves no other any more, nor is it audited."""
    node.ring = ring.name
    node.leaving = ""
    state.leaving.discard(node.position)
    state.audits.members.discard(node.position)


def leaving(state: State, job: str) -> list[NodeRecord]:
    """The nodes that are on their way out of the rings of a job, in fabric order."""
    nodes = (state.nodes[position] for position in sorted(state.leaving))
    return [node for node in nodes if node.leaving.rpartition("/")[0] == job]


def commit(state: State, ring: RingRecord) -> None:
    """The present chain of a ring is proven: it stands, and so does what the nodes have that left the ring."""
    if ring.planned:
        ring.planned = False
        for node in state.chain_nodes(ring):
            confirm(state, node)
    for node in leaving(state, ring.job):
        if node.leaving == ring.name:
            confirm_idle(state, node)
    let_go(state, ring.job)


def let_go(state: State, job: str) -> None:
    """When a job has come to rest it calls nobody back any more: who left is free, and drains are done.

    Not before: a ring that moved to make room may fail to come up, and need the node.
    """
    nodes = leaving(state, job)
    if not nodes or not _is_at_rest(state, job):
        return
    for node in nodes:
        node.leaving = ""
        state.leaving.discard(node.position)
        if node.overlay is Overlay.DRAINING:
            end_drain(state, node)
        confirm_idle(state, node)


def _is_at_rest(state: State, job: str) -> bool:
    """No ring of a job is being changed, or left broken until it may be."""
    record = state.jobs.get(job)
    waits = record is not None and any(ring.chain and ring.state is RingState.BROKEN for ring in record.rings)
    return not waits and not any(name.rpartition("/")[0] == job for name in state.in_flight)


def confirm_idle(state: State, node: NodeRecord) -> None:
    """A node whose former ring needs it no more keeps what it carried out last."""
    if node.ring or not node.unconfirmed or not node.session or node.answered < node.generation:
        return
    former = state.rings.get(node.leaving)
    if former is None or not former.planned:
        confirm(state, node)
