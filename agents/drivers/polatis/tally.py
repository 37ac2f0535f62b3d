"""What is counted of a switch, over all connections to it."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Counters of one switch.

    Attributes:
        connections: that were made to it.
        errors: entries that were read from its error queue.
        moves: by node, selections that it carried out.
        refused: by node, selections that were not carried out.
        move_seconds: by node, how long the last move took.
    """

    connections: int = 0
    errors: int = 0
    moves: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    move_seconds: dict[str, float] = field(default_factory=dict)
