"""What a picture of the fabric needs: how each node stands, and where light is. Quick, since it is asked for often.

What never changes is shared and not copied, and so are the marks of all nodes of a ring that are well. A hop is *lit*
when both its ends select it and both see light, as last reported. Reading changes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ringlight.controller.engine.state import NodeRecord, RingRecord, State
from ringlight.controller.engine.view import overlay_of
from ringlight.controller.health.verdicts import Verdict
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Hop, HopKey


@dataclass(frozen=True, slots=True)
class NodeMark:
    """How a node stands.

    Attributes:
        silent: its agent has no session.
        faults: how many are open.
    """

    ring: str
    verdict: str = Verdict.HEALTHY.value
    reason: str = ""
    silent: bool = False
    overlay: str = ""
    overlay_reason: str = ""
    quarantine: str = ""
    faults: int = 0


@dataclass(frozen=True, slots=True)
class RingLight:
    """A ring as it is drawn: its nodes by position, the hops between them, and which of those are lit."""

    name: str
    job: str
    state: str
    cause: str
    generation: int
    chain: tuple[int, ...]
    hops: tuple[Hop, ...]
    lit: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class PortView:
    """One cabled external port of a node.

    Attributes:
        peer: the port at the other end of its fibre.
        light: whether light is seen; None where nothing was reported.
    """

    name: str
    hop: str
    peer: str
    light: bool | None
    dead: bool


@dataclass(frozen=True, slots=True)
class BundleView:
    """One bundle of a node: what it selects, what it should, and where it could lead."""

    number: int
    edge: int
    modules: int
    observed: str
    desired: str
    ports: tuple[PortView, ...]


@dataclass(frozen=True, slots=True)
class PictureView:
    """A whole fabric.

    Attributes:
        nodes: by position.
        rings: by job and rank.
        strange: lit hops that no ring asks for.
    """

    nodes: tuple[NodeMark, ...]
    rings: tuple[RingLight, ...]
    strange: tuple[HopKey, ...]
    dead: tuple[HopKey, ...]
    untested: tuple[HopKey, ...]


def view_picture(state: State) -> PictureView:
    """Every node, and every hop worth drawing."""
    return PictureView(
        nodes=tuple(_marks(state)),
        rings=tuple(view_ring_light(state, ring) for _, job in sorted(state.jobs.items()) for ring in job.rings),
        strange=tuple(sorted(set(_strange_hops(state)))),
        dead=tuple(sorted(state.dead_hops)),
        untested=tuple(sorted(state.untested)),
    )


def view_ring_light(state: State, ring: RingRecord) -> RingLight:
    """One ring."""
    lit = tuple(_is_lit(state, hop) for hop in ring.hops)
    return RingLight(ring.name, ring.job, ring.state.value, ring.cause, ring.generation, ring.chain, ring.hops, lit)


def view_bundles(state: State, node: NodeRecord) -> tuple[BundleView, ...]:
    """The bundles of one node with their ports."""
    return tuple(
        BundleView(
            number=number,
            edge=bundle.edge,
            modules=bundle.modules,
            observed=node.observed[number].name if node.observed else Path.UNKNOWN.name,
            desired=node.desired[number].name,
            ports=tuple(_ports(state, node, number)),
        )
        for number, bundle in enumerate(state.wiring.spec.bundles)
    )


def _marks(state: State) -> Iterator[NodeMark]:
    plain: dict[str, NodeMark] = {}
    for node in state.nodes:
        if not _is_plain(state, node):
            yield _mark(state, node)
        elif node.ring in plain:
            yield plain[node.ring]
        else:
            yield plain.setdefault(node.ring, NodeMark(node.ring))


def _is_plain(state: State, node: NodeRecord) -> bool:
    """There is nothing to say about it but its ring."""
    return (
        node.judgement.verdict is Verdict.HEALTHY
        and not node.reported
        and not node.findings
        and node.overlay is None
        and not node.quarantine
        and bool(node.session)
        and node.position not in state.audits.members
    )


def _mark(state: State, node: NodeRecord) -> NodeMark:
    return NodeMark(
        ring=node.ring,
        verdict=node.verdict.value,
        reason=node.judgement.reason,
        silent=not node.session,
        overlay=overlay_of(state, node),
        overlay_reason=node.overlay_reason,
        quarantine=node.quarantine,
        faults=len(node.faults),
    )


def _strange_hops(state: State) -> Iterator[HopKey]:
    """Lit hops that the nodes at their ends should not select: what should be selected follows from the rings."""
    for node in state.nodes:
        if node.observed is None or node.observed == node.desired:
            continue
        for bundle, path in enumerate(node.observed):
            hop = state.wiring.hop_at(Port(node.position, bundle, path)) if path.is_external else None
            if hop is not None and path is not node.desired[bundle] and _is_lit(state, hop):
                yield hop.key


def _is_lit(state: State, hop: Hop) -> bool:
    return all(_selects_and_sees(state.nodes[port.position], port) for port in (hop.low, hop.high))


def _selects_and_sees(node: NodeRecord, port: Port) -> bool:
    selected = node.observed is not None and node.observed[port.bundle] is port.path
    return selected and node.light.get((port.bundle, port.path), False)


def _ports(state: State, node: NodeRecord, bundle: int) -> Iterator[PortView]:
    for path in EXTERNAL_PATHS:
        port = Port(node.position, bundle, path)
        hop = state.wiring.hop_at(port)
        if hop is not None:
            yield PortView(
                name=state.wiring.port_name(port),
                hop=state.wiring.hop_name(hop.key),
                peer=state.wiring.port_name(hop.far(node.position)),
                light=node.light.get((bundle, path)),
                dead=hop.key in state.dead_hops,
            )
