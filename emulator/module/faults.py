"""Ways in which modules misbehave, as operators have met them and as labs must expect them.

A fault is opened in a module and mended by its kind. What it does is done where the thing itself is done; here is only
what there is, and what is open.
"""

from dataclasses import dataclass
from enum import StrEnum

EVERY_LANE = 0xFF


class ModuleFaultKind(StrEnum):
    """What is wrong with a module."""

    DEAD = "dead"  # it is not there: nobody answers, nothing is sent
    STUCK = "stuck"  # the switch does not move, and says so
    STUCK_SILENTLY = "stuck-silently"  # the switch does not move, and the commit counts as done
    SLOW = "slow"  # a commit takes `seconds` longer
    PARTIAL = "partial"  # the switch moves on `lanes` only
    HEATER_OPEN = "heater-open"  # the switch has lost its heater: it does not move
    LASER_WEAK = "laser-weak"  # the lasers of `lanes` send `amount` dB less
    RECEIVER_WEAK = "receiver-weak"  # the receivers of `lanes` see `amount` dB less
    HOT = "hot"  # `amount` degrees Celsius more
    NACK_STORM = "nack-storm"  # an access is refused with probability `amount`
    NACK_RESTORE = "nack-restore"  # going back to page 00h is refused
    PAGE_STUCK = "page-stuck"  # the page that is selected stays selected
    PAGE_00_ONLY = "page-00-only"  # every page reads as page 00h
    SLOW_WRITE = "slow-write"  # it answers nobody for `seconds` after each write
    BOOT_NACK = "boot-nack"  # nobody answers for `seconds` after power came
    BOOT_GARBAGE = "boot-garbage"  # for `seconds` after power came every byte reads FFh, and writes are lost
    LANE_IN_PROGRESS = "lane-in-progress"  # configuring takes `seconds` longer on `lanes`
    DEACTIVATED_LATE = "deactivated-late"  # a data path takes `seconds` longer to be deactivated
    PENDING_AT_RANDOM = "pending-at-random"  # DPInitPending says anything
    REFUSES_UNUSED = "refuses-unused"  # a lane cannot be configured to be unused
    BAD_VENDOR = "bad-vendor"  # bytes that are no ASCII in the vendor's name, with a checksum that agrees
    OLD_REVISION = "old-revision"  # it says that it is of CMIS 3.0
    CDB_SLOW = "cdb-slow"  # a command takes `seconds` longer


@dataclass(frozen=True, slots=True)
class ModuleFault:
    """One thing that is wrong.

    Attributes:
        kind: what.
        seconds: how long, for kinds that take time.
        lanes: which, one bit a lane, for kinds that strike lanes.
        amount: dB, degrees Celsius, or a probability, as the kind says.
    """

    kind: ModuleFaultKind
    seconds: float = 0.0
    lanes: int = EVERY_LANE
    amount: float = 0.0


class OpenFaults:
    """What is wrong with one module now: at most one fault of a kind."""

    def __init__(self) -> None:
        self._open: dict[ModuleFaultKind, ModuleFault] = {}

    def open(self, fault: ModuleFault) -> None:
        """From now on; replaces what was open of its kind."""
        self._open[fault.kind] = fault

    def close(self, kind: ModuleFaultKind) -> None:
        """No longer. What is not open is passed over."""
        self._open.pop(kind, None)

    def has(self, kind: ModuleFaultKind) -> bool:
        """Whether one of this kind is open."""
        return kind in self._open

    def seconds(self, kind: ModuleFaultKind) -> float:
        """What it adds to a time; 0 when it is not open."""
        fault = self._open.get(kind)
        return 0.0 if fault is None else fault.seconds

    def lanes(self, kind: ModuleFaultKind) -> int:
        """Which lanes it strikes; none when it is not open."""
        fault = self._open.get(kind)
        return 0 if fault is None else fault.lanes

    def amount(self, kind: ModuleFaultKind, lane: int = 0) -> float:
        """How much, on a lane; 0 when it is not open, or strikes other lanes."""
        fault = self._open.get(kind)
        return fault.amount if fault is not None and fault.lanes >> lane & 1 else 0.0
