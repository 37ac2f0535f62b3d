"""From a plan to new rings: gives rings their chains, and turns them into wanted tables and commands.

Everything is computed from what is wanted now, changes in flight included, so a second fault during a repair simply
plans again from there; agents take the higher generation. Only nodes whose wanted table changes, or that are not
where they should be, get a command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ringlight.controller.engine.assessment import damage
from ringlight.controller.engine.causes import MADE_ROOM
from ringlight.controller.engine.commitment import join, leave, leaving, let_go
from ringlight.controller.engine.effects import SendCircuits
from ringlight.controller.engine.proposals import offer
from ringlight.controller.engine.state import JobRecord, NodeRecord, RingRecord, RingState, State
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import RingPlan
from ringlight.fabric.rings import chain_tables


@dataclass(slots=True)
class Change:
    """One version of the wanted state under construction: which rings change, and the commands that follow.

    Attributes:
        planned: nothing is broken: rings that carry light are changed commit-confirmed.
    """

    generation: int
    planned: bool = False
    rings: list[RingRecord] = field(default_factory=list)
    commands: list[SendCircuits] = field(default_factory=list)

    @property
    def transaction(self) -> str:
        """Name of the change towards agents."""
        return f"g{self.generation}"


def apply_plan(state: State, job: JobRecord, plan: RingPlan, change: Change, now: float) -> None:
    """Give the job's rings their new chains, and note every wanted table that follows from it."""
    uprooted = _uprooted(state, job, plan)
    _note_causes(state, uprooted, plan, change, now)
    members = {position: ring for ring in uprooted for position in ring.chain}
    affected = members.keys() | {node.position for node in leaving(state, job.name)}
    for ring in uprooted:
        state.lift(ring)
        state.damaged.discard(ring.name)
        for node in state.chain_nodes(ring):
            if node.ring == ring.name:  # a job planned before may have taken it already
                node.ring = ""
    reasons = {placement.chain: placement.reasons for placement in plan.placed}
    for ring, chain in _assign(uprooted, tuple(reasons)):
        if not chain and ring.state is RingState.BROKEN and not ring.chain:
            continue  # it waited before, and goes on waiting
        _rechain(state, ring, chain, change, now)
        affected.update(chain)
        if chain or ring.generation:
            ring.generation = change.generation
        change.rings.append(ring)
        _tell_plan(state, ring, (*reasons.get(chain, ()), *plan.reasons))
    for position in sorted(affected):
        offer(state, state.nodes[position], now)
    if change.planned:
        _note_leavers(state, members)
    want_tables(state, affected, change, now)
    let_go(state, job.name)


def _note_causes(state: State, uprooted: Sequence[RingRecord], plan: RingPlan, change: Change, now: float) -> None:
    """Why each ring changes, and since when it is broken, before its chain is changed."""
    moved = {ring.name for ring in plan.moved}
    for ring in uprooted:
        ring.blame(MADE_ROOM if ring.name in moved else damage(state, ring))
        if not change.planned:
            _note_evidence(state, ring, now)


def _note_leavers(state: State, members: Mapping[int, RingRecord]) -> None:
    """Former members that no ring took are the way back of their rings, until those are proven."""
    for position, ring in members.items():
        node = state.nodes[position]
        if ring.chain and not node.ring:
            leave(state, node, ring)


def new_chains(state: State, job: JobRecord, plan: RingPlan) -> list[tuple[RingRecord, Chain]]:
    """The rings of a job that a plan does not leave as they are, and the chains they get; an empty one is to wait."""
    return _assign(_uprooted(state, job, plan), tuple(placement.chain for placement in plan.placed))


def _uprooted(state: State, job: JobRecord, plan: RingPlan) -> list[RingRecord]:
    moved = {ring.name for ring in plan.moved}
    return [ring for ring in job.rings if ring.name in moved or ring.name in state.damaged or not ring.chain]


