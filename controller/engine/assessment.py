"""From what was heard and seen to what is believed: evidence is gathered here, judged in `controller.health`.

Every change of belief is told, with its reason, and every waiting period is put on the agenda, so that time alone
brings the next judgement.
"""

from collections.abc import Mapping

from ringlight.controller.engine.causes import Cause, Reason
from ringlight.controller.engine.conduct import note_conduct, trusted_again_at
from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.events import TrustHops
from ringlight.controller.engine.faults import open_incident
from ringlight.controller.engine.hold import why_held
from ringlight.controller.engine.speech import silence, speech
from ringlight.controller.engine.state import NodeRecord, Overlay, RingRecord, RingState, State, stored_hop
from ringlight.controller.engine.witnesses import ask_probe, testimony
from ringlight.controller.health.hops import EndEvidence, HopState, judge_hop
from ringlight.controller.health.verdicts import (
    Evidence,
    Ground,
    Judgement,
    NeighbourLight,
    Speech,
    Verdict,
    judge,
)
from ringlight.fabric.circuits import FaultClass, PortKey
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.wiring import Hop


def note_speech(state: State, node: NodeRecord, now: float) -> Speech:
    """Count a node among those that speak or those that are quiet, if it is one that should be heard."""
    spoken = speech(state, node, now)
    state.speaking.discard(node.position)
    state.quiet.discard(node.position)
    away = node.overlay is Overlay.MAINTENANCE or (node.overlay is Overlay.CORDONED and not node.ring)
    missed = node.verdict is not Verdict.FAILED and not away
    if missed and (node.adopted or node.ring):
        (state.speaking if spoken is Speech.SPEAKS else state.quiet).add(node.position)
    return spoken


def assess_node(state: State, node: NodeRecord, now: float) -> None:
    """Judge a node anew, and tell when the verdict changed."""
    former = node.judgement
    spoken = speech(state, node, now)
    if former.verdict is Verdict.FAILED and spoken is Speech.SPEAKS and Ground.SILENCE in former.grounds:
        node.well_since = now
    probation_ends = _probation_ends(state, node)
    node.judgement = judge(_evidence(state, node, spoken, now))
    (state.failed.add if node.verdict is Verdict.FAILED else state.failed.discard)(node.position)
    note_speech(state, node, now)
    _come_back(state, node, now, probation_ends)
    ask_probe(state, node, now)
    if node.judgement.verdict is former.verdict:
        return
    state.tell(
        "verdict",
        node.name,
        f"{former.verdict} -> {node.verdict}: {node.judgement.reason}",
        verdict=node.verdict,
        former=former.verdict,
        grounds=_ground_names(node.judgement),
        **_detection(state, node, now),
    )
    if node.verdict is Verdict.FAILED:
        open_incident(state, node.ring, node.name, now)
    note_conduct(state, node, former.verdict, now)


def _detection(state: State, node: NodeRecord, now: float) -> dict[str, str]:
    """By which evidence a failure was found, and how long after that began."""
    if node.verdict is not Verdict.FAILED:
        return {}
    grounds = node.judgement.grounds
    decisive = next((ground for ground in _DECISIVE if ground in grounds), Ground.SILENCE)
    began = max(node.last_heard, state.trusted_since)
    if decisive is Ground.REPORT:
        fatal = (one for one in node.reported.values() if one.ruled.fault_class is FaultClass.FATAL)
        began = min((one.opened_at for one in fatal), default=now)
    return {"evidence": decisive.name.lower(), "detection_seconds": f"{now - began:.6f}"}


_DECISIVE = (Ground.REPORT, Ground.DARKNESS, Ground.WITNESS, Ground.RULE)  # what makes a failure of a silence


def _evidence(state: State, node: NodeRecord, spoken: Speech, now: float) -> Evidence:
    light = _light_of(state, node, now)
    limit = state.settings.health.unreachable_bypass_after
    return Evidence(
        speech=spoken,
        faults=node.faults,
        light=light,
        failed_on=node.judgement.grounds if node.verdict is Verdict.FAILED else frozenset(),
        witness="" if spoken is Speech.SPEAKS else testimony(state, node, now),
        overdue=bool(limit and node.ring) and silence(state, node, now) >= limit,
        probation=_why_probation(state, node, now),
    )


def _why_probation(state: State, node: NodeRecord, now: float) -> str:
    trusted_again = trusted_again_at(state, node)
    if trusted_again is not None and now < trusted_again:
        return "well again, but it failed too often lately to be trusted yet"
    ends = _probation_ends(state, node)
    return "well again, waiting out its probation" if ends is not None and now < ends else ""


def _ground_names(judgement: Judgement) -> str:
    return ",".join(sorted(ground.name.lower() for ground in judgement.grounds))


