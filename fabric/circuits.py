"""What bundles select, and what goes wrong with the parts of a node.

A *circuit table* is the state of all bundles of one node, indexed by bundle number. Its *digest* is exact (no
hashing): two tables are equal if and only if their digests are, so drift shows in a single heartbeat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

_BITS_PER_BUNDLE = 4


class Path(IntEnum):
    """What one bundle selects. The numbers are those of the wire protocol."""

    UNKNOWN = 0
    LOOPBACK = 1
    PATH_1 = 2
    PATH_2 = 3
    DARK = 4

    @property
    def is_external(self) -> bool:
        """Whether the bundle's edge is opened and carried over a fibre."""
        return self in (Path.PATH_1, Path.PATH_2)


_PATHS = frozenset(Path)
EXTERNAL_PATHS = (Path.PATH_1, Path.PATH_2)

CircuitTable = tuple[Path, ...]
PortKey = tuple[int, Path]  # a port seen from within its node: bundle number and path


def all_loopback(bundles: int) -> CircuitTable:
    """The table of a node that is on its own: every edge of its intra-node ring is closed."""
    return (Path.LOOPBACK,) * bundles


def digest(table: Sequence[Path]) -> int:
    """Pack a table into an integer: four bits a bundle, bundle 0 lowest."""
    return sum(int(path) << (_BITS_PER_BUNDLE * bundle) for bundle, path in enumerate(table))


def table_of(packed: int, bundles: int) -> CircuitTable:
    """The table of a digest: the inverse of `digest`. Numbers that are no path become `UNKNOWN`."""
    numbers = ((packed >> (_BITS_PER_BUNDLE * bundle)) & (2**_BITS_PER_BUNDLE - 1) for bundle in range(bundles))
    return tuple(Path(number) if number in _PATHS else Path.UNKNOWN for number in numbers)


# The code of the fault that says nothing is heard about a node's GPUs: what is not reported then is not over.
HEALTH_FEED_LOST = "health-feed-lost"


class FaultClass(IntEnum):
    """How grave a fault is for the ring its node is in. The numbers are those of the wire protocol."""

    INFO = 1
    DEGRADED = 2
    FATAL = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """One open fault of a node. Faults are a set: each opens and closes by its own id.

    Attributes:
        id: unique in its node while the fault is open.
        component: the broken part, ``gpu3``, ``b0.m2`` (module 2 of bundle 0) or ``node``.
        fault_class: what it means for the ring.
        code: machine-readable cause, such as ``xid:79`` or ``module-dead``.
        text: one line for a person.
        recovery: what the GPU's driver wants done, as it names it (``node-reboot``); empty when it says nothing.
    """

    id: str
    component: str
    fault_class: FaultClass
    code: str
    text: str = ""
    recovery: str = ""


@dataclass(frozen=True, slots=True)
class OpticalPower:
    """Light at an external port that its bundle selects, in dBm, of the weakest lane; None where it is not measured.

    Attributes:
        sent: as it leaves the port.
        received: as it arrives at the port, before the losses of our own module.
    """

    sent: float | None
    received: float | None
