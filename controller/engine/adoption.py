"""Adoption: light that is there and makes sense is kept, whatever the store remembers.

The store may be lost, or be an older copy; a crash may have come between a command and its record. So when a start is
over, and whenever an agent comes back later, the chains that the hardware *shows* are looked at: every bundle read,
light at both ends of every hop, closed at both ends. One that suits a ring of ours which is not where it should be
becomes that ring's chain; one that nobody knows becomes a ring of a job of its own, pinned, which a person may release.
What our records say is over is never adopted: it is the rest of a change. What agents will undo by themselves is looked
at when they have. Light that makes no ring, though all who are part of it were heard, serves nobody, and is let go.
Nothing is commanded by any of this.
"""

from collections.abc import Collection, Iterable
from itertools import count

from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.observed import pieces
from ringlight.controller.engine.state import (
    JobRecord,
    NodeRecord,
    RingRecord,
    RingState,
    State,
    stored_job,
    stored_ring,
)
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.planning.order import Chain
from ringlight.fabric.rings import chain_tables


def adopt_what_is_lit(state: State, now: float) -> None:
    """Take over every ring of light that no ring of ours accounts for; let go of light that makes no ring."""
    state.strange_light = state.light_waits = False
    recorded = frozenset(state.rings)
    standing = {position for ring in state.rings.values() if _is_lit(state, ring) for position in ring.chain}
    for position in standing:  # whoever switched it, it is what a ring of ours asks for
        state.nodes[position].is_foreign = False
    # Light of an audit is its own business, and a node that was told something is about to be otherwise.
    taken = standing | state.audits.members | state.owing
    others = [
        node.position
        for node in state.nodes
        if node.adopted and node.answered >= node.generation and node.position not in taken
    ]
    for piece in pieces(state, others):
        if any(state.nodes[position].is_being_undone for position in piece.nodes):
            state.light_waits = True
        elif piece.chain is not None:
            _adopt(state, piece.chain, recorded, now)
        elif piece.unknown:
            state.light_waits = True
        else:
            _disown(state, [state.nodes[position] for position in piece.nodes], now)


def _adopt(state: State, chain: Chain, recorded: Collection[str], now: float) -> None:
    nodes = [state.nodes[position] for position in chain]
    ring = _lost_ring(state, chain, recorded)
    of_the_past = ring is None and not any(node.is_foreign for node in nodes)  # what is over, by our records
    if of_the_past or any(node.leaving or node.unconfirmed for node in nodes):
        return  # or what its agents will undo
    if ring is None and any(node.ring and node.in_place and not node.is_foreign for node in nodes):
        _disown(state, nodes, now)  # a ring of ours, and nodes that it was to have: the rest of a change
        return
    in_the_way = _in_the_way(state, chain) - {ring.name if ring else ""}
    if any(not node.adopted for name in in_the_way for node in state.chain_nodes(state.rings[name])):
        state.light_waits = True
        return
    if any(_is_lit(state, state.rings[name]) for name in in_the_way):
        names = " ".join(node.name for node in nodes)
        state.tell("drift", nodes[0].name, f"the chain {names} is lit and lies across another ring; left so")
        return
    for name in sorted(in_the_way):
        _evict(state, state.rings[name], now)
    _take_over(state, ring or _new_ring(state, chain), chain, now)


def _disown(state: State, nodes: Iterable[NodeRecord], now: float) -> None:
    """All who are part of it were heard, and it is no ring: it serves nobody, and its nodes may be used again."""
    for node in nodes:
        if node.is_foreign:
            node.is_foreign = False
            state.dirty_nodes.add(node.position)
            state.agenda.put(("park", node.name), now)


