"""The cabling audit in the engine: whose nodes it may have, how its rounds are told to agents, and when it must yield.

An audit reserves idle nodes. They are given to no new ring meanwhile; but a ring that lost a node takes them as if
there was no audit, and the audit lets go of what was taken. It ends at once when something holds, or when silence may
not be judged, or when whoever asked is gone, and its nodes go back to loopback. There is one audit at a time.

Nothing is lit before the store has it that everything up to a certain generation is of the past (`spoken_for`): should
the controller die in the middle, its successor finds light that no ring explains, adopts none of it, and parks it.
When the audit is over no later change gets one of these generations.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from ringlight.controller.audit.audit import Ask, Audit, Lay, Look, Pace, Step
from ringlight.controller.engine.assessment import is_commandable, note_light
from ringlight.controller.engine.effects import AuditBegan, AuditOver, AuditProgress, Persist, SendQuestion, TellAudit
from ringlight.controller.engine.events import BeginAudit, Measured
from ringlight.controller.engine.hold import refuse_if_held, why_held
from ringlight.controller.engine.overlays import named_nodes
from ringlight.controller.engine.proposals import offer
from ringlight.controller.engine.repair import Change, command
from ringlight.controller.engine.state import AuditRecord, NodeRecord, Overlay, State
from ringlight.controller.health.verdicts import Verdict
from ringlight.fabric.errors import ConflictError, ErrorCode, RinglightError

_MOST_NAMED = 5  # nodes that are left out, in a message
_SPARE_GENERATIONS = 64  # for repairs and for nodes that leave, beyond four for each round


def begin_audit(state: State, request: BeginAudit, now: float) -> None:
    """Reserve nodes for an audit, or refuse it and change nothing. Nothing is lit before `go_ahead`.

    Raises:
        RinglightError: no such node; an audit is under way; or (`REFUSED`) a gate is shut, a node that was named
            carries a ring, or no fibre has both ends on idle nodes.
    """
    refuse_if_held(state)
    _refuse_in_doubt(state)
    if state.audits.under_way is not None:
        count = len(state.audits.members)
        raise ConflictError(f"an audit of {count} nodes is under way already", hint="wait until it is over")
    asked = named_nodes(state, request.nodes) if request.nodes else state.nodes
    _refuse_rings(asked if request.nodes else ())
    left_out = {node.name: why for node in asked if (why := _unfit(state, node, now) or _unready(node))}
    members = [node.position for node in asked if node.name not in left_out]
    settings = state.settings.audit
    pace = Pace(
        state.settings.change.apply_timeout, settings.settle, settings.look_timeout, state.settings.change.told_node
    )
    audit = Audit(state.wiring, members, pace)
    if not audit.rounds:
        named = ", ".join(f"{name} ({why})" for name, why in list(left_out.items())[:_MOST_NAMED])
        raise RinglightError(
            "there is nothing to audit: no fibre has both ends on idle, healthy nodes",
            hint=f"left out: {named}" if named else "name more nodes",
            code=ErrorCode.REFUSED,
        )
    last = state.generation + 4 * audit.rounds + _SPARE_GENERATIONS
    highest_loss = request.highest_loss or settings.highest_loss
    state.audits.under_way = AuditRecord(request.audit, audit, left_out, highest_loss, last)
    state.audits.members = set(members)
    state.audits.spoken_for = last
    state.reserve_generations(ahead_of=last)
    state.emit(Persist(generation=last))
    state.tell("audit-began", state.wiring.spec.name, f"{len(members)} nodes, {len(left_out)} left out")
    state.emit(TellAudit(request.audit, AuditBegan(_names(state, members), left_out, audit.rounds)))


def _refuse_in_doubt(state: State) -> None:
    if state.open and not state.doubts:
        return
    why = "; ".join(state.doubts) or "not every agent has dialled in since the controller started"
    raise RinglightError(f"silence may not be judged: {why}", hint="try again in a moment", code=ErrorCode.REFUSED)


def _refuse_rings(nodes: Sequence[NodeRecord]) -> None:
    busy = [node for node in nodes if node.ring]
    if busy:
        carried = ", ".join(f"{node.name} carries {node.ring}" for node in busy[:_MOST_NAMED])
        hint = "drain them first, or leave --nodes out to audit whatever is idle"
        raise RinglightError(f"{carried}: a ring is not touched", hint=hint, code=ErrorCode.REFUSED)


def _unfit(state: State, node: NodeRecord, now: float) -> str:
    """Why an audit may not have a node, in words; empty when it may."""
    if node.ring or node.leaving:
        return f"carries {node.ring}" if node.ring else f"is on its way out of {node.leaving}"
    if node.verdict is not Verdict.HEALTHY:
        return f"is {node.verdict.value}"
    if node.overlay in (Overlay.MAINTENANCE, Overlay.DRAINING) or node.quarantine:
        return (
            "is in quarantine"
            if node.quarantine
            else f"is {'draining' if node.overlay is Overlay.DRAINING else 'in maintenance'}"
        )
    if not is_commandable(state, node, now):
        return "did not carry out its last command" if node.unanswered else "its agent is silent"
    return "selects lit fibres that no ring of ours asks for" if node.carries_foreign_light else ""


def _unready(node: NodeRecord) -> str:
    """Why an audit cannot begin with a node that it may have."""
    return "" if node.in_place and not node.unconfirmed else "is not back in loopback yet"


def go_ahead(state: State, name: str, change: Change, now: float) -> None:
    """That the audit begins is on record: light the first fibres."""
    record = state.audits.under_way
    if record is not None and record.name == name:
        _carry_out(state, record, record.audit.begin(now), change, now)


def end_audit(state: State, name: str, why: str, change: Change, now: float) -> None:
    """Whoever asked for an audit does not want it any more."""
    if state.audits.under_way is not None and state.audits.under_way.name == name:
        _end(state, state.audits.under_way, why, change, now)


def take_look(state: State, node: NodeRecord, event: Measured, now: float) -> None:
    """An agent said where light is, in answer to a question of ours."""
    if event.circuits:
        note_light(state, node, event.light, now)
    record = state.audits.under_way
    if record is not None and event.question == record.question:
        record.looks[node.position] = Look(event.circuits, event.light, event.powers)


def follow_audit(state: State, touched: Collection[int], change: Change, now: float) -> None:
    """Take the audit as far as it goes: called in every step, after repairs took what they need.

    Args:
        state: of the engine.
        touched: positions of nodes of which something was heard in this step.
        change: under construction.
        now: seconds of the engine's clock.
    """
    record = state.audits.under_way
    if record is None:
        return
    why = why_held(state) or "; ".join(state.doubts)
    if why:
        _end(state, record, why, change, now)
        return
    audit = record.audit
    taken = {at: f"was needed by {state.nodes[at].ring}" for at in audit.members - state.audits.members}
    unfit = {at: why for at in audit.members.intersection(touched) if (why := _unfit(state, state.nodes[at], now))}
    if taken or unfit:
        _carry_out(state, record, audit.leave({**unfit, **taken}, now), change, now)
    for position in sorted(audit.members.intersection(touched)):
        _look_at(state, record, position, change, now)
    _carry_out(state, record, audit.tick(now), change, now)


def _look_at(state: State, record: AuditRecord, position: int, change: Change, now: float) -> None:
    if position not in record.audit.waiting:
        return
    look = record.looks.pop(position, None)
    if look is not None:
        _carry_out(state, record, record.audit.seen(position, look, now), change, now)
    elif state.nodes[position].in_place:
        _carry_out(state, record, record.audit.answered(position, now), change, now)


def _carry_out(state: State, record: AuditRecord, steps: Sequence[Step], change: Change, now: float) -> None:
    """Tell agents what follows, release who is out, and say how far it is."""
    audit = record.audit
    if state.audits.under_way is not record:
        return
    for position in sorted(audit.left.keys() & state.audits.members):
        _release(state, state.nodes[position], change, now)
    if any(isinstance(step, Lay) for step in steps) and change.generation > state.audits.spoken_for:
        _end(state, record, "too much else changed meanwhile", change, now)
        return
    for step in steps:
        if isinstance(step, Lay):
            _lay(state, step, change, now)
        else:
            _ask(state, record, step)
    if audit.done > record.told:
        record.told = audit.done
        state.emit(TellAudit(record.name, AuditProgress(audit.done, audit.rounds)))
    if audit.is_over:
        _end(state, record, "" if audit.members else "every node left it", change, now)
    elif audit.deadline is not None:
        state.agenda.put(("audit", ""), audit.deadline)


def _lay(state: State, step: Lay, change: Change, now: float) -> None:
    for position, table in step.tables.items():
        state.nodes[position].desired = table
        command(state, state.nodes[position], change, now)


def _ask(state: State, record: AuditRecord, step: Ask) -> None:
    state.audits.questions += 1
    record.question = state.audits.questions
    record.looks.clear()
    for position in step.positions:
        node = state.nodes[position]
        state.emit(SendQuestion(node.session, node.name, record.question))


def _end(state: State, record: AuditRecord, why: str, change: Change, now: float) -> None:
    """The audit is over, or broken off for a reason: its nodes are idle again."""
    audit = record.audit
    state.audits.under_way = None
    for position in sorted(state.audits.members):
        _release(state, state.nodes[position], change, now)
    left = {state.wiring.name(position): left for position, left in sorted(audit.left.items())}
    found = None if why else audit.report(record.highest_loss)
    state.emit(TellAudit(record.name, AuditOver(left, found, why)))
    findings = len(found.findings) if found is not None else 0
    text = f"broken off in round {audit.done + 1} of {audit.rounds}: {why}" if why else f"{findings} findings"
    state.tell("audit-ended", state.wiring.spec.name, text, findings=str(findings))
    state.capacity_grew = True


def _release(state: State, node: NodeRecord, change: Change, now: float) -> None:
    """A node is audited no more: it goes back to loopback, unless a ring has it."""
    state.audits.members.discard(node.position)
    state.dirty_nodes.add(node.position)
    if node.ring:
        return
    former, node.desired = node.desired, state.wiring.loopback
    if former == node.desired and node.in_place:
        return
    if why_held(state):
        state.agenda.put(("park", node.name), now + state.settings.change.retry_interval)
    else:
        command(state, node, change, now)


def close_numbers(state: State) -> None:
    """Once an audit is over, what comes next is not of the past that was recorded for it."""
    if state.audits.under_way is None and state.generation < state.audits.spoken_for:
        state.generation = state.audits.spoken_for
        state.reserve_generations()


@contextmanager
def withheld(state: State, now: float) -> Iterator[None]:
    """Whatever is planned in here gets no node that is audited."""
    for position in state.audits.members:
        state.planner.order.set_usable(position, usable=False)
    try:
        yield
    finally:
        for position in state.audits.members:
            offer(state, state.nodes[position], now)


def _names(state: State, positions: Sequence[int]) -> tuple[str, ...]:
    return tuple(state.wiring.name(position) for position in positions)
