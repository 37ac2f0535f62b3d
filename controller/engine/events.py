"""What can happen to the engine. Nodes are named by name here, as the world outside names them."""

from collections.abc import Mapping
from dataclasses import dataclass

from ringlight.controller.engine.effects import (
    NOTHING_HELD,
    StoredConduct,
    StoredHold,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.fabric.circuits import CircuitTable, Fault, OpticalPower, PortKey
from ringlight.fabric.inventory import Inventory
from ringlight.fabric.outcomes import ApplyCode, BundleCode


@dataclass(frozen=True, slots=True)
class Restored:
    """The store was read at start. Comes first, once.

    Attributes:
        epoch: the term of this controller: already higher than every former one.
        generation: every generation up to this one may have been used.
        sequence: of the newest event in the log.
        jobs: every job that is not released.
        rings: their rings.
        overlays: what operators laid over nodes.
        conduct: what counts against nodes.
        hops: fibres that were found dark.
        hold: whether anything may move.
        reserved: generations up to this one are reserved for this term already; 0 when they are not.
        recorded: generation of the newest change that the records know of; hardware may show a later one.
        wall: wall-clock time of this moment (seconds since 1970), by which stored times are dated.
    """

    epoch: int
    generation: int = 0
    sequence: int = 0
    jobs: tuple[StoredJob, ...] = ()
    rings: tuple[StoredRing, ...] = ()
    overlays: tuple[StoredOverlay, ...] = ()
    conduct: tuple[StoredConduct, ...] = ()
    hops: tuple[StoredHop, ...] = ()
    hold: StoredHold = NOTHING_HELD
    reserved: int = 0
    recorded: int = 0
    wall: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreBegunAnew:
    """What the store held was lost while the controller runs, and a new one was written from memory.

    Attributes:
        reason: what was wrong.
        kept_as: where the damaged one is; empty when there is nothing left of it.
    """

    reason: str
    kept_as: str = ""


@dataclass(frozen=True, slots=True)
class StoreTaken:
    """Another controller has begun a term on our store."""

    reason: str


@dataclass(frozen=True, slots=True)
class BusLost:
    """The broker over which agents beat is out of reach: what they say there is not heard."""

    reason: str


@dataclass(frozen=True, slots=True)
class BusBack:
    """It is in reach again."""


@dataclass(frozen=True, slots=True)
class NodeHello:
    """What an agent read from one node's hardware when it dialled."""

    node: str
    hardware_boot: str
    inventory: Inventory
    circuits: CircuitTable
    light: Mapping[PortKey, bool]
    faults: tuple[Fault, ...] = ()
    applied_generation: int = 0
    unconfirmed: str = ""  # transaction that its agent will undo unless it is confirmed


@dataclass(frozen=True, slots=True)
class AgentHello:
    """An agent dialled and introduced itself."""

    session: str
    agent: str
    agent_boot: str
    protocol: int
    fabric: str
    highest_epoch: int
    nodes: tuple[NodeHello, ...]


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The stream of a session ended."""

    session: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeBeat:
    """One node's part of a heartbeat."""

    node: str
    applied_generation: int
    digest: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """An agent says that it lives, and what its nodes select."""

    session: str
    nodes: tuple[NodeBeat, ...]


@dataclass(frozen=True, slots=True)
class FaultReported:
    """A fault opened on a node."""

    session: str
    node: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class FaultCleared:
    """A fault closed on a node."""

    session: str
    node: str
    fault_id: str


@dataclass(frozen=True, slots=True)
class LightReported:
    """Light came or went at ports of a node."""

    session: str
    node: str
    changed: Mapping[PortKey, bool]


@dataclass(frozen=True, slots=True)
class Applied:
    """An agent's answer to a command: what the hardware reads now."""

    session: str
    node: str
    transaction: str
    epoch: int
    generation: int
    code: ApplyCode
    bundles: Mapping[int, BundleCode]
    circuits: CircuitTable
    light: Mapping[PortKey, bool]
    switch_seconds: float = 0.0
    reason: str = ""
    highest_epoch: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """An agent's answer to a question: what the hardware reads since it came; empty where it did not answer.

    Attributes:
        powers: as far as the hardware measures them.
    """

    session: str
    node: str
    question: int
    circuits: CircuitTable
    light: Mapping[PortKey, bool]
    powers: Mapping[PortKey, OpticalPower]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: something that was waited for may be due."""


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """A scheduler or person asks for rings.

    Attributes:
        request: names the answer.
        name: of the job.
        rings: rings wanted.
        tp: GPUs a ring.
        min_rings: fewer are useless to the job; 0 means all of them.
        priority: higher is planned first.
        pinned: a ring of it that works is never moved, even to make room for another of its rings.
        proposal: chains by position, worked out beforehand with regard to racks; laid if they can be still.
    """

    request: str
    name: str
    rings: int
    tp: int
    min_rings: int = 0
    priority: int = 0
    pinned: bool = False
    proposal: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """The job is over: its rings dissolve."""

    request: str
    name: str


@dataclass(frozen=True, slots=True)
class ResizeJob:
    """The job wants another number of rings.

    Attributes:
        min_rings: fewer are useless to the job; 0 leaves the former minimum, or lowers it to `rings`.
        dry_run: answer what would follow, and change nothing.
    """

    request: str
    name: str
    rings: int
    min_rings: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Cordon:
    """No ring may take these nodes any more; rings they are in stay."""

    request: str
    nodes: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Uncordon:
    """Rings may take these nodes again, as far as their verdicts allow."""

    request: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drain:
    """Take these nodes out of their rings, and cordon them; or have them for maintenance.

    Attributes:
        force: go ahead even if it costs a ring.
        maintenance: seconds for which somebody works on them: until then nothing they do counts, and they serve again
            by themselves afterwards. 0 to cordon them until they are uncordoned.
        dry_run: answer what would follow, and change nothing.
    """

    request: str
    nodes: tuple[str, ...]
    reason: str = ""
    force: bool = False
    maintenance: float = 0.0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseQuarantine:
    """Trust these nodes again: what counted against them is forgotten."""

    request: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrustHops:
    """A person says that these fibres carry light again."""

    request: str
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """Observe, and change nothing until resumed."""

    request: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    """End a pause: the present state is looked at afresh."""

    request: str


@dataclass(frozen=True, slots=True)
class ResetBreaker:
    """A person has looked: things may move again, by the present state of the fabric."""

    request: str


@dataclass(frozen=True, slots=True)
class ReportStall:
    """A job's launcher says that the job stands still: a second witness against its silent nodes."""

    request: str
    job: str


@dataclass(frozen=True, slots=True)
class DeclareDead:
    """A person says that these silent nodes are dead."""

    request: str
    nodes: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BeginAudit:
    """Reserve idle nodes for a cabling audit. It goes ahead once that is on record: `GoAhead`.

    Attributes:
        audit: names it, in all that is told of it.
        nodes: only these; empty for every idle node.
        highest_loss: dB above which a fibre is dirty; 0 for what the settings say.
    """

    request: str
    audit: str
    nodes: tuple[str, ...] = ()
    highest_loss: float = 0.0


@dataclass(frozen=True, slots=True)
class GoAhead:
    """It is on record that an audit begins."""

    audit: str


@dataclass(frozen=True, slots=True)
class EndAudit:
    """Whoever asked for an audit is gone."""

    audit: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProbeAnswered:
    """The site's own witness was asked about a node.

    Attributes:
        up: what it says; None when it does not know, or did not answer in time.
        text: one line for a person.
    """

    node: str
    up: bool | None
    text: str = ""


OperatorRequest = (
    SubmitJob
    | ReleaseJob
    | ResizeJob
    | Cordon
    | Uncordon
    | Drain
    | ReleaseQuarantine
    | TrustHops
    | Pause
    | Resume
    | ResetBreaker
    | ReportStall
    | DeclareDead
    | BeginAudit
)
Event = (
    Restored
    | StoreBegunAnew
    | StoreTaken
    | BusLost
    | BusBack
    | AgentHello
    | SessionLost
    | Heartbeat
    | FaultReported
    | FaultCleared
    | LightReported
    | Applied
    | Measured
    | ProbeAnswered
    | GoAhead
    | EndAudit
    | Tick
    | OperatorRequest
)
