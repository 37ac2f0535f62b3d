"""What happens in a simulation: a list of operations, drawn up front, each with everything that it needs.

So taking some out of the list leaves the others as they are, and a failing list can be made smaller. An operation that
makes no sense at its moment (a repair of what is not broken) does nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

HARDWARE = ("gpu-lost", "gpu-xid", "power-off", "fibre-cut", "module-dead", "bundle-stuck", "bundle-slow")

# How often each kind comes, in comparison. Kinds that are left out of the table never come.
WEIGHTS: Mapping[str, float] = {
    "break": 6,
    "repair": 5,
    "flap": 1,
    "crash-agent": 2,
    "wipe-agent": 0.5,
    "tear-link": 2,
    "hold-link": 1,
    "slow-link": 1,
    "double-link": 0.7,
    "crash-controller": 1,
    "lose-store": 0.2,
    "restore-backup": 0.2,
    "back-up": 0.5,
    "stall-controller": 1,
    "jump-clock": 0.5,
    "two-leaders": 0.5,
    "fill-disk": 0.5,
    "submit": 2,
    "release": 0.7,
    "resize": 0.7,
    "drain": 1,
    "maintain": 0.5,
    "cordon": 0.5,
    "uncordon": 1.5,
    "pause": 0.3,
    "resume": 0.6,
    "reset-breaker": 0.5,
    "release-quarantine": 1,
    "trust-hops": 1,
    "declare-dead": 0.5,
    "report-stall": 0.5,
    "wait": 3,
}

# With people who audit the cabling. A table of its own: seeds that are on record draw from the other.
WITH_AUDITS: Mapping[str, float] = {**WEIGHTS, "audit": 4, "end-audit": 1}

_DELAYS = (0.0, 0.002, 0.01, 0.1, 0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that happens.

    Attributes:
        index: in the list that was drawn; it names the fault or job that the operation makes.
        kind: one of `WITH_AUDITS`.
        delay: virtual seconds after the one before it.
        node: position of the node, agent or hop it is about.
        number: a part, a distance, an earlier operation, a size: whatever the kind needs.
        seconds: how long it lasts.
        what: of which kind the broken part is.
    """

    index: int
    kind: str
    delay: float
    node: int
    number: int
    seconds: float
    what: str = ""

    def __str__(self) -> str:
        """In words."""
        what = f" {self.what}" if self.what else ""
        return f"#{self.index} +{self.delay:g}s {self.kind}{what} node {self.node} ({self.number}, {self.seconds:g} s)"


def draw(rng: Random, nodes: int, count: int, weights: Mapping[str, float] = WEIGHTS) -> tuple[Operation, ...]:
    """Draw so many operations on a fabric of so many nodes."""
    kinds = rng.choices(list(weights), list(weights.values()), k=count)
    return tuple(_one(rng, index, kind, nodes) for index, kind in enumerate(kinds))


def _one(rng: Random, index: int, kind: str, nodes: int) -> Operation:
    return Operation(
        index,
        kind,
        rng.choice(_DELAYS),
        rng.randrange(nodes),
        rng.randrange(1_000_000),
        rng.choice((0.3, 1.5, 4.0, 9.0)),
        rng.choice(HARDWARE) if kind in ("break", "flap") else "",
    )
