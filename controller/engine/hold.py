"""What keeps everything from moving: a pause, the breaker, or a later controller. Decided here, respected by planning.

While anything holds, verdicts go on and nothing is commanded. Afterwards the *present* state is looked at: what broke
and recovered meanwhile is nobody's business any more, and nothing is replayed.
"""

from ringlight.controller.engine.effects import Close, Persist, StoredHold
from ringlight.controller.engine.events import Pause
from ringlight.controller.engine.state import NodeRecord, Overlay, State
from ringlight.controller.health.breaker import allowance, newly_failed
from ringlight.fabric.errors import ConflictError, ErrorCode, RinglightError


def why_held(state: State) -> str:
    """Why nothing may move, in words; empty when everything may."""
    if state.deposed:
        return state.deposed
    if state.tripped is not None:
        return f"the breaker tripped: {state.tripped}"
    return f"paused: {state.paused}" if state.paused is not None else ""


def refuse_if_held(state: State) -> None:
    """Refuse a request that would move light.

    Raises:
        RinglightError: (`REFUSED`) something holds.
    """
    why = why_held(state)
    if not why:
        return
    hint = "look at `ringlight status` and `ringlight events`, then `ringlight breaker reset`"
    if state.deposed:
        hint = "ask the controller that took over, or restart this one to take over from it"
    elif state.tripped is None:
        hint = "`ringlight resume` ends the pause"
    raise RinglightError(f"nothing may move: {why}", hint=hint, code=ErrorCode.REFUSED)


def pause(state: State, request: Pause) -> None:
    """Observe, and change nothing."""
    reason = request.reason or "by an operator"
    if state.paused == reason:
        return
    state.paused = reason
    state.tell("paused", state.wiring.spec.name, f"{reason}; nothing moves until it is resumed")
    _keep(state)


def resume(state: State) -> None:
    """End a pause.

    Raises:
        ConflictError: there is none.
    """
    if state.paused is None:
        raise ConflictError("the controller is not paused", hint="`ringlight status` shows which gates are shut")
    state.paused = None
    state.tell("resumed", state.wiring.spec.name, "the present state is looked at afresh")
    _keep(state)
    look_afresh(state)


def reset_breaker(state: State) -> None:
    """A person has looked: let things move again.

    Raises:
        ConflictError: it has not tripped.
    """
    if state.tripped is None:
        raise ConflictError("the breaker has not tripped", hint="`ringlight status` shows which gates are shut")
    state.tripped = None
    state.new_failures.clear()
    state.tell("breaker-reset", state.wiring.spec.name, "the present state is looked at afresh")
    _keep(state)
    look_afresh(state)


def note_failure(state: State, node: NodeRecord, now: float) -> None:
    """A node newly failed, or did not do as told. Too many of those trip the breaker, before anything is planned."""
    if node.overlay is Overlay.MAINTENANCE:
        return
    settings = state.settings.breaker
    state.new_failures.append((now, node.position))
    while state.new_failures and state.new_failures[0][0] <= now - settings.window:
        state.new_failures.popleft()
    allowed = allowance(state.wiring.size, settings)
    failed = newly_failed(state.new_failures, now, settings)
    if failed <= allowed or state.tripped is not None:
        return
    state.tripped = (
        f"{failed} nodes newly failed within {settings.window:g} s, more than the {allowed} that are acted on unseen"
    )
    state.tell("breaker-tripped", state.wiring.spec.name, f"{state.tripped}; nothing moves until it is reset")
    _keep(state)


def depose(state: State, why: str) -> None:
    """A later controller took over: this one commands nothing any more, and lets go of its agents."""
    if state.deposed:
        return
    state.deposed = f"a later controller took over from this one, of epoch {state.epoch}: {why}"
    state.tell("deposed", state.wiring.spec.name, f"{state.deposed}; it commands nothing any more")
    for session in sorted(state.sessions):
        state.emit(Close(session, "a later controller took over"))


def look_afresh(state: State) -> None:
    """Judge every node and ring by what is there now."""
    state.capacity_grew = True
    state.dirty_nodes.update(range(state.wiring.size))
    state.dirty_rings.update(state.rings)


def _keep(state: State) -> None:
    state.emit(Persist(hold=stored_hold(state)))


def stored_hold(state: State) -> StoredHold:
    """Whether anything may move, as the store keeps it."""
    return StoredHold(state.paused, state.tripped)
