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
    TIME = auto()  # a waiting period of our own


class Speech(Enum):
    """How long an agent has been silent, by the controller's own monotonic clock."""

    AWAITED = auto()  # not heard yet since the controller started, and still within the grace period
    SPEAKS = auto()
    SUSPECT = auto()  # longer than the suspect time
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
        was_failed: the last verdict was FAILED. A node that was bypassed has no light left to witness, so silence
            keeps it FAILED until it speaks again.
        on_probation: the last fault closed less than the probation time ago.
    """

    speech: Speech
    faults: Collection[Fault]
    light: NeighbourLight
    was_failed: bool = False
    on_probation: bool = False


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
    if evidence.speech is Speech.SUSPECT:
        return _judgement(Verdict.SUSPECT, {Ground.SILENCE}, "the agent has been silent for a little")
    degraded = _gravest(evidence.faults, FaultClass.DEGRADED)
    if degraded is not None:
        return _judgement(Verdict.DEGRADED, {Ground.REPORT}, f"{degraded.component}: {degraded.text or degraded.code}")
    if evidence.on_probation:
        return _judgement(Verdict.PROBATION, {Ground.TIME}, "well again, waiting out its probation")
    return _judgement(Verdict.HEALTHY, {Ground.REPORT}, "its agent speaks and reports no fault")


def _of_silence(evidence: Evidence) -> Judgement:
    light = evidence.light
    if light is NeighbourLight.DARK or (evidence.was_failed and light is not NeighbourLight.PRESENT):
        return _judgement(
            Verdict.FAILED,
            {Ground.SILENCE, Ground.DARKNESS},
            "the agent is silent and its neighbours lost its light",
        )
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


def _gravest(faults: Collection[Fault], fault_class: FaultClass) -> Fault | None:
    of_class = sorted((fault for fault in faults if fault.fault_class is fault_class), key=lambda fault: fault.id)
    return of_class[0] if of_class else None


def _judgement(verdict: Verdict, grounds: set[Ground], reason: str) -> Judgement:
    return Judgement(verdict, frozenset(grounds), reason)
