"""The start: what the store remembers becomes what is wanted, and nothing is commanded (I6).

A restored ring is only a claim until its agents have shown what their hardware selects and where light is. One that
was ACTIVE is verified again; one that was caught in the middle of a change has until the end of the grace period to
turn out complete, and is planned anew otherwise.
"""

from ringlight.controller.engine.causes import Reason
from ringlight.controller.engine.commitment import leave
from ringlight.controller.engine.conduct import restore_conduct
from ringlight.controller.engine.doubt import keep_pulse
from ringlight.controller.engine.effects import StoredHop, StoredOverlay, StoredRing
from ringlight.controller.engine.events import Restored
from ringlight.controller.engine.overlays import end_drain
from ringlight.controller.engine.state import JobRecord, Overlay, RingRecord, RingState, State
from ringlight.fabric.errors import NotFoundError, RinglightError
from ringlight.fabric.rings import chain_tables


def restore(state: State, event: Restored, now: float) -> None:
    """Begin with what the store remembers."""
    state.started_at = now
    state.wall_offset = event.wall - now
    state.paused, state.tripped = event.hold.paused, event.hold.tripped
    state.epoch = event.epoch
    state.generation = event.generation
    state.recorded_generation = event.recorded
    state.sequence = event.sequence
    state.reserved = event.reserved
    state.reserve_generations()
    for job in sorted(event.jobs, key=lambda job: job.order):
        state.jobs[job.name] = JobRecord(
            job.name, job.rings, job.tp, job.min_rings, job.priority, job.order, job.pinned, settled_once=True
        )
    for ring in event.rings:
        if ring.job in state.jobs:
            _restore_ring(state, ring, now)
    for overlay in event.overlays:
        _restore_overlay(state, overlay, now)
    for conduct in event.conduct:
        restore_conduct(state, conduct)
    for hop in event.hops:
        _restore_hop(state, hop, now)
    state.agenda.put(("start", ""), now + state.settings.health.start_grace)
    keep_pulse(state, now)
    state.dirty_nodes.update(range(state.wiring.size))
    state.tell("controller-started", state.wiring.spec.name, f"epoch {state.epoch}", epoch=str(state.epoch))


def _restore_ring(state: State, stored: StoredRing, now: float) -> None:
    ring = RingRecord(stored.name, stored.job, cause=stored.cause, generation=stored.generation, reason=Reason.RESTART)
    state.jobs[ring.job].rings.append(ring)
    state.rings[ring.name] = ring
    try:
        chain = tuple(state.wiring.position(name) for name in stored.chain)
        tables = chain_tables(state.wiring, chain)
        state.lay(ring, chain)
    except (RinglightError, ValueError) as error:
        state.enter(ring, RingState.BROKEN)
        ring.cause = f"its former chain is not possible: {error}"
        return
    if not chain:
        state.enter(ring, RingState.BROKEN)
        return
    for node in state.chain_nodes(ring):
        node.ring = ring.name
        node.desired = tables[node.position]
        node.generation = ring.generation
    ring.established = stored.state == RingState.ACTIVE
    state.enter(ring, RingState.VERIFYING if ring.established else RingState.SWITCHING)
    if not ring.established:
        ring.deadline = now + state.settings.health.start_grace
        state.agenda.put(("ring", ring.name), ring.deadline)


def _restore_hop(state: State, stored: StoredHop, now: float) -> None:
    """A fibre that was dark still is, for all we know; where a ring lies over it, its light says so itself."""
    try:
        key = state.wiring.parse_hop(stored.hop)
    except NotFoundError:
        return  # it is in the fabric file no more
    if stored.dead_since is None or any(hop.key == key for ring in state.rings.values() for hop in ring.hops):
        return
    since = min(now, stored.dead_since - state.wall_offset)
    state.kill(key, since)
    state.agenda.put(("hop", stored.hop), max(now, since + state.settings.health.dead_hop_retest))


def _restore_overlay(state: State, stored: StoredOverlay, now: float) -> None:
    """A drain that was cut off goes on: its ring may still call the node back, until the new chain is proven."""
    if not state.wiring.has_node(stored.node):
        return  # it is in the fabric file no more
    node = state.node(stored.node)
    state.cover(node, Overlay(stored.overlay))
    node.overlay_reason = stored.reason
    node.drain_forced = stored.forced
    if stored.until:
        node.maintenance_until = stored.until - state.wall_offset
        state.agenda.put(("maintenance", node.name), max(now, node.maintenance_until))
    ring = state.rings.get(stored.leaving)
    if node.overlay is not Overlay.DRAINING or node.ring:
        return
    job = state.jobs.get(ring.job) if ring is not None else None
    if ring is not None and job is not None and any(other.chain and not other.established for other in job.rings):
        ring.planned = not ring.established
        leave(state, node, ring)
    else:
        end_drain(state, node)
