"""Why a ring changes, as a closed set for whoever counts, and in words for a person."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a ring is laid, or laid anew."""

    PLACED = "placed"  # it had no nodes: it is new, or waited for room
    NODE_FAILED = "node-failed"
    HOP_DARK = "hop-dark"
    NO_ANSWER = "no-answer"  # an agent did not answer, or refused
    ASTRAY = "astray"  # hardware does not select what the ring needs
    DRAIN = "drain"
    MADE_ROOM = "made-room"  # for another ring of its job
    RESTART = "restart"  # it was being changed when the controller started


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a ring cannot stay as it is."""

    reason: Reason
    text: str


MADE_ROOM = Cause(Reason.MADE_ROOM, "moved to make room for another ring")
