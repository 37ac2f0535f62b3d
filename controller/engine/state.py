"""What the engine remembers: nodes, rings, jobs, sessions, dead hops.

Records are changed only by the engine's own modules. A node's *desired* table follows from the rings: what its ring
needs, or loopback. *Observed* is what its agent last read from the hardware; it is never assumed.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ringlight.controller.audit.audit import Audit, Look
from ringlight.controller.engine.agenda import Agenda
from ringlight.controller.engine.causes import Cause, Reason
from ringlight.controller.engine.effects import (
    Effect,
    FabricEvent,
    Persist,
    Publish,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.controller.engine.history import History
from ringlight.controller.health.gpu_policy import Seen
from ringlight.controller.health.incidents import Incident
from ringlight.controller.health.verdicts import Ground, Judgement, Verdict
from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import Planner
from ringlight.controller.settings import Settings
from ringlight.fabric.circuits import CircuitTable, Fault, PortKey
from ringlight.fabric.errors import NotFoundError
from ringlight.fabric.rings import chain_hops
from ringlight.fabric.wiring import Hop, HopKey, Wiring


@dataclass(frozen=True, slots=True)
class ReportedFault:
    """An open fault.

    Attributes:
        said: as its agent reported it.
        opened_at: when (monotonic seconds).
        ruled: as grave as the policy finds it, with the reason.
        taken_back: by a later fault of the same GPU: it counts no more, although its agent still has it open.
        remembered: its agent no longer names it, but hears nothing about its GPUs either.
    """

    said: Fault
    opened_at: float
    ruled: Fault
    taken_back: bool = False
    remembered: bool = False


class RingState(StrEnum):
    """Where a ring is between wish and proven light."""

    PLANNED = "PLANNED"  # wanted, no chain yet
    SWITCHING = "SWITCHING"  # its agents were told
    VERIFYING = "VERIFYING"  # every bundle read back right; waiting to see light at both ends of every hop
    ACTIVE = "ACTIVE"  # proven
    BROKEN = "BROKEN"  # damaged, and nothing better could be planned yet
    RELEASED = "RELEASED"  # its job is over


class JobState(StrEnum):
    """How a job fares."""

    PLACING = "PLACING"  # its rings are being switched for the first time
    RUNNING = "RUNNING"  # every ring is ACTIVE
    DEGRADED = "DEGRADED"  # fewer than wanted, at least as many as it needs
    WAITING = "WAITING"  # fewer than it needs
    RELEASED = "RELEASED"


class Overlay(StrEnum):
    """What an operator laid over a node, whatever its verdict."""

    CORDONED = "cordoned"  # no ring may take it; one that it is in stays
    DRAINING = "draining"  # its ring is being laid without it; cordoned or in maintenance after that
    MAINTENANCE = "maintenance"  # somebody works on it: nothing that it does counts until that ends by itself


_NOT_HEARD = Judgement(Verdict.UNKNOWN, frozenset({Ground.TIME}), "its agent has not dialled in yet")


@dataclass(slots=True)
class NodeRecord:
    """One node.

    Attributes:
        last_heard: when its agent last spoke for it (monotonic seconds).
        adopted: its agent has said hello since this controller started.
        light: by port, as last reported.
        dark_since: ports that lost the light of an established circuit, and when.
        reported: open faults its agent reports, by id.
        seen: the XIDs that it reported lately.
        findings: open faults the controller found itself: answers that were wrong or missing.
        well_since: when its last fault closed; None if it never had one.
        generation: of `desired`; 0 while nothing was ever wanted here.
        is_foreign: the circuits it had when it first dialled in come from no change that our records know of.
        usable: it could be given to a ring, when it was last judged.
        transaction: of the last command, or what its agent says is unconfirmed.
        commanded_at: when the last command was decided (monotonic seconds).
        sent: generation of the last command that left for it.
        sent_epoch: in which it left.
        answered: highest generation its agent answered for.
        unanswered: it did not answer its last command in time.
        drift: the digest its last drift was told about; 0 for none.
        unconfirmed: its agent undoes the last command unless that is confirmed.
        ring: name of the ring it belongs to, or empty.
        leaving: name of the ring that a planned change took it out of, until the new chain is proven; or empty.
        overlay: what an operator laid over it.
        overlay_reason: why, in the operator's words.
        drain_forced: its drain may cost a ring.
        maintenance_until: when the maintenance that it drains for, or is in, ends (monotonic seconds); None without.
        failures: when it failed (monotonic seconds), as far as that counts against it; oldest first.
        flaps: when it failed or degraded, likewise.
        failing: its last failure is not over.
        quarantine: why no ring may have it until a person releases it; or empty.
        witness: who says that it is dead while it is silent, and in which words; or empty.
        probed_at: when the site's probe was asked about it last (monotonic seconds).
    """

    position: int
    name: str
    desired: CircuitTable
    last_heard: float = 0.0
    session: str = ""
    adopted: bool = False
    hardware_boot: str = ""
    observed: CircuitTable | None = None
    light: dict[PortKey, bool] = field(default_factory=dict)
    dark_since: dict[PortKey, float] = field(default_factory=dict)
    reported: dict[str, ReportedFault] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    findings: dict[str, Fault] = field(default_factory=dict)
    well_since: float | None = None
    judgement: Judgement = _NOT_HEARD
    generation: int = 0
    is_foreign: bool = False
    usable: bool = False
    transaction: str = ""
    commanded_at: float = 0.0
    sent: int = 0
    sent_epoch: int = 0
    answered: int = 0
    unanswered: bool = False
    drift: int = 0
    unconfirmed: bool = False
    ring: str = ""
    leaving: str = ""
    overlay: Overlay | None = None
    overlay_reason: str = ""
    drain_forced: bool = False
    maintenance_until: float | None = None
    failures: list[float] = field(default_factory=list)
    flaps: list[float] = field(default_factory=list)
    failing: bool = False
    quarantine: str = ""
    witness: str = ""
    probed_at: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What the controller believes about the node."""
        return self.judgement.verdict

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Every open fault that counts, by id."""
        ruled = {fault_id: one.ruled for fault_id, one in self.reported.items() if not one.taken_back}
        return tuple(fault for _, fault in sorted({**ruled, **self.findings}.items()))

    @property
    def in_place(self) -> bool:
        """Its hardware was read back as wanted, in answer to the last command."""
        return self.observed == self.desired and self.answered >= self.generation

    @property
    def was_told(self) -> bool:
        """This controller sent a command for what is wanted here, so that an answer may be expected."""
        return 0 < self.generation <= self.sent

    @property
    def is_being_undone(self) -> bool:
        """It has a planned change of which our records know nothing: a crash came first, and its agent undoes it."""
        return self.is_foreign and self.unconfirmed

    @property
    def carries_foreign_light(self) -> bool:
        """It selects a lit fibre that no ring of ours asks for and that we did not switch: hands off."""
        if self.observed is None or not self.is_foreign:
            return False
        return any(
            self.light.get((bundle, path), False)
            for bundle, path in enumerate(self.observed)
            if path.is_external and path is not self.desired[bundle]
        )


@dataclass(slots=True)
class RingRecord:
    """One ring.

    Attributes:
        chain: its nodes by position; empty while it has none.
        cause, reason: why it changed last, or has to, in words and as one of a closed set.
        hops: of the chain.
        established: light was proven for the present chain, now or before a restart.
        planned: the change under way is commit-confirmed.
        deadline: when the present step must be done (monotonic seconds).
        allowance: seconds each step gets more, for the size of the change it is part of.
        broken_at: when the evidence came that set off the repair under way: a report, or light that was lost.
        answered_at: when the last node answered.
    """

    name: str
    job: str
    chain: Chain = ()
    hops: tuple[Hop, ...] = ()
    state: RingState = RingState.PLANNED
    cause: str = ""
    reason: Reason = Reason.PLACED
    generation: int = 0
    established: bool = False
    planned: bool = False
    deadline: float | None = None
    allowance: float = 0.0
    broken_at: float | None = None
    sent_at: float = 0.0
    answered_at: float = 0.0

    def blame(self, cause: Cause | None) -> None:
        """Remember why it changes; None leaves what is known."""
        if cause is not None:
            self.cause, self.reason = cause.text, cause.reason


@dataclass(slots=True)
class JobRecord:
    """One job and its rings, in rank order.

    Attributes:
        settled_once: its rings have come to rest since it was submitted.
        stalled_until: how long its launcher's word that it stands still counts (monotonic seconds).
        plan_again_at: not to be planned before (monotonic seconds).
    """

    name: str
    rings_wanted: int
    tp: int
    min_rings: int
    priority: int
    order: int
    pinned: bool = False
    rings: list[RingRecord] = field(default_factory=list)
    released: bool = False
    settled_once: bool = False
    stalled_until: float = -math.inf
    plan_again_at: float = -math.inf

    @property
    def precedence(self) -> tuple[int, int]:
        """Jobs are planned in this order: the higher priority first, then the older one."""
        return -self.priority, self.order

    @property
    def rings_laid(self) -> int:
        """Rings that have nodes, whether or not they carry light."""
        return sum(bool(ring.chain) for ring in self.rings)

    @property
    def active(self) -> int:
        """Rings that are ACTIVE."""
        return sum(ring.state is RingState.ACTIVE for ring in self.rings)

    @property
    def state(self) -> JobState:
        """How the job fares."""
        if self.released:
            return JobState.RELEASED
        if self.active == self.rings_wanted:
            return JobState.RUNNING
        if not self.settled_once:
            return JobState.PLACING
        return JobState.DEGRADED if self.active >= self.min_rings else JobState.WAITING


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A live session."""

    session: str
    agent: str
    agent_boot: str
    nodes: tuple[str, ...]


