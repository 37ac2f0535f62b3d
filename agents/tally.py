"""What an agent counts of its own doings since it started. Plain numbers: `metrics` shows them."""

from collections import Counter
from dataclasses import dataclass, field

from ringlight.agents.session_end import SessionEnd
from ringlight.fabric.distribution import Distribution
from ringlight.fabric.outcomes import ApplyCode

SWITCH_BUCKETS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(slots=True)
class NodeTally:
    """Counters of one node.

    Attributes:
        commands: by what became of them.
        switches: seconds that each change of its circuits took, from the first write to the last answer.
        openings: times its hardware was opened.
        losses: times its hardware stopped to answer.
    """

    commands: Counter[ApplyCode] = field(default_factory=Counter)
    switches: Distribution = field(default_factory=lambda: Distribution(SWITCH_BUCKETS))
    openings: int = 0
    losses: int = 0


@dataclass(slots=True)
class Tally:
    """Counters of the agent.

    Attributes:
        dials: attempts at a session.
        welcomes: sessions that the controller accepted.
        ends: why attempts and sessions ended; what the agent's own stop ended is not counted.
        heartbeats: that were sent.
        messages: reports and answers that were sent.
    """

    dials: int = 0
    welcomes: int = 0
    ends: Counter[SessionEnd] = field(default_factory=Counter)
    heartbeats: int = 0
    messages: int = 0
