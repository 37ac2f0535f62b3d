"""The verdict on one node, as a decision table one can read aloud (DESIGN section 5).

Invariant I7 lives here: no verdict that moves light rests on silence alone. Every `Judgement` names its grounds, and
`FAILED` always has one that is not silence.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from ringlight.fabric.circuits import Fault, FaultClass


class Verdict(StrEnum):
    """What the controller believes about a node."""

    HEALTHY = "HEALTHY"
    SUSPECT = "SUSPECT"  # silent for a little: nothing is done, nothing new is begun here
    UNREACHABLE = "UNREACHABLE"  # silent, but its light is on: the ring stays
    UNKNOWN = "UNKNOWN"  # silent, and nobody who speaks could see its light
    DEGRADED = "DEGRADED"  # works, but gets no new ring
    PROBATION = "PROBATION"  # well again, not yet trusted with a ring
    FAILED = "FAILED"  # bypass


class Ground(Enum):
    """What a judgement rests on."""

    REPORT = auto()  # the agent, or the hardware's answer to a command, says so
    DARKNESS = auto()  # a speaking neighbour lost its light
    LIGHT = auto()  # a speaking neighbour sees its light
    SILENCE = auto()  # nothing was heard for a while
    WITNESS = auto()  # a person, a launcher or the site's own probe says so
    RULE = auto()  # the site wants silence of this length to count as failure
    TIME = auto()  # a waiting period of our own


class Speech(Enum):
    """How long an agent has been silent, by the controller's own monotonic clock."""

    AWAITED = auto()  # not heard yet since the controller started, and still within the grace period
    SPEAKS = auto()
    SUSPECT = auto()  # longer than the suspect time
    DOUBTED = auto()  # longer than the confirm time, but it may be the controller that is deaf
    SILENT = auto()  # longer than the confirm time


class NeighbourLight(Enum):
    """What speaking neighbours say of the light that a node sends over the hops it should light."""

    NONE_EXPECTED = auto()  # the node carries no circuit: there is no light to witness
    NO_WITNESS = auto()  # no neighbour that could see it speaks
    DARK = auto()  # every speaking neighbour lost it
    PRESENT = auto()  # at least one speaking neighbour sees it


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict rests on.

    Attributes:
        speech: of the node's agent.
        faults: open faults, reported by the agent or found by the controller.
        light: at the neighbours.
        failed_on: the grounds of the last verdict, if that was FAILED. A node that was bypassed has no light left to
            witness, so silence keeps it FAILED until it speaks again.
        witness: who says that a silent node is dead, in words; or empty.
        overdue: it has been silent for longer than the site allows a node in a ring to be.
        probation: why it is not trusted with a ring yet, though it is well; or empty.
    """

    speech: Speech
    faults: Collection[Fault]
    light: NeighbourLight
    failed_on: frozenset[Ground] = frozenset()
    witness: str = ""
    overdue: bool = False
    probation: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, what it rests on, and the reason for a person."""

    verdict: Verdict
    grounds: frozenset[Ground]
    reason: str


def judge(evidence: Evidence) -> Judgement:
    """The verdict on a node."""
    fatal = _gravest(evidence.faults, FaultClass.FATAL)
    if fatal is not None:
        return _judgement(Verdict.FAILED, {Ground.REPORT}, f"{fatal.component}: {fatal.text or fatal.code}")
    if evidence.speech is Speech.SILENT:
        return _of_silence(evidence)
    if evidence.speech is Speech.AWAITED:
        return _judgement(Verdict.UNKNOWN, {Ground.TIME}, "its agent has not dialled in yet")
    if evidence.speech in (Speech.SUSPECT, Speech.DOUBTED) and (evidence.witness or _stays_failed(evidence)):
        return _of_silence(evidence)
    if evidence.speech is Speech.DOUBTED:
        return _judgement(Verdict.UNKNOWN, {Ground.SILENCE}, "the agent is silent, or the controller is deaf")
    if evidence.speech is Speech.SUSPECT:
        return _judgement(Verdict.SUSPECT, {Ground.SILENCE}, "the agent has been silent for a little")
    degraded = _gravest(evidence.faults, FaultClass.DEGRADED)
    if degraded is not None:
        return _judgement(Verdict.DEGRADED, {Ground.REPORT}, f"{degraded.component}: {degraded.text or degraded.code}")
    if evidence.probation:
        return _judgement(Verdict.PROBATION, {Ground.TIME}, evidence.probation)
    return _judgement(Verdict.HEALTHY, {Ground.REPORT}, "its agent speaks and reports no fault")


def _of_silence(evidence: Evidence) -> Judgement:
    light = evidence.light
    if light is NeighbourLight.DARK:
        reason = "the agent is silent and its neighbours lost its light"
        return _judgement(Verdict.FAILED, {Ground.SILENCE, Ground.DARKNESS}, reason)
    if evidence.witness:
        reason = f"the agent is silent, and {evidence.witness}"
        return _judgement(Verdict.FAILED, {Ground.SILENCE, Ground.WITNESS}, reason)
    if evidence.overdue:
        reason = "the agent has been silent for longer than this site allows a node in a ring to be"
        return _judgement(Verdict.FAILED, {Ground.SILENCE, Ground.RULE}, reason)
    if _stays_failed(evidence):
        reason = "it failed, and its agent has been silent since"
        return _judgement(Verdict.FAILED, {Ground.SILENCE, *evidence.failed_on}, reason)
    if light is NeighbourLight.PRESENT:
        return _judgement(
            Verdict.UNREACHABLE,
            {Ground.SILENCE, Ground.LIGHT},
            "the agent is silent, but its light is on: the ring stays",
        )
    if light is NeighbourLight.NO_WITNESS:
        return _judgement(
            Verdict.UNKNOWN, {Ground.SILENCE}, "the agent is silent, and so is everyone who could see its light"
        )
    return _judgement(Verdict.UNREACHABLE, {Ground.SILENCE}, "the agent is silent; the node carries no circuit")


def _stays_failed(evidence: Evidence) -> bool:
    return bool(evidence.failed_on) and evidence.light is not NeighbourLight.PRESENT


def _gravest(faults: Collection[Fault], fault_class: FaultClass) -> Fault | None:
    of_class = sorted((fault for fault in faults if fault.fault_class is fault_class), key=lambda fault: fault.id)
    return of_class[0] if of_class else None


def _judgement(verdict: Verdict, grounds: set[Ground], reason: str) -> Judgement:
    return Judgement(verdict, frozenset(grounds), reason)
