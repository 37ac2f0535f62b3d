"""Adoption: light that is there and makes sense is kept, whatever the store remembers.

The store may be lost, or be an older copy; a crash may have come between a command and its record. So when a start is
over, and whenever an agent comes back later, the chains that the hardware *shows* are looked at: every bundle read,
light at both ends of every hop, closed at both ends. One that suits a ring of ours which is not where it should be
becomes that ring's chain; one that nobody knows becomes a ring of a job of its own, pinned, which a person may release.
What we switched ourselves is never adopted as a stranger: it is the rest of a change. Nothing is commanded by any of
this.
"""

from collections.abc import Iterable
from itertools import pairwise

from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.state import (
    JobRecord,
    RingRecord,
    RingState,
    State,
    stored_job,
    stored_ring,
)
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.planning.order import Chain
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Hop


def adopt_what_is_lit(state: State) -> None:
    """Take over every valid chain of light that no ring of ours accounts for."""
    astray = {
        node.position: node
        for node in state.nodes
        if node.adopted and node.observed is not None and node.observed != node.desired
    }
    for chain in observed_chains(state, astray):
        nodes = [state.nodes[position] for position in chain]
        if any(node.verdict is Verdict.FAILED or node.leaving for node in nodes):
            continue
        ring = _lost_ring(state, chain)
        if ring is None and not any(node.is_unrecorded for node in nodes):
            continue  # what is left of something that is over, by our records
        others = _in_the_way(state, chain) - {ring.name if ring else ""}
        if any(_is_lit(state, state.rings[name]) for name in others):
            names = " ".join(node.name for node in nodes)
            state.tell("drift", nodes[0].name, f"the chain {names} is lit and lies across another ring; left so")
            continue
        for name in sorted(others):
            _evict(state, state.rings[name])
        _take_over(state, ring or _new_ring(state, chain), chain)


def observed_chains(state: State, among: Iterable[int]) -> list[Chain]:
    """The valid chains that hardware shows, made of these nodes only, in fabric order."""
    neighbours: dict[int, list[int]] = {position: [] for position in sorted(among)}
    for hop in _lit_hops(state, neighbours.keys()):
        neighbours[hop.low.position].append(hop.high.position)
        neighbours[hop.high.position].append(hop.low.position)
    chains = []
    seen: set[int] = set()
    for position, near in neighbours.items():
        if len(near) == 1 and position not in seen:
            chain = _walk(position, neighbours)
            seen.update(chain)
            if _is_as_it_should_be(state, chain):
                chains.append(state.planner.order.forward(chain))
    return chains


def _lit_hops(state: State, among: Iterable[int]) -> list[Hop]:
    """Hops that both ends select and see light on."""
    lit: dict[Hop, int] = {}
    for position in among:
        node = state.nodes[position]
        for bundle, path in enumerate(node.observed or ()):
            hop = state.wiring.hop_at(Port(position, bundle, path)) if path.is_external else None
            if hop is not None and node.light.get((bundle, path), False):
                lit[hop] = lit.get(hop, 0) + 1
    return [hop for hop, ends in lit.items() if ends == 2]  # noqa: PLR2004 - a hop has two ends


def _walk(end: int, neighbours: dict[int, list[int]]) -> Chain:
    chain = [end]
    while onward := [near for near in neighbours[chain[-1]] if near not in chain]:
        chain.append(onward[0])
    return tuple(chain)


def _is_as_it_should_be(state: State, chain: Chain) -> bool:
    """Every bundle of every node is as a ring over just this chain needs it, and it runs one way along the order."""
    try:
        tables = chain_tables(state.wiring, chain)
    except InvalidError:
        return False
    order = state.planner.order
    one_way = all(state.wiring.hop(a, (b - a) % state.wiring.size) for a, b in pairwise(order.forward(chain)))
    return one_way and all(state.nodes[position].observed == table for position, table in tables.items())


