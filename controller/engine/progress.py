"""From commands to proven light: what an answer means, and when a ring is ACTIVE.

A ring is ACTIVE only when every bundle of its chain was read back right and both ends of every hop see light. An end
that does not answer, or a hop that stays dark, is new evidence: the ring is damaged and planned again without it.
"""

from ringlight.controller.engine.assessment import kill_hop, note_light
from ringlight.controller.engine.commitment import commit, confirm_idle
from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.events import Applied
from ringlight.controller.engine.hold import depose, note_failure
from ringlight.controller.engine.speech import speech
from ringlight.controller.engine.state import NodeRecord, RingRecord, RingState, State, stored_hop, stored_ring
from ringlight.controller.health.verdicts import Speech
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.outcomes import WRONG, ApplyCode, BundleCode
from ringlight.fabric.wiring import Hop

_REFUSALS = {
    ApplyCode.STALE_EPOCH: "has obeyed a later controller",
    ApplyCode.STALE_GENERATION: "has applied a later generation",
    ApplyCode.UNKNOWN_NODE: "is not served by the agent that was told",
    ApplyCode.BAD_TABLE: "refused a table as impossible",
}


def take_answer(state: State, node: NodeRecord, answer: Applied, now: float) -> None:
    """Learn from an agent's answer. One to a command that was superseded only updates what was read."""
    node.observed = answer.circuits or node.observed
    note_light(state, node, answer.light, now)
    if answer.code is ApplyCode.REVERTED:
        node.unconfirmed = node.unconfirmed and answer.transaction != node.transaction
        state.strange_light |= state.light_waits
        state.agenda.put(("park", node.name), now)
        state.tell("reverted", node.name, f"returned to its former circuits: {answer.transaction} was not confirmed")
    if answer.generation != node.generation or answer.epoch != node.sent_epoch:
        return  # to a command that was replaced, or to one of another controller
    state.owing.discard(node.position)
    if answer.code is ApplyCode.STALE_EPOCH and answer.highest_epoch > state.epoch:
        depose(state, f"the agent of {node.name} has obeyed epoch {answer.highest_epoch}")
    if answer.code in _REFUSALS:
        node.unanswered = True
        text = f"{node.name} {_REFUSALS[answer.code]}: {answer.reason}"
        state.tell("refused", node.name, text, code=answer.code.name.lower().replace("_", "-"))
        return
    node.answered = answer.generation
    node.unanswered = answer.code is ApplyCode.FAILED and not WRONG & set(answer.bundles.values())
    if node.unanswered:
        # No bundle is to blame, so another command at once would only fail again.
        state.tell("no-answer", node.name, f"could not carry out generation {node.generation}: {answer.reason}")
    confirm_idle(state, node)
    _learn_findings(state, node, answer, now)


def _learn_findings(state: State, node: NodeRecord, answer: Applied, now: float) -> None:
    """A bundle that did not do as told is a fault of the node until it does."""
    for bundle, code in sorted(answer.bundles.items()):
        finding = f"switch:b{bundle}"
        if code in WRONG:
            text = "does not switch" if code is BundleCode.STUCK else "does not answer"
            fault = Fault(finding, f"b{bundle}", FaultClass.FATAL, f"bundle-{code.name.lower()}", text)
            if finding not in node.findings:
                state.tell("fault-opened", node.name, f"{fault.component}: {text}", id=finding, code=fault.code)
            node.findings[finding] = fault
        else:
            _close_finding(state, node, finding, now)


def close_findings(state: State, node: NodeRecord, now: float) -> None:
    """Every bundle was read as wanted, with or without a command: nothing is left to say against any of them."""
    for finding in sorted(node.findings):
        _close_finding(state, node, finding, now)


def _close_finding(state: State, node: NodeRecord, finding: str, now: float) -> None:
    fault = node.findings.pop(finding, None)
    if fault is not None:
        node.well_since = now
        state.tell("fault-closed", node.name, f"{fault.component} is read as wanted", id=finding)


