"""How long an agent has been silent, by the controller's own clock and its trust in itself."""

from ringlight.controller.engine.state import NodeRecord, State
from ringlight.controller.health.verdicts import Speech


def speech(state: State, node: NodeRecord, now: float) -> Speech:
    """How long a node's agent has been silent. While the self-doubt gate is shut, nobody is called silent."""
    settings = state.settings
    if not node.adopted:
        awaited = bool(state.doubts) or now < state.trusted_since + settings.confirm_seconds
        return Speech.AWAITED if awaited else Speech.SILENT
    if now - node.last_heard < settings.suspect_seconds:
        return Speech.SPEAKS
    if now - node.last_heard < settings.confirm_seconds:
        return Speech.SUSPECT
    if state.doubts:
        return Speech.DOUBTED
    return Speech.SUSPECT if silence(state, node, now) < settings.confirm_seconds else Speech.SILENT


def silence(state: State, node: NodeRecord, now: float) -> float:
    """Seconds of silence that count: those before the self-doubt gate opened last do not."""
    return now - max(node.last_heard, state.trusted_since)