@dataclass(slots=True)
class AuditRecord:
    """The cabling audit under way.

    Attributes:
        name: in all that is told of it.
        left_out: nodes that it never had, and why.
        highest_loss: dB above which a fibre is dirty.
        question: number of the last one that was asked.
        looks: answers to that which are not taken in yet, by position.
        told: rounds that were told to be over.
    """

    name: str
    audit: Audit
    left_out: Mapping[str, str]
    highest_loss: float
    question: int = 0
    looks: dict[int, Look] = field(default_factory=dict)
    told: int = 0


@dataclass(slots=True)
class Audits:
    """What the cabling audits need to be remembered for.

    Attributes:
        under_way: the one there is.
        members: positions of the nodes that it has.
        questions: that were asked so far.
        spoken_for: generations up to this one are on record as past, for an audit.
    """

    under_way: AuditRecord | None = None
    members: set[int] = field(default_factory=set)
    questions: int = 0
    spoken_for: int = 0


class State:
    """Everything the engine remembers, and the effects it has decided on so far in this step."""

    def __init__(self, wiring: Wiring, settings: Settings) -> None:
        self.wiring = wiring
        self.settings = settings
        self.started_at = 0.0
        self.epoch = 0
        self.generation = self.reserved = 0
        self.recorded_generation = 0  # of the newest change that the records knew of at this start
        self.sequence = self.violations = 0
        self.nodes = [NodeRecord(p, wiring.name(p), wiring.loopback) for p in range(wiring.size)]
        self.jobs: dict[str, JobRecord] = {}
        self.rings: dict[str, RingRecord] = {}
        self.sessions: dict[str, SessionRecord] = {}
        self.known_agents: set[str] = set()  # that were told our epoch
        self.session_of_agent: dict[str, str] = {}
        racks = [node.rack for node in wiring.spec.nodes]
        domains = [node.domain for node in wiring.spec.nodes]
        self.planner = Planner(Cabling.of_wiring(wiring), wiring.name, racks, domains)
        for position in range(wiring.size):
            self.planner.order.set_usable(position, usable=False)  # until its agent has spoken
        self.dead_hops: dict[HopKey, float] = {}
        self.untested: dict[HopKey, float] = {}  # were dead since then, may be tried again, and were not seen lit yet
        self.wall_offset = 0.0  # wall-clock time minus ours
        self.now = -math.inf  # of the event being handled
        self.stalled = self.bus_lost = ""  # why our sense of time, and our hearing, are not to be trusted at present
        self.stalled_until = -math.inf
        self.trusted_since = 0.0  # silence is counted from then at the earliest
        self.open = False  # absence may be reasoned about: see engine
        self.doubts: tuple[str, ...] = ()  # why silence may not be judged
        self.paused: str | None = None  # why a person told us to change nothing
        self.tripped: str | None = None  # why the breaker tripped
        self.deposed = ""  # who took over from us
        self.light_waits = False  # for agents that have not dialled in, until adoption can judge it
        self.strange_light = False  # there may be light that no ring of ours accounts for: see `adoption`
        self.capacity_grew = False  # something that a waiting ring could use has become free
        self.in_flight: set[str] = set()  # rings that are being changed
        self.owing: set[int] = set()  # nodes whose agents owe an answer to a command
        self.failed: set[int] = set()  # nodes that are FAILED
        self.speaking: set[int] = set()  # known nodes that were heard lately: see `doubt`
        self.quiet: set[int] = set()  # known nodes that were not
        self.new_failures: deque[tuple[float, int]] = deque()  # when which node failed, as far as the breaker counts it
        self.incidents: dict[str, Incident] = {}  # the last one of each ring
        self.incidents_opened = 0
        self.has_commanded = False  # in this term
        self.damaged: set[str] = set()  # rings that cannot stay as they are
        self.leaving: set[int] = set()  # nodes that a planned change took out of a ring, until that is proven
        self.audits = Audits()
        self.postponed: set[str] = set()  # damaged jobs that wait for more agents to dial in
        self.dirty_nodes: set[int] = set()  # to be judged in this step
        self.dirty_rings: set[str] = set()  # to be looked at in this step
        self.agenda = Agenda()
        self.history = History()
        self.effects: list[Effect] = []

    @property
    def settled(self) -> bool:
        """Nothing is in flight: no ring is being changed, no agent owes an answer, and nothing is audited."""
        return not self.owing and not self.in_flight and self.audits.under_way is None

    def node(self, name: str) -> NodeRecord:
        """A node by name; raises `NotFoundError`."""
        return self.nodes[self.wiring.position(name)]

    def job(self, name: str) -> JobRecord:
        """A job by name.

        Raises:
            NotFoundError: there is no such job.
        """
        job = self.jobs.get(name)
        if job is None:
            known = ", ".join(sorted(self.jobs)) or "none"
            raise NotFoundError(f"no job {name!r}", hint=f"jobs: {known}")
        return job

    def chain_nodes(self, ring: RingRecord) -> Iterator[NodeRecord]:
        """The nodes of a ring in chain order."""
        return (self.nodes[position] for position in ring.chain)

    def enter(self, ring: RingRecord, ring_state: RingState) -> None:
        """Let a ring enter a state."""
        ring.state = ring_state
        if ring_state in (RingState.SWITCHING, RingState.VERIFYING):
            self.in_flight.add(ring.name)
        else:
            self.in_flight.discard(ring.name)

    def lay(self, ring: RingRecord, chain: Chain) -> None:
        """Give a ring its chain; an empty one takes it away. Where it goes no other ring may lie."""
        self.lift(ring)
        if chain:
            self.planner.order.lay(ring.name, ring.job, chain)
        ring.chain = chain
        ring.hops = chain_hops(self.wiring, chain)

    def lift(self, ring: RingRecord) -> None:
        """From now on other rings may be planned where a ring lies. Its record keeps its chain."""
        if self.planner.order.is_laid(ring.name):
            self.planner.order.lift(ring.name)

    def kill(self, key: HopKey, now: float) -> None:
        """Believe that a fibre carries no light."""
        self.dead_hops[key] = now
        self.planner.order.set_live(key, live=False)

    def revive(self, key: HopKey) -> bool:
        """Believe that a fibre may carry light; False when that was believed before."""
        self.planner.order.set_live(key, live=True)
        return self.dead_hops.pop(key, None) is not None

    def cover(self, node: NodeRecord, overlay: Overlay | None) -> None:
        """Lay an overlay over a node, or lift it; whether it is usable is looked at again."""
        node.overlay = overlay
        self.planner.order.set_usable(node.position, usable=node.usable and overlay is None)
        self.dirty_nodes.add(node.position)

    def reserve_generations(self, ahead_of: int = 0) -> None:
        """Keep a block of generations reserved in the store, ahead of their use, or of one that is used later."""
        block = self.settings.store.generation_block
        next_used = max(self.generation, ahead_of)
        if self.reserved < next_used + block // 2:
            self.reserved = next_used + block
            self.emit(Persist(reserved=self.reserved))

    def emit(self, effect: Effect) -> None:
        """Ask something of the world."""
        self.effects.append(effect)

    def tell(self, kind: str, subject: str, text: str, **data: str) -> None:
        """Publish an event and remember it for `explain`."""
        self.sequence += 1
        event = FabricEvent(self.sequence, kind, subject, text, data)
        self.history.add(event)
        self.emit(Publish(event))