def give_up_on(state: State, node: NodeRecord, now: float) -> None:
    """A node did not answer in time: plan without it until it speaks for itself."""
    note_failure(state, node, now)
    node.unanswered = True
    state.owing.discard(node.position)
    state.dirty_nodes.add(node.position)


def advance(state: State, ring: RingRecord, now: float) -> None:
    """Take an undamaged ring as far as the evidence goes."""
    if ring.state is RingState.BROKEN and ring.chain:
        _stand_again(state, ring, now)
    if ring.state is RingState.SWITCHING and all(node.in_place for node in state.chain_nodes(ring)):
        state.enter(ring, RingState.VERIFYING)
        ring.answered_at = now
        ring.deadline = now + state.settings.change.light_timeout + ring.allowance
        state.agenda.put(("ring", ring.name), ring.deadline)
    if ring.state is RingState.VERIFYING and _proven(state, ring):
        _activate(state, ring, now)


def _stand_again(state: State, ring: RingRecord, now: float) -> None:
    """What broke a ring has passed while nothing could be done about it: prove it anew where it lies."""
    state.enter(ring, RingState.SWITCHING)
    ring.sent_at = now
    ring.deadline = now + state.settings.change.apply_timeout + ring.allowance
    state.agenda.put(("ring", ring.name), ring.deadline)


def _proven(state: State, ring: RingRecord) -> bool:
    return all(node.in_place for node in state.chain_nodes(ring)) and not dark_hops(state, ring)


def dark_hops(state: State, ring: RingRecord) -> list[Hop]:
    """The hops of a ring that are not lit at both ends."""
    return [
        hop
        for hop in ring.hops
        if not all(
            state.nodes[port.position].light.get((port.bundle, port.path), False) for port in (hop.low, hop.high)
        )
    ]


def _activate(state: State, ring: RingRecord, now: float) -> None:
    began = ring.broken_at
    state.enter(ring, RingState.ACTIVE)
    ring.established = True
    for hop in ring.hops:
        if state.untested.pop(hop.key, None) is not None:
            state.emit(Persist(hops=(stored_hop(state, hop.key),)))
    ring.deadline = None
    ring.broken_at = None
    commit(state, ring)
    data = {"generation": str(ring.generation)}
    if ring.answered_at and ring.sent_at:
        data["reason"] = ring.reason
        data |= {
            "switch_seconds": f"{ring.answered_at - ring.sent_at:.6f}",
            "verify_seconds": f"{now - ring.answered_at:.6f}",
        }
    if began is not None and ring.answered_at:
        data["heal_seconds"] = f"{now - began:.6f}"
    ring.answered_at = 0.0
    state.emit(Persist(rings=(stored_ring(state.wiring, ring),)))
    state.tell("ring-active", ring.name, f"light proven on {len(ring.hops)} hops", **data)


def time_out(state: State, ring: RingRecord, now: float) -> None:
    """The present step took too long: whoever did not answer, or the hop that stayed dark, is the evidence.

    After a restart nobody owes an answer to a command of the former controller: an agent that has not dialled in yet
    is waited for, since its silence says nothing about its node (I7).
    """
    if ring.deadline is None or now < ring.deadline:
        return
    ring.deadline = None
    if ring.state is RingState.SWITCHING:
        for node in state.chain_nodes(ring):
            if not node.in_place and node.was_told:
                give_up_on(state, node, now)
                state.tell("no-answer", node.name, f"no answer to generation {node.generation} in time")
    elif ring.state is RingState.VERIFYING:
        for hop in dark_hops(state, ring):
            if all(speech(state, state.nodes[port.position], now) is Speech.SPEAKS for port in (hop.low, hop.high)):
                kill_hop(state, hop, "both ends select it, but no light arrived", now)
            else:  # an end that is not heard may see light by now: its silence is judged elsewhere
                ring.deadline = now + state.settings.change.light_timeout + ring.allowance
