"""Why something is as it is, for a person at three in the morning: the present belief, then what led to it."""

from dataclasses import dataclass

from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.overlays import described
from ringlight.controller.engine.state import NodeRecord, RingRecord, State
from ringlight.controller.engine.view import view_job
from ringlight.fabric.errors import NotFoundError
from ringlight.fabric.wiring import HopKey


@dataclass(frozen=True, slots=True)
class Explanation:
    """One line on the present, and the reasons, oldest first."""

    subject: str
    kind: str
    summary: str
    reasons: tuple[str, ...]


def explain(state: State, subject: str) -> Explanation:
    """Explain a node, ring, job or hop.

    Raises:
        NotFoundError: there is nothing of this name.
    """
    if state.wiring.has_node(subject):
        return _explanation(state, subject, "node", _of_node(state.node(subject)))
    if subject in state.rings:
        return _explanation(state, subject, "ring", _of_ring(state, state.rings[subject]))
    if subject in state.jobs:
        view = view_job(state.jobs[subject])
        return _explanation(state, subject, "job", f"{view.state}: {view.reason}")
    if "+" in subject:
        key = state.wiring.parse_hop(subject)
        return _explanation(state, subject, "hop", _hop_state(state, key))
    raise NotFoundError(
        f"there is no node, ring, job or hop {subject!r}",
        hint="names look like n17 (node), train/3 (ring), train (job), n3+2 (hop)",
    )


def _explanation(state: State, subject: str, kind: str, summary: str) -> Explanation:
    return Explanation(subject, kind, summary, tuple(_line(event) for event in state.history.about(subject)))


def _line(event: FabricEvent) -> str:
    return f"#{event.sequence} {event.kind}: {event.text}"


def _of_node(node: NodeRecord) -> str:
    place = f"in ring {node.ring}" if node.ring else "in no ring"
    agent = "its agent has a session" if node.session else "its agent has no session"
    text = f"{node.verdict}: {node.judgement.reason}; {place}; {agent}"
    if node.overlay is not None:
        text += f"; {described(node)}"
    if node.leaving:
        text += f"; leaves {node.leaving} as soon as that is proven without it"
    if node.dark_since:
        ports = ", ".join(f"b{bundle} {path.name}" for bundle, path in sorted(node.dark_since))
        text += f"; no light at {ports}"
    if node.carries_foreign_light:
        text += "; it carries light that no ring of ours asked for, so it is left alone"
    return text


def _of_ring(state: State, ring: RingRecord) -> str:
    chain = " ".join(state.wiring.name(position) for position in ring.chain) or "no nodes"
    return f"{ring.state}: {chain}" + (f"; {ring.cause}" if ring.cause else "")


def _hop_state(state: State, key: HopKey) -> str:
    if key in state.dead_hops:
        return "dead: no ring is led over it"
    if key in state.untested:
        return "was dead, and was not seen lit since: no ring that works is moved onto it"
    return "usable, for all we know"
