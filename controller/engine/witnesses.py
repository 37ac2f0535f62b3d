"""Second witnesses: who but its neighbours can say that a silent node is dead.

A machine that hangs can be silent with its light on, and its neighbours then speak for it. A person, the launcher of
its job, or the site's own probe may know better. A witness only ever counts against a node that is silent, and is
forgotten the moment the node speaks.
"""

from ringlight.controller.engine.effects import Probe
from ringlight.controller.engine.events import DeclareDead, ProbeAnswered, ReportStall
from ringlight.controller.engine.overlays import named_nodes
from ringlight.controller.engine.speech import speech
from ringlight.controller.engine.state import NodeRecord, State
from ringlight.controller.health.verdicts import Speech, Verdict
from ringlight.fabric.errors import ErrorCode, RinglightError

_SILENT = (Verdict.UNREACHABLE, Verdict.UNKNOWN)


def report_stall(state: State, request: ReportStall, now: float) -> None:
    """A launcher says that its job stands still. It does not know where: that counts against silent nodes only.

    Raises:
        NotFoundError: there is no such job.
    """
    job = state.job(request.job)
    job.stalled_until = now + state.settings.health.stall_valid
    members = [node for ring in job.rings for node in state.chain_nodes(ring)]
    silent = [node.name for node in members if node.verdict in _SILENT]
    found = f"silent: {' '.join(silent)}" if silent else "none of its nodes is silent"
    state.tell("job-stalled", job.name, f"its launcher says that it stands still; {found}")
    state.dirty_nodes.update(node.position for node in members)


def declare_dead(state: State, request: DeclareDead, now: float) -> None:
    """A person says that silent nodes are dead.

    Raises:
        RinglightError: no such node, or (`REFUSED`) one of them speaks.
    """
    nodes = named_nodes(state, request.nodes)
    speaking = [node.name for node in nodes if speech(state, node, now) is Speech.SPEAKS]
    if speaking:
        raise RinglightError(
            f"{' '.join(speaking)}: not dead, since its agent speaks; nothing was changed",
            hint="to take a working node out of its ring, use `ringlight drain`",
            code=ErrorCode.REFUSED,
        )
    reason = f": {request.reason}" if request.reason else ""
    for node in nodes:
        _testify(state, node, f"an operator says it is dead{reason}")


def take_probe(state: State, answer: ProbeAnswered) -> None:
    """The site's own witness answered. One that does not know says nothing, and one that says `up` clears nobody.

    What was asked before the node spoke last, or by a former controller, is out of date.
    """
    if not state.wiring.has_node(answer.node):
        return
    node = state.node(answer.node)
    if node.probed_at is None:
        return
    told = {True: "up", False: "down", None: "not known"}[answer.up]
    state.tell("probe", node.name, f"the site's probe says: {told}" + (f" ({answer.text})" if answer.text else ""))
    if answer.up is False:
        _testify(state, node, "the site's probe says it is down")


def _testify(state: State, node: NodeRecord, words: str) -> None:
    node.witness = words
    state.dirty_nodes.add(node.position)
    state.tell("witness", node.name, words)


def testimony(state: State, node: NodeRecord, now: float) -> str:
    """Who says that a silent node is dead; empty when nobody does.

    A launcher is believed only about a node that is silent alone: when a neighbour in its ring is silent too, the job
    may stand still for the same reason as they are not heard.
    """
    if node.witness:
        return node.witness
    ring = state.rings.get(node.ring)
    if ring is None or now >= state.jobs[ring.job].stalled_until or speech(state, node, now) is not Speech.SILENT:
        return ""
    near = (hop.far(node.position) for hop in ring.hops if node.position in (hop.low.position, hop.high.position))
    alone = all(speech(state, state.nodes[port.position], now) is Speech.SPEAKS for port in near)
    return f"the launcher of {ring.job} says that the job stands still" if alone else ""


def ask_probe(state: State, node: NodeRecord, now: float) -> None:
    """Ask the site's witness about a node of a ring that is silent, now and then while it stays so."""
    settings = state.settings.probe
    if not settings.command or not node.ring or node.verdict not in _SILENT or state.doubts:
        return
    if node.probed_at is None or now >= node.probed_at + settings.interval:
        node.probed_at = now
        state.emit(Probe(node.name))
    state.agenda.put(("node", node.name), node.probed_at + settings.interval)