def rests_on_silence_alone(judgement: Judgement) -> bool:
    """Whether nothing but silence and waiting speaks for a judgement (I7)."""
    return judgement.grounds <= {Ground.SILENCE, Ground.TIME}


def _probation_ends(state: State, node: NodeRecord) -> float | None:
    if node.well_since is None or _grave(node):
        return None
    return node.well_since + state.settings.health.probation


def _grave(node: NodeRecord) -> bool:
    return any(fault.fault_class is not FaultClass.INFO for fault in node.faults)


def _come_back(state: State, node: NodeRecord, now: float, probation_ends: float | None) -> None:
    """Put the next moment at which time alone changes the judgement on the agenda."""
    settings = state.settings
    counted_from = max(node.last_heard, state.trusted_since)
    moments = [node.last_heard + settings.suspect_seconds, counted_from + settings.confirm_seconds]
    if settings.health.unreachable_bypass_after and node.ring:
        moments.append(counted_from + settings.health.unreachable_bypass_after)
    moments += [moment for moment in (probation_ends, trusted_again_at(state, node)) if moment is not None]
    later = [moment for moment in moments if moment > now]
    if later:
        state.agenda.put(("node", node.name), min(later))


def _light_of(state: State, node: NodeRecord, now: float) -> NeighbourLight:
    """What speaking neighbours say of a node's light over the hops of its ring."""
    ring = state.rings.get(node.ring)
    if ring is None or not ring.hops:
        return NeighbourLight.NONE_EXPECTED
    votes = []
    for hop in ring.hops:
        if node.position not in (hop.low.position, hop.high.position):
            continue
        port = hop.far(node.position)
        witness = state.nodes[port.position]
        if not (witness.session and speech(state, witness, now) is Speech.SPEAKS):
            continue
        key = (port.bundle, port.path)
        # In a ring that was caught by a restart in the middle of a change, light was perhaps never there to be lost.
        dark = key in witness.dark_since if ring.established else witness.in_place and not node.was_told
        if witness.light.get(key, False):
            votes.append(NeighbourLight.PRESENT)
        elif dark:
            votes.append(NeighbourLight.DARK)
    if not votes:
        return NeighbourLight.NO_WITNESS
    return NeighbourLight.PRESENT if NeighbourLight.PRESENT in votes else NeighbourLight.DARK


def note_light(state: State, node: NodeRecord, changed: Mapping[PortKey, bool], now: float) -> None:
    """Take over a node's word on its light. Only an established circuit that goes dark is evidence."""
    ring = state.rings.get(node.ring)
    state.strange_light |= node.is_foreign
    for key, lit in changed.items():
        bundle, path = key
        node.light[key] = lit
        if lit:
            node.dark_since.pop(key, None)
        elif ring is not None and ring.established and bundle < len(node.desired) and node.desired[bundle] is path:
            node.dark_since.setdefault(key, now)


def assess_hops(state: State, ring: RingRecord, now: float) -> None:
    """Judge the hops of an established ring that lost light somewhere."""
    if not ring.established or ring.state is RingState.SWITCHING:
        return
    for hop in ring.hops:
        low, high = state.nodes[hop.low.position], state.nodes[hop.high.position]
        if Verdict.FAILED in (low.verdict, high.verdict) or not (_selects(low, hop) and _selects(high, hop)):
            continue  # no wonder that it is dark
        if hop.key in state.dead_hops:
            if why_held(state):
                _take_back(state, hop)
            continue
        ends = _end(state, hop, low, now), _end(state, hop, high, now)
        verdict = judge_hop(
            *ends, now, settle=state.settings.health.light_settle, heartbeat=state.settings.heartbeat.interval
        )
        if verdict is HopState.DEAD:
            open_incident(state, ring.name, state.wiring.hop_name(hop.key), now)
            lost = min(end.dark_since for end in ends if end.dark_since is not None)
            kill_hop(state, hop, "both nodes stay up, but light was lost", now, lost=lost)
        elif verdict is HopState.UNDECIDED:
            state.agenda.put(("ring", ring.name), _next_look(state, ends, now))


def _selects(node: NodeRecord, hop: Hop) -> bool:
    """Whether a node selects its end of a hop, by what was read last."""
    port = hop.near(node.position)
    return node.observed is not None and node.observed[port.bundle] is port.path


def _end(state: State, hop: Hop, node: NodeRecord, now: float) -> EndEvidence:
    port = hop.near(node.position)
    key = (port.bundle, port.path)
    return EndEvidence(
        lit=node.light.get(key, False),
        dark_since=node.dark_since.get(key),
        speech=speech(state, node, now) if node.session else Speech.SUSPECT,
        last_heard=node.last_heard,
    )


