"""The self-doubt gate: when the controller should mistrust itself rather than the fabric.

While there is any doubt, silence is not judged: no node is called silent, and no hop dead because an end of it fell
silent. What agents report explicitly is acted on all the same. When the doubts are over, silence is counted anew from
that moment, so that nobody is judged by what was missed meanwhile.
"""

from dataclasses import dataclass

from ringlight.controller.health.settings import DoubtSettings


@dataclass(frozen=True, slots=True)
class Situation:
    """What the controller knows about itself.

    Attributes:
        starting: it started a moment ago, and agents are still dialling in.
        stalled: why its own sense of time is not to be trusted at present; or empty.
        speaking: nodes that were heard lately.
        known: nodes that should be heard: those that dialled in before, and those in rings. Nodes that failed already,
            and those that somebody works on or took out of use, are not missed.
        deaf: why it may not hear what agents say; or empty.
    """

    starting: bool
    stalled: str
    speaking: int
    known: int
    deaf: str = ""


def doubts(situation: Situation, settings: DoubtSettings) -> tuple[str, ...]:
    """Every reason not to judge silence; none when the gate is open."""
    reasons = []
    if situation.starting:
        reasons.append("the controller started a moment ago; agents are still dialling in")
    reasons += [why for why in (situation.stalled, situation.deaf) if why]
    if situation.speaking < settings.quorum * situation.known:
        reasons.append(
            f"only {situation.speaking} of {situation.known} known nodes speak: more likely we are deaf than all of "
            "them dead"
        )
    return tuple(reasons)
