"""What the engine asks of the world. The runtime carries effects out in the order given."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringlight.controller.audit.findings import Report
from ringlight.fabric.circuits import CircuitTable
from ringlight.fabric.errors import RinglightError


@dataclass(frozen=True, slots=True)
class Admit:
    """Welcome a session."""

    session: str
    epoch: int
    heartbeat_interval: float


@dataclass(frozen=True, slots=True)
class Refuse:
    """End a session that was never admitted, with the reason."""

    session: str
    error: RinglightError


@dataclass(frozen=True, slots=True)
class Close:
    """End an admitted session; its agent should dial again."""

    session: str
    reason: str


@dataclass(frozen=True, slots=True)
class SendCircuits:
    """Bring a node to this table."""

    session: str
    node: str
    epoch: int
    generation: int
    transaction: str
    table: CircuitTable
    revert_after: float = 0.0


@dataclass(frozen=True, slots=True)
class SendConfirm:
    """The planned change is proven; do not revert it."""

    session: str
    node: str
    epoch: int
    transaction: str


@dataclass(frozen=True, slots=True)
class SendQuestion:
    """Ask what a node selects, where light is, and how much."""

    session: str
    node: str
    question: int


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the store keeps it."""

    name: str
    rings: int
    tp: int
    min_rings: int
    priority: int
    order: int
    pinned: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True)
class StoredRing:
    """A ring as the store keeps it. The chain is by name, since a fabric file may change between two starts."""

    name: str
    job: str
    chain: tuple[str, ...]
    state: str
    cause: str
    generation: int

    @property
    def released(self) -> bool:
        """It is over: a store forgets it."""
        return self.state == "RELEASED"


@dataclass(frozen=True, slots=True)
class StoredOverlay:
    """What an operator laid over a node; an empty `overlay` means that it was lifted.

    Attributes:
        leaving: the ring whose planned change takes the node out of it, until that is proven.
        forced: a drain that may cost a ring.
        until: wall-clock time at which maintenance ends by itself (seconds since 1970); 0 for an overlay without end.
    """

    node: str
    overlay: str
    reason: str = ""
    leaving: str = ""
    forced: bool = False
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredConduct:
    """How a node has behaved, as far as it counts against it. Times are wall clock, in seconds since 1970.

    Attributes:
        failures: when it failed, oldest first.
        flaps: when it failed or degraded, oldest first.
        failing: its last failure is not over, so that finding it again after a restart is no new one.
        quarantine: why no ring may have it until a person releases it; empty when that is not so.
    """

    node: str
    failures: tuple[float, ...] = ()
    flaps: tuple[float, ...] = ()
    failing: bool = False
    quarantine: str = ""

    @property
    def spotless(self) -> bool:
        """Nothing counts against it: a store forgets it."""
        return not (self.failures or self.flaps or self.failing or self.quarantine)


@dataclass(frozen=True, slots=True)
class StoredHop:
    """A fibre that was found dark, and not seen lit since.

    Attributes:
        hop: its name.
        dead_since: wall-clock time (seconds since 1970); None when it was seen lit: a store forgets it.
    """

    hop: str
    dead_since: float | None


@dataclass(frozen=True, slots=True)
class StoredHold:
    """Whether anything may move, as the store keeps it.

    Attributes:
        paused: why a person told the controller to change nothing; None when nobody did.
        tripped: why the breaker tripped; None when it did not.
    """

    paused: str | None = None
    tripped: str | None = None


NOTHING_HELD = StoredHold()


@dataclass(frozen=True, slots=True)
class Persist:
    """Keep this. Records replace former ones of the same name; those of what was released or lifted are forgotten.

    Attributes:
        hold: replaces the former one; None leaves it.
        epoch: raise the stored epoch to this; 0 leaves it.
        reserved: generations up to this one count as used after a restart; 0 leaves it.
        generation: of the newest change that the records know of; 0 leaves it.
    """

    jobs: tuple[StoredJob, ...] = ()
    rings: tuple[StoredRing, ...] = ()
    overlays: tuple[StoredOverlay, ...] = ()
    conduct: tuple[StoredConduct, ...] = ()
    hops: tuple[StoredHop, ...] = ()
    hold: StoredHold | None = None
    epoch: int = 0
    reserved: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class FabricEvent:
    """Something worth telling: one line of the event log.

    Attributes:
        sequence: only grows, across restarts.
        kind: of event, such as ``fault-opened``.
        subject: node, ring, job, hop or agent it is about.
        text: one line for a person.
        data: machine-readable details.
    """

    sequence: int
    kind: str
    subject: str
    text: str
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Publish:
    """Put an event into the log and before everyone who watches."""

    event: FabricEvent


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send a `Tick` at this time (monotonic seconds). Replaces a former wish; None means there is none."""

    when: float | None


@dataclass(frozen=True, slots=True)
class RingChange:
    """What becomes of one ring: the nodes of its former and its new chain. Without a new one it waits, or is over."""

    ring: str
    former: tuple[str, ...]
    chain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What follows from an operator's request: the rings that change, by job and rank, and the reasons in words."""

    rings: tuple[RingChange, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an operator's request, given once everything before it is persisted.

    Attributes:
        planned: what follows from it.
        dry: nothing was changed, so there is nothing to wait for.
    """

    request: str
    error: RinglightError | None = None
    planned: PlannedChange = PlannedChange()
    dry: bool = False


@dataclass(frozen=True, slots=True)
class AuditBegan:
    """Nodes are reserved for an audit; `left_out` says of others why they are not."""

    nodes: tuple[str, ...]
    left_out: Mapping[str, str]
    rounds: int


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """So many rounds of an audit are over."""

    done: int
    rounds: int


@dataclass(frozen=True, slots=True)
class AuditOver:
    """An audit is over.

    Attributes:
        left: nodes that left it, and why.
        report: what was found; None when it was broken off.
        why: it was broken off; empty when it was not.
    """

    left: Mapping[str, str]
    report: Report | None
    why: str = ""


AuditNews = AuditBegan | AuditProgress | AuditOver


@dataclass(frozen=True, slots=True)
class TellAudit:
    """News of an audit for whoever asked for it."""

    audit: str
    news: AuditNews


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask the site's own witness whether a silent node is up."""

    node: str


Effect = (
    Admit
    | Refuse
    | Close
    | SendCircuits
    | SendConfirm
    | SendQuestion
    | Persist
    | Publish
    | WakeAt
    | Answer
    | TellAudit
    | Probe
)