def _lost_ring(state: State, chain: Chain) -> RingRecord | None:
    """The ring of ours that a chain is most likely; None when there is none that it could be.

    It has this length, is not where it should be, and has most nodes in common; one that was being changed when the
    controller stopped may have none. Else it is one that waits for a place.
    """
    tp = len(chain) * state.wiring.spec.gpus
    members = set(chain)
    astray, waiting = [], []
    for job in sorted(state.jobs.values(), key=lambda job: job.precedence):
        for ring in job.rings if job.tp == tp else ():
            if not ring.chain:
                waiting.append(ring)
            elif all(node.adopted for node in state.chain_nodes(ring)) and not _is_lit(state, ring):
                if members & set(ring.chain) or not ring.established:
                    astray.append(ring)
    return max(astray, key=lambda ring: len(members & set(ring.chain)), default=waiting[0] if waiting else None)


def _in_the_way(state: State, chain: Chain) -> set[str]:
    """The rings that are laid where a chain lies."""
    order = state.planner.order
    place = order.as_ring(chain)
    over = order.ring_over(place.first)
    names = {ring.name for ring in order.rings_in(place.first, place.last)}
    return names | {over.ring.name} if over is not None else names


def _is_lit(state: State, ring: RingRecord) -> bool:
    return all(node.in_place for node in state.chain_nodes(ring))


def _evict(state: State, ring: RingRecord) -> None:
    """A ring of our records is not there, and another one is lit in its place: it waits for a place of its own."""
    state.lift(ring)
    for node in state.chain_nodes(ring):
        node.ring, node.desired = "", state.wiring.loopback
        state.dirty_nodes.add(node.position)
    state.lay(ring, ())
    ring.cause = "another ring is lit where it should be"
    ring.established = False
    ring.deadline = None
    state.damaged.discard(ring.name)
    state.enter(ring, RingState.BROKEN)
    state.capacity_grew = True
    state.tell("ring-broken", ring.name, ring.cause)
    state.emit(Persist(rings=(stored_ring(state.wiring, ring),)))


def _new_ring(state: State, chain: Chain) -> RingRecord:
    tp = len(chain) * state.wiring.spec.gpus
    name = f"adopted-{tp}"
    job = state.jobs.get(name)
    if job is None:
        order = max((job.order for job in state.jobs.values()), default=0) + 1
        job = JobRecord(name, 0, tp, 1, priority=0, order=order, pinned=True, settled_once=True)
        state.jobs[name] = job
        text = f"rings of {tp} GPUs that were lit and that no record of ours knows; pinned; release it when it is over"
        state.tell("job-adopted", name, text)
    ring = RingRecord(f"{name}/{len(job.rings)}", name)
    job.rings.append(ring)
    job.rings_wanted = len(job.rings)
    state.rings[ring.name] = ring
    return ring


def _take_over(state: State, ring: RingRecord, chain: Chain) -> None:
    """From now on the chain is what is wanted of the ring: it is proven where it lies, and nobody is told anything."""
    former = set(ring.chain)
    for node in state.chain_nodes(ring):
        node.ring, node.desired = "", state.wiring.loopback
    state.lay(ring, chain)
    tables = chain_tables(state.wiring, chain)
    for node in state.chain_nodes(ring):
        node.ring, node.desired, node.is_foreign = ring.name, tables[node.position], False
        node.answered = node.generation
    ring.cause = "found lit by a controller whose records say otherwise"
    ring.established = True
    ring.deadline = None
    state.damaged.discard(ring.name)
    state.enter(ring, RingState.VERIFYING)
    state.dirty_rings.add(ring.name)
    state.dirty_nodes.update(former | set(chain))
    names = " ".join(state.wiring.name(position) for position in chain)
    state.tell("ring-adopted", ring.name, f"{names}: {ring.cause}", chain=names)
    job = state.jobs[ring.job]
    state.emit(Persist(jobs=(stored_job(job),), rings=(stored_ring(state.wiring, ring),)))