def _lost_ring(state: State, chain: Chain, recorded: Collection[str]) -> RingRecord | None:
    """The ring of ours that a chain is most likely; None when there is none that it could be.

    It has this length, is not where it should be, and has most nodes in common; one that was being changed when the
    controller stopped may have none. Else it is one that a node failed in, and that was led around it before that was
    on record; or one that waits for a place, or one that nothing is left of where it should be.
    """
    tp = len(chain) * state.wiring.spec.gpus
    members = set(chain)
    astray, broken, waiting, gone = [], [], [], []
    for job in sorted(state.jobs.values(), key=lambda job: job.precedence):
        for ring in job.rings if job.tp == tp else ():
            if ring.name not in recorded:
                continue  # it was adopted a moment ago
            if not ring.chain:
                waiting.append(ring)
            elif any(node.verdict is Verdict.FAILED for node in state.chain_nodes(ring)) and _is_lit(state, ring):
                broken.append(ring)
            elif not _is_astray(state, ring):
                continue
            elif members & set(ring.chain) or not ring.established:
                astray.append(ring)
            elif not any(node.in_place for node in state.chain_nodes(ring)):
                gone.append(ring)
    others = iter([*broken, *waiting, *gone])
    return max(astray, key=lambda ring: len(members & set(ring.chain)), default=next(others, None))


def _in_the_way(state: State, chain: Chain) -> set[str]:
    """The rings that are laid where a chain lies."""
    order = state.planner.order
    place = order.as_ring(chain)
    over = order.ring_over(place.first)
    names = {ring.name for ring in order.rings_in(place.first, place.last)}
    return names | {over.ring.name} if over is not None else names


def _is_lit(state: State, ring: RingRecord) -> bool:
    return all(node.in_place for node in state.chain_nodes(ring))


def _is_astray(state: State, ring: RingRecord) -> bool:
    """A node of a ring was heard and is not as it needs it, and we have not begun to change that.

    Others may not be heard for long: the node for whose sake it moved, above all.
    """
    nodes = list(state.chain_nodes(ring))
    return any(node.adopted and not node.in_place for node in nodes) and not any(node.was_told for node in nodes)


def _evict(state: State, ring: RingRecord, now: float) -> None:
    """A ring of our records is not there, and another one is lit in its place: it waits for a place of its own."""
    _give_up(state, ring, now)
    state.lay(ring, ())
    ring.cause = "another ring is lit where it should be"
    ring.established = False
    ring.deadline = None
    state.damaged.discard(ring.name)
    state.enter(ring, RingState.BROKEN)
    state.capacity_grew = True
    state.tell("ring-broken", ring.name, ring.cause)
    state.emit(Persist(rings=(stored_ring(state.wiring, ring),)))


def _give_up(state: State, ring: RingRecord, now: float) -> None:
    """A ring is not where our records say: what its nodes select there is nobody's, and is looked at in a while."""
    for node in state.chain_nodes(ring):
        node.ring, node.desired = "", state.wiring.loopback
        state.dirty_nodes.add(node.position)
        state.agenda.put(("park", node.name), now + state.settings.change.retry_interval)


def _new_ring(state: State, chain: Chain) -> RingRecord:
    job = _job_of_adopted(state, len(chain) * state.wiring.spec.gpus)
    free = next(rank for rank in count() if f"{job.name}/{rank}" not in state.rings)
    ring = RingRecord(f"{job.name}/{free}", job.name)
    job.rings = sorted([*job.rings, ring], key=lambda ring: int(ring.name.rpartition("/")[2]))
    job.rings_wanted = len(job.rings)
    state.rings[ring.name] = ring
    return ring


def _job_of_adopted(state: State, tp: int) -> JobRecord:
    """The job to which adopted rings of a size belong; never one that somebody submitted under its name."""
    name = f"adopted-{tp}"
    for number in count(2):
        job = state.jobs.get(name)
        if job is None:
            break
        if job.pinned and job.tp == tp:
            return job
        name = f"adopted-{tp}-{number}"
    order = max((job.order for job in state.jobs.values()), default=0) + 1
    job = state.jobs[name] = JobRecord(name, 0, tp, 1, priority=0, order=order, pinned=True, settled_once=True)
    text = f"rings of {tp} GPUs that were lit and that no record of ours knows; pinned; release it when it is over"
    state.tell("job-adopted", name, text)
    return job


def _take_over(state: State, ring: RingRecord, chain: Chain, now: float) -> None:
    """From now on the chain is what is wanted of the ring: it is proven where it lies, and nobody is told anything."""
    _give_up(state, ring, now)
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
    state.dirty_nodes.update(chain)
    names = " ".join(state.wiring.name(position) for position in chain)
    state.tell("ring-adopted", ring.name, f"{names}: {ring.cause}", chain=names)
    job = state.jobs[ring.job]
    state.emit(Persist(jobs=(stored_job(job),), rings=(stored_ring(state.wiring, ring),)))
