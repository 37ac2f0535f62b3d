"""Whether silence may be judged at this moment, and what happens when that changes.

The controller notices by its own timers that it stood still: one of them is always due within a heartbeat interval, so
a stall or a jump of the clock shows at the first event after it, before anything is concluded. What was to be answered
meanwhile gets its time anew, since the answers may be there and unread.
"""

from ringlight.controller.engine.state import RingState, State
from ringlight.controller.health import doubt

_PROMPT_AGAIN = 2  # heartbeat intervals without a stall until the loop is trusted again


def note_time(state: State, now: float) -> float:
    """Take notice of the time; what it is to be taken for, which never goes back."""
    due = state.agenda.next
    if now < state.now:
        _stall(state, state.now, f"the clock went back by {state.now - now:.1f} s")
        return state.now
    state.now = now
    interval = state.settings.heartbeat.interval
    if due is not None and now - due > state.settings.doubt.loop_lag * interval:
        _stall(state, now, f"the event loop stood still, or the clock jumped, for {now - due:.1f} s")
    return now


def keep_pulse(state: State, now: float) -> None:
    """Have something due within an interval, so that a stall shows."""
    state.agenda.put(("pulse", ""), now + state.settings.heartbeat.interval)


def _stall(state: State, now: float, what: str) -> None:
    if not state.stalled:  # a clock that stays behind would be told with every event
        state.tell("stalled", state.wiring.spec.name, f"{what}; silence is not judged for a moment")
    state.stalled = what
    state.stalled_until = now + _PROMPT_AGAIN * state.settings.heartbeat.interval
    state.agenda.put(("pulse", ""), state.stalled_until)
    for name in sorted(state.in_flight):
        ring = state.rings[name]
        if ring.deadline is not None:
            allowed = _allowed(state, ring.state)
            ring.deadline = max(ring.deadline, now + allowed + ring.allowance)
            state.agenda.put(("ring", name), ring.deadline)
    for position in sorted(state.owing):
        state.nodes[position].commanded_at = now


def _allowed(state: State, ring_state: RingState) -> float:
    change = state.settings.change
    return change.apply_timeout if ring_state is RingState.SWITCHING else change.light_timeout


def doubt_oneself(state: State, now: float) -> None:
    """Open or shut the gate by what is known now. When it opens, silence is counted from that moment."""
    if now >= state.stalled_until:
        state.stalled = ""
    situation = doubt.Situation(
        starting=not state.open,
        stalled=state.stalled,
        deaf=f"heartbeats come over a broker that is out of reach: {state.bus_lost}" if state.bus_lost else "",
        speaking=len(state.speaking),
        known=len(state.speaking) + len(state.quiet),
    )
    former, state.doubts = state.doubts, doubt.doubts(situation, state.settings.doubt)
    if former and not state.doubts:
        state.trusted_since = now
        state.dirty_nodes.update(node.position for node in state.nodes if node.position not in state.speaking)
        state.tell("gate-open", "silence", "silence is judged again, counted from now")
    elif state.doubts and not former:
        state.tell("gate-shut", "silence", f"silence is not judged: {'; '.join(state.doubts)}")
