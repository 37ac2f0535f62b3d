"""Whom an agent obeys: a pure decision.

Invariant I3: no epoch lower than the highest ever seen, across restarts (`state_file` keeps the fence). Within that,
generations of a node only grow; the same one again is the same command again, and is answered again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Refusal(Enum):
    """Why a command is not obeyed."""

    STALE_EPOCH = auto()
    STALE_GENERATION = auto()


@dataclass(frozen=True, slots=True)
class Fence:
    """What an agent has seen.

    Attributes:
        epoch: the highest of any controller.
        generations: the highest applied, by node.
    """

    epoch: int = 0
    generations: Mapping[str, int] = field(default_factory=dict)

    def refusal(self, *, node: str, epoch: int, generation: int) -> Refusal | None:
        """Why a command must not be obeyed, or None."""
        if epoch < self.epoch:
            return Refusal.STALE_EPOCH
        if generation < self.generations.get(node, 0):
            return Refusal.STALE_GENERATION
        return None

    def saw(self, epoch: int) -> "Fence":
        """The fence after hearing of an epoch."""
        return Fence(max(self.epoch, epoch), self.generations)

    def applied(self, node: str, generation: int) -> "Fence":
        """The fence after applying a generation to a node."""
        highest = max(generation, self.generations.get(node, 0))
        return Fence(self.epoch, {**self.generations, node: highest})