def _next_look(state: State, ends: tuple[EndEvidence, EndEvidence], now: float) -> float:
    settled = max(end.dark_since for end in ends if end.dark_since is not None) + state.settings.health.light_settle
    return settled if now < settled else now + state.settings.heartbeat.interval / 2


def kill_hop(state: State, hop: Hop, why: str, now: float, *, lost: float | None = None) -> None:
    """Believe that a fibre carries no light, until it is time to try it again. It had some until `lost`, if ever."""
    state.untested.pop(hop.key, None)
    state.kill(hop.key, now)
    name = state.wiring.hop_name(hop.key)
    state.agenda.put(("hop", name), now + state.settings.health.dead_hop_retest)
    state.emit(Persist(hops=(stored_hop(state, hop.key),)))
    detection = {} if lost is None else {"evidence": "light", "detection_seconds": f"{now - lost:.6f}"}
    state.tell("hop-dead", name, why, **detection)


def retest_hop(state: State, name: str) -> None:
    """It is time to try a fibre again. It stays on record until it is seen lit."""
    key = state.wiring.parse_hop(name)
    since = state.dead_hops.get(key)
    if since is not None:
        state.revive(key)
        state.untested[key] = since
        state.tell("hop-retest", name, "may be tried again")
        state.capacity_grew = True


def trust_hops(state: State, request: TrustHops) -> None:
    """Fibres were repaired, says a person: unlike one that it is merely time to try, a working ring may be led over it.

    Raises:
        RinglightError: no hop is named, or there is no such hop; nothing was changed.
    """
    if not request.hops:
        raise InvalidError("no hop is named", hint="name at least one, such as n3+2")
    for key in sorted({state.wiring.parse_hop(name) for name in request.hops}):
        if state.untested.pop(key, None) is not None or key in state.dead_hops:
            state.revive(key)
            state.emit(Persist(hops=(stored_hop(state, key),)))
            state.tell("hop-trusted", state.wiring.hop_name(key), "an operator says that it carries light again")
            state.capacity_grew = True


def _take_back(state: State, hop: Hop) -> None:
    """Nothing was done about a dead hop, since nothing may move: it is dead no more if both its ends see light."""
    if all(state.nodes[port.position].light.get((port.bundle, port.path), False) for port in (hop.low, hop.high)):
        state.revive(hop.key)
        state.emit(Persist(hops=(stored_hop(state, hop.key),)))
        state.tell("hop-lit", state.wiring.hop_name(hop.key), "light is back at both ends")


def damage(state: State, ring: RingRecord) -> Cause | None:
    """Why a ring cannot stay as it is; None when nothing is wrong with it."""
    draining = [node.name for node in state.chain_nodes(ring) if node.overlay is Overlay.DRAINING]
    return breakage(state, ring) or (Cause(Reason.DRAIN, f"{draining[0]} is being drained") if draining else None)


def breakage(state: State, ring: RingRecord) -> Cause | None:
    """Why a ring does not work; None when it does, be it only for a while, or will by itself."""
    for node in state.chain_nodes(ring):
        if node.verdict is Verdict.FAILED:
            return Cause(Reason.NODE_FAILED, f"{node.name} failed: {node.judgement.reason}")
    for hop in ring.hops:
        if hop.key in state.dead_hops:
            return Cause(Reason.HOP_DARK, f"hop {state.wiring.hop_name(hop.key)} is dark")
    for node in state.chain_nodes(ring):
        if node.unanswered:
            return Cause(Reason.NO_ANSWER, f"{node.name} did not carry out its command")
        astray = node.adopted and node.answered >= node.generation and node.observed != node.desired
        if astray and not node.is_being_undone:
            return Cause(Reason.ASTRAY, f"{node.name} does not select what its ring needs")
    return None


def is_usable(state: State, node: NodeRecord, now: float) -> bool:
    """Whether a node may be given to a ring it is not in already."""
    return (
        node.verdict is Verdict.HEALTHY
        and node.overlay is None
        and not node.quarantine
        and is_commandable(state, node, now)
        and not node.carries_foreign_light
    )


def may_stay(state: State, node: NodeRecord, now: float) -> bool:
    """Whether a node that no other ring may take can serve its own when that is laid anew: degraded, or cordoned."""
    return (
        node.verdict in (Verdict.HEALTHY, Verdict.DEGRADED)
        and node.overlay is not Overlay.DRAINING
        and is_commandable(state, node, now)
        and not node.carries_foreign_light
    )


def is_commandable(state: State, node: NodeRecord, now: float) -> bool:
    """Whether a command to the node is likely to be answered."""
    return bool(node.session) and not node.unanswered and speech(state, node, now) is Speech.SPEAKS
