"""Whether a hop that should carry light is dead: the judgement on one fibre.

A hop is dead when an end that speaks lost its light and the other end's node is not itself the cause: it lost the
light too and says so, or it has gone on speaking since, or it is silent for other reasons while its node stays up.
While the far end might still turn out to be a dead node, the hop is *undecided*: routing around the fibre and keeping
a dead node would waste a switch. A short settling time lets a graver explanation (a module fault, a lost GPU) arrive
first, since one cause makes several neighbours complain.
"""

from dataclasses import dataclass
from enum import Enum, auto

from ringlight.controller.health.verdicts import Speech


class HopState(Enum):
    """What the controller believes about a hop that a ring uses."""

    LIT = auto()
    UNDECIDED = auto()
    DEAD = auto()


@dataclass(frozen=True, slots=True)
class EndEvidence:
    """One end of a hop.

    Attributes:
        lit: light arrives here, by the last word of this end.
        dark_since: when this end's light was lost, or None.
        speech: of this end's agent.
        last_heard: when its agent was last heard.
    """

    lit: bool
    dark_since: float | None
    speech: Speech
    last_heard: float


def judge_hop(one: EndEvidence, other: EndEvidence, now: float, *, settle: float, heartbeat: float) -> HopState:
    """The state of a hop whose both ends were told to light it and confirmed that they select it.

    Args:
        one: an end.
        other: the other end.
        now: monotonic seconds.
        settle: seconds a darkness must last.
        heartbeat: seconds between heartbeats; a message heard later than this after the loss was sent after it.
    """
    dark = [end for end in (one, other) if not end.lit and end.dark_since is not None]
    if not dark:
        return HopState.LIT
    since = min(end.dark_since for end in dark if end.dark_since is not None)
    if now < since + settle:
        return HopState.UNDECIDED
    both_say_so = len(dark) == 2 and all(end.speech is Speech.SPEAKS for end in dark)  # noqa: PLR2004 - both ends
    both_go_on = all(end.speech is Speech.SPEAKS and end.last_heard >= since + heartbeat for end in (one, other))
    silence_explained = any(end.speech is Speech.SILENT for end in (one, other))
    return HopState.DEAD if both_say_so or both_go_on or silence_explained else HopState.UNDECIDED