def _assign(rings: Sequence[RingRecord], placed: Sequence[Chain]) -> list[tuple[RingRecord, Chain]]:
    """Which ring gets which chain: those that share most nodes find each other first, so that ranks move little."""
    shared = [(len(set(ring.chain) & set(chain)), ring.name, chain) for ring in rings if ring.chain for chain in placed]
    chain_of: dict[str, Chain] = {}
    left = dict.fromkeys(placed)
    for nodes, name, chain in sorted(shared, reverse=True):
        if nodes and name not in chain_of and chain in left:
            chain_of[name] = chain
            del left[chain]
    others = iter(left)
    return [(ring, chain_of[ring.name] if ring.name in chain_of else next(others, ())) for ring in rings]


def _note_evidence(state: State, ring: RingRecord, now: float) -> None:
    """When a repair begins: at the first light that was lost, or now, when a report came in."""
    if ring.broken_at is None and ring.state is not RingState.PLANNED:
        lost = [since for node in state.chain_nodes(ring) for since in node.dark_since.values()]
        ring.broken_at = min(lost, default=now)


def _rechain(state: State, ring: RingRecord, chain: Chain, change: Change, now: float) -> None:
    # There is nothing good to go back to from a repair that is not proven yet.
    ring.planned = change.planned if ring.established else ring.planned
    ring.established = False
    state.lay(ring, chain)
    state.dirty_rings.add(ring.name)
    ring.sent_at = now
    ring.deadline = None
    state.enter(ring, RingState.SWITCHING if chain else RingState.BROKEN)
    for node in state.chain_nodes(ring):
        join(state, node, ring)


def _tell_plan(state: State, ring: RingRecord, reasons: Sequence[str]) -> None:
    names = " ".join(state.wiring.name(position) for position in ring.chain)
    why = "; ".join(reasons)
    if ring.chain:
        text = f"{ring.cause or 'placed'}; new chain: {names}; {why}"
        state.tell("ring-switching", ring.name, text, chain=names, generation=str(ring.generation), reason=ring.reason)
    else:
        text = f"{ring.cause}; waiting: {why}" if ring.cause else why
        state.tell("ring-broken", ring.name, text, reason=ring.reason, waiting="for room")


def want_tables(state: State, positions: set[int], change: Change, now: float) -> None:
    """Derive the wanted table of each node from its ring, and command those that are not there yet."""
    tables = {}
    for name in sorted({state.nodes[position].ring for position in positions} - {""}):
        tables.update(chain_tables(state.wiring, state.rings[name].chain))
    for position in sorted(positions):
        node = state.nodes[position]
        table = tables.get(position, state.wiring.loopback)
        if table == node.desired and node.in_place:
            continue
        node.desired = table
        command(state, node, change, now)


def command(state: State, node: NodeRecord, change: Change, now: float) -> None:
    """Tell a node's agent to bring it to its wanted table, if there is an agent to tell."""
    node.generation = change.generation
    node.is_foreign = False
    node.transaction = change.transaction
    node.commanded_at = now
    node.dark_since.clear()
    node.drift = 0
    if node.session:
        state.owing.add(node.position)
        ring = state.rings.get(node.ring or node.leaving)
        revert_after = state.settings.change.revert_after if ring is not None and ring.planned else 0.0
        node.unconfirmed = revert_after > 0
        change.commands.append(
            SendCircuits(
                node.session,
                node.name,
                state.epoch,
                change.generation,
                change.transaction,
                node.desired,
                revert_after,
            )
        )
        if not node.ring:
            state.agenda.put(("park", node.name), now + state.settings.change.retry_interval)


def needs_parking(node: NodeRecord) -> bool:
    """Whether an idle node selects fibres that nobody wants and nobody lights: safe to bring back to loopback."""
    return (
        not node.ring
        and bool(node.session)
        and node.observed is not None
        and node.observed != node.desired
        and not node.carries_foreign_light
        and not node.is_being_undone
    )
