"""What operators lay over nodes: `cordoned`, `draining`, `maintenance`. An overlay says nothing about a node's health.

A cordoned node is given to no ring; the ring that it is in stays, and goes on using it when it is laid anew. A
draining node is on its way out of its ring (see `drain`), and is cordoned or in maintenance when it is out.
Maintenance ends by itself, unless the node is cordoned meanwhile; every other overlay is lifted by an operator. The
store keeps them.
"""

from collections.abc import Sequence

from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.events import Cordon, Uncordon
from ringlight.controller.engine.state import NodeRecord, Overlay, State, stored_overlay
from ringlight.fabric.errors import InvalidError


def named_nodes(state: State, names: Sequence[str]) -> list[NodeRecord]:
    """The nodes of a request, in fabric order, each once.

    Raises:
        InvalidError: no node is named.
        NotFoundError: there is no node of such a name.
    """
    if not names:
        raise InvalidError("no node is named", hint="name at least one; `ringlight nodes` lists them")
    return sorted((state.node(name) for name in set(names)), key=lambda node: node.position)


def cordon(state: State, request: Cordon) -> None:
    """Keep nodes out of every ring that does not have them already, until they are uncordoned.

    One that is being drained goes on being drained, and maintenance that is under way does not end by itself any more.
    """
    for node in named_nodes(state, request.nodes):
        reason = request.reason or node.overlay_reason
        if node.overlay is None:
            state.cover(node, Overlay.CORDONED)
            ring = f"; {node.ring} keeps it" if node.ring else ""
            state.tell("node-cordoned", node.name, f"{reason or 'by an operator'}{ring}")
        elif node.maintenance_until is not None:
            node.maintenance_until = None
            state.tell("node-cordoned", node.name, f"{reason or 'by an operator'}; its maintenance has no end any more")
        elif reason == node.overlay_reason:
            continue
        node.overlay_reason = reason
        keep(state, node)


def uncordon(state: State, request: Uncordon) -> None:
    """Lift the overlays of nodes: rings may take them again as far as their verdicts allow.

    A ring that is just being laid without the node is not stopped by this.
    """
    for node in named_nodes(state, request.nodes):
        if node.overlay is None:
            continue
        state.tell("node-uncordoned", node.name, f"was {described(node)}")
        _settle(state, node, None, "")


def end_drain(state: State, node: NodeRecord) -> None:
    """A draining node is in no ring any more: it stays cordoned, or its maintenance begins."""
    until = node.maintenance_until
    if until is None:
        _settle(state, node, Overlay.CORDONED, node.overlay_reason or "drained")
        state.tell("node-drained", node.name, "is in no ring; cordoned until it is uncordoned")
        return
    _settle(state, node, Overlay.MAINTENANCE, node.overlay_reason, until)
    state.agenda.put(("maintenance", node.name), max(state.now, until))  # what is long overdue looks like a stall
    state.tell("node-maintenance", node.name, f"is in no ring; in maintenance for {max(0.0, until - state.now):.0f} s")


def end_maintenance(state: State, node: NodeRecord, now: float) -> None:
    """Maintenance that is over ends by itself, and what the node did meanwhile never counted."""
    if node.overlay is not Overlay.MAINTENANCE or node.maintenance_until is None:
        return
    if now < node.maintenance_until:  # it was prolonged
        state.agenda.put(("maintenance", node.name), node.maintenance_until)
        return
    _settle(state, node, None, "")
    state.tell("node-uncordoned", node.name, "its maintenance is over")


def stop_drain(state: State, node: NodeRecord, why: str) -> None:
    """A drain is given up: the node may serve its own ring again, and no other."""
    _settle(state, node, Overlay.CORDONED, f"drain given up: {why}")
    state.tell("node-drain-failed", node.name, f"given up, since a ring would be lost: {why}; cordoned")


def _settle(
    state: State, node: NodeRecord, overlay: Overlay | None, reason: str, maintenance_until: float | None = None
) -> None:
    """Whatever was under way with a node is over."""
    state.cover(node, overlay)
    node.overlay_reason = reason
    node.maintenance_until = maintenance_until
    node.drain_forced = False
    keep(state, node)


def keep(state: State, node: NodeRecord) -> None:
    """Have the store remember the overlay of a node."""
    state.emit(Persist(overlays=(stored_overlay(node, state.wall_offset),)))


def described(node: NodeRecord) -> str:
    """The overlay and its reason in words; empty without one."""
    if node.overlay is None:
        return ""
    return f"{node.overlay.value}: {node.overlay_reason}" if node.overlay_reason else node.overlay.value
