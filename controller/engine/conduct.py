"""What counts against a node: its failures and flaps, and quarantine when they are too many.

One episode counts once, however many faults it is made of and however often the controller restarts meanwhile: it is
over when the node speaks and is not FAILED, and not by its silence. What happens during maintenance counts for nothing,
even if it outlasts it.
"""

from collections.abc import Sequence

from ringlight.controller.engine.effects import Persist, StoredConduct
from ringlight.controller.engine.events import ReleaseQuarantine
from ringlight.controller.engine.hold import note_failure
from ringlight.controller.engine.overlays import named_nodes
from ringlight.controller.engine.state import NodeRecord, Overlay, State
from ringlight.controller.health.flapping import still_counting, suppressed_until, why_quarantine
from ringlight.controller.health.verdicts import Verdict

_MOST_TIMES = 32  # of a node, newest: more than any rule looks at
_SILENT = (Verdict.SUSPECT, Verdict.UNKNOWN, Verdict.UNREACHABLE)


def note_conduct(state: State, node: NodeRecord, former: Verdict, now: float) -> None:
    """A node's verdict changed: count what that says of it."""
    if node.verdict in _SILENT:
        return
    failed = node.verdict is Verdict.FAILED
    newly_failed = failed and not node.failing
    degraded = node.verdict is Verdict.DEGRADED and former in (Verdict.HEALTHY, Verdict.PROBATION)
    counts = (newly_failed or degraded) and node.overlay is not Overlay.MAINTENANCE
    if not counts and failed is node.failing:
        return
    node.failing = failed
    if counts and failed:
        node.failures = _counted(node.failures, state.settings.flap.faults_window, now)
        note_failure(state, node, now)
    if counts:
        node.flaps = _counted(node.flaps, state.settings.flap.flaps_window, now)
        _quarantine(state, node, now)
    _keep(state, node)


def _counted(times: Sequence[float], window: float, now: float) -> list[float]:
    return [*still_counting(times, window, now), now][-_MOST_TIMES:]


def _quarantine(state: State, node: NodeRecord, now: float) -> None:
    why = "" if node.quarantine else why_quarantine(node.failures, node.flaps, now, state.settings.flap)
    if why:
        node.quarantine = why
        state.tell("node-quarantined", node.name, f"{why}; no ring may take it until a person releases it")


def trusted_again_at(state: State, node: NodeRecord) -> float | None:
    """When the penalty of a node that flapped has worn off; None if it never lost so much trust."""
    return suppressed_until(node.flaps, state.settings.flap)


def release_quarantine(state: State, request: ReleaseQuarantine) -> None:
    """Trust nodes again: what counted against them is forgotten.

    Raises:
        RinglightError: no such node.
    """
    for node in named_nodes(state, request.nodes):
        if node.quarantine:
            state.tell("quarantine-released", node.name, f"was quarantined: {node.quarantine}")
        node.quarantine = ""
        node.failures, node.flaps = [], []
        state.dirty_nodes.add(node.position)
        _keep(state, node)


def restore_conduct(state: State, stored: StoredConduct) -> None:
    """Remember what counted against a node before a restart. Times that lie ahead, by a clock that was set, are now."""
    if not state.wiring.has_node(stored.node):
        return  # it is in the fabric file no more
    node = state.node(stored.node)
    # The breaker goes on counting: a controller that restarts again and again must not act without end.
    since = state.started_at - state.settings.breaker.window
    when_failed = (when - state.wall_offset for when in stored.failures)
    state.new_failures.extend((when, node.position) for when in when_failed if since < when <= state.started_at)
    node.failures = [min(when - state.wall_offset, state.started_at) for when in stored.failures]
    node.flaps = [min(when - state.wall_offset, state.started_at) for when in stored.flaps]
    node.failing = stored.failing
    node.quarantine = stored.quarantine
    # When it was well again is not on record: not before it failed last, and not before now if it was failing still.
    node.well_since = state.started_at if node.failing else max((*node.failures, *node.flaps), default=None)


def _keep(state: State, node: NodeRecord) -> None:
    state.emit(Persist(conduct=(stored_conduct(state, node),)))


def stored_conduct(state: State, node: NodeRecord) -> StoredConduct:
    """What counts against a node, as the store keeps it."""
    return StoredConduct(
        node.name,
        tuple(when + state.wall_offset for when in node.failures),
        tuple(when + state.wall_offset for when in node.flaps),
        node.failing,
        node.quarantine,
    )