def stored_job(job: JobRecord) -> StoredJob:
    """A job as the store keeps it."""
    return StoredJob(
        job.name, job.rings_wanted, job.tp, job.min_rings, job.priority, job.order, job.pinned, job.released
    )


def stored_ring(wiring: Wiring, ring: RingRecord) -> StoredRing:
    """A ring as the store keeps it."""
    chain = tuple(wiring.name(position) for position in ring.chain)
    return StoredRing(ring.name, ring.job, chain, ring.state.value, ring.cause, ring.generation)


def stored_hop(state: State, key: HopKey) -> StoredHop:
    """What is believed of a fibre that was found dark, as the store keeps it."""
    since = state.dead_hops.get(key, state.untested.get(key))
    return StoredHop(state.wiring.hop_name(key), None if since is None else since + state.wall_offset)


def stored_overlay(node: NodeRecord, wall_offset: float) -> StoredOverlay:
    """What lies over a node, as the store keeps it; its end is dated by the wall clock, so far ahead of ours."""
    if node.overlay is None:
        return StoredOverlay(node.name, "")
    until = 0.0 if node.maintenance_until is None else node.maintenance_until + wall_offset
    return StoredOverlay(node.name, node.overlay.value, node.overlay_reason, node.leaving, node.drain_forced, until)
