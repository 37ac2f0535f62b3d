"""The faults of a node: a set that opens and closes by id, each ruled on by the GPU policy, again when time says so.

A burst in one ring is one incident: its first fault is the cause, and faults of other nodes that can be consequences
are laid to it for a while (`health.incidents`).
"""

from dataclasses import replace

from ringlight.controller.engine.state import NodeRecord, ReportedFault, State
from ringlight.controller.health.gpu_policy import (
    Circumstances,
    Seen,
    cancelled_by,
    is_of_gpus,
    may_be_consequence,
    rule,
    xid_of,
)
from ringlight.controller.health.incidents import Incident
from ringlight.fabric.circuits import HEALTH_FEED_LOST, Fault, FaultClass

_MOST_SEEN = 64  # XIDs of a node that are remembered, newest


def take_faults(state: State, node: NodeRecord, faults: tuple[Fault, ...], now: float) -> None:
    """A hello holds every open fault: whatever is not in it has closed meanwhile.

    Except for faults of GPUs when the agent hears nothing about them: it may have been restarted, and know of none.
    """
    open_now = {fault.id: fault for fault in faults}
    is_blind = any(fault.code == HEALTH_FEED_LOST for fault in faults)
    for fault_id in sorted(open_now):
        known = node.reported.get(fault_id)
        if known is None or known.said != open_now[fault_id]:
            open_fault(state, node, open_now[fault_id], now)
        else:
            node.reported[fault_id] = replace(known, remembered=False)
    for fault_id in sorted(node.reported.keys() - open_now.keys()):
        known = node.reported.get(fault_id)
        if known is not None and is_blind and is_of_gpus(known.said):
            node.reported[fault_id] = replace(known, remembered=True)
        else:
            close_fault(state, node, fault_id, now)


def open_fault(state: State, node: NodeRecord, fault: Fault, now: float) -> None:
    """A fault joins the set. One that is reported again under the same id is what it was reported to be last."""
    former = node.reported.get(fault.id)
    opened_at = former.opened_at if former is not None else now
    xid = xid_of(fault)
    if xid is not None and (former is None or former.said.code != fault.code):
        node.seen = [*node.seen, Seen(now, fault.component, xid)][-_MOST_SEEN:]
    cancelled = cancelled_by(fault)
    for other in [one.said for one in node.reported.values() if cancelled and not one.taken_back]:
        if other.code == cancelled and other.component == fault.component:
            _take_back(state, node, other.id, now)
    node.reported[fault.id] = ReportedFault(fault, opened_at, fault)
    _rule_on(state, node, fault.id, now)
    ruled = node.reported[fault.id].ruled
    state.tell(
        "fault-opened",
        node.name,
        f"{ruled.component}: {ruled.text or ruled.code}",
        id=ruled.id,
        code=ruled.code,
        fault_class=ruled.fault_class.name,
    )


def close_fault(state: State, node: NodeRecord, fault_id: str, now: float) -> None:
    """A fault leaves the set; one that is not in it is none of our business."""
    gone = node.reported.pop(fault_id, None)
    if gone is None or gone.taken_back:
        return
    _be_over(state, node, gone, "works again", now)
    if gone.said.code == HEALTH_FEED_LOST:  # all that is open was named again by now
        for other_id in sorted(node.reported):
            if node.reported[other_id].remembered:
                close_fault(state, node, other_id, now)


def _take_back(state: State, node: NodeRecord, fault_id: str, now: float) -> None:
    """A fault counts no more. It is kept until its agent closes it: each hello names it until then."""
    reported = node.reported[fault_id]
    node.reported[fault_id] = replace(reported, taken_back=True)
    _be_over(state, node, reported, "took it back", now)


def _be_over(state: State, node: NodeRecord, reported: ReportedFault, how: str, now: float) -> None:
    if reported.ruled.fault_class is not FaultClass.INFO:
        node.well_since = now
    fault = reported.said
    state.tell("fault-closed", node.name, f"{fault.component} {how}", id=fault.id, code=fault.code)


def rule_again(state: State, node: NodeRecord, now: float) -> None:
    """Time has passed: what was put off, or given time, is looked at again."""
    for fault_id in sorted(fault_id for fault_id, one in node.reported.items() if not one.taken_back):
        before = node.reported[fault_id].ruled
        _rule_on(state, node, fault_id, now)
        after = node.reported[fault_id].ruled
        if after.fault_class is not before.fault_class:
            text = f"{after.component}: {after.text}; {before.fault_class.name} -> {after.fault_class.name}"
            state.tell("fault-ruled", node.name, text, id=fault_id, fault_class=after.fault_class.name)
    state.dirty_nodes.add(node.position)


def _rule_on(state: State, node: NodeRecord, fault_id: str, now: float) -> None:
    """Work out how grave a fault is now, and open an incident if it is the first of a burst."""
    reported = node.reported[fault_id]
    settings = state.settings.gpu
    incident = _incident(state, node, reported)
    ruling = rule(
        reported.said,
        Circumstances(
            reported.opened_at,
            node.seen,
            node.commanded_at if node.sent else None,
            incident.opened_at + state.settings.health.burst_window if incident is not None else None,
        ),
        now,
        settings,
    )
    ruled = replace(reported.said, fault_class=ruling.fault_class, text=ruling.reason)
    node.reported[fault_id] = replace(reported, ruled=ruled)
    if ruling.look_again_at is not None:
        state.agenda.put(("fault", node.name), ruling.look_again_at)
    if incident is None and ruling.fault_class is not FaultClass.INFO:
        open_incident(state, node.ring, node.name, reported.opened_at)


def _incident(state: State, node: NodeRecord, reported: ReportedFault) -> Incident | None:
    """The incident of its ring that explains a fault."""
    incident = state.incidents.get(node.ring)
    if incident is None:
        return None
    explained = incident.explains(
        node.name,
        reported.opened_at,
        may_be_consequence=may_be_consequence(reported.said, state.settings.gpu),
        window=state.settings.health.burst_window,
    )
    return incident if explained else None


def open_incident(state: State, ring: str, cause: str, now: float) -> None:
    """The first grave fault in a ring for a while is the cause of what follows within the burst window."""
    former = state.incidents.get(ring)
    if not ring or (former is not None and now < former.opened_at + state.settings.health.burst_window):
        return
    state.incidents_opened += 1
    state.incidents[ring] = Incident(f"i{state.incidents_opened}", ring, cause, now)
