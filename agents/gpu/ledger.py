"""What is wrong with the GPUs of a node, from what is read of them and what they report: a pure model.

Readings say how a GPU is: gone, in want of a recovery action, out of spare rows. XIDs say that something happened, and
nothing says that it is over. So an XID is a fault until there is an explicit sign:

- the driver says, for `settled` seconds on end and since the XID, that nothing needs to be done about the GPU; or
- the GPU was gone and answers again: it was initialised anew.

Silence is no such sign, and neither is a reading that does not know. A driver that knows no recovery actions gives the
first sign never; then an XID stays until its machine boots (`memory`). An XID that comes again while it is open says
nothing new; after it was over, it is a fault again, and the controller counts it.

How grave any of this is, the controller says, but for a GPU that is gone: that is fatal whoever judges it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringlight.agents.gpu import recovery
from ringlight.agents.ports import FaultClosed, FaultOpened, HealthEvent
from ringlight.fabric.circuits import Fault, FaultClass

_WANTS_RECOVERY = 154  # the XID with which a driver says that the recovery action changed
_REMAP_PENDING = 63
_REMAP_FAILED = 64
_LOST = "gpu-lost"


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU as it is now. What could not be read is None, or `recovery.UNKNOWN`, and changes nothing.

    Attributes:
        gone: why it counts as gone; empty when it is there.
        action: what its driver wants done.
        remap_pending: rows of its memory are replaced at the next reset.
        remap_failed: a row could not be replaced.
    """

    gone: str = ""
    action: str = recovery.UNKNOWN
    remap_pending: bool | None = None
    remap_failed: bool | None = None


@dataclass(slots=True)
class _Gpu:
    """What is known of one GPU.

    Attributes:
        calm_since: since when its driver has been saying that nothing needs to be done; None when it does not.
        xids: when each was seen last, by number.
    """

    gone: str = ""
    action: str = recovery.UNKNOWN
    calm_since: float | None = None
    remap_pending: bool = False
    remap_failed: bool = False
    xids: dict[int, float] = field(default_factory=dict)


class Ledger:
    """The GPUs of one node.

    Args:
        settled: seconds for which a driver must say that nothing needs to be done until an XID is over.
    """

    def __init__(self, settled: float) -> None:
        self._settled = settled
        self._gpus: dict[int, _Gpu] = {}
        self._missing = ""

    def look(self, readings: Mapping[int, GpuReading], now: float, *, missing: str = "") -> None:
        """Take over a reading of GPUs; those that are left out could not be read.

        Args:
            readings: by number in the node.
            now: monotonic seconds.
            missing: why GPUs are missing of which nobody can tell which they are; empty when none are.
        """
        self._missing = missing
        for number in self._gpus.keys() - readings.keys():
            self._gpus[number].calm_since = None
        for number, reading in readings.items():
            self._take(self._of(number), reading, now)

    def _take(self, gpu: _Gpu, reading: GpuReading, now: float) -> None:
        if reading.gone:
            gpu.gone, gpu.action, gpu.calm_since = reading.gone, recovery.UNKNOWN, None
            return
        if gpu.gone:
            gpu.gone = ""
            gpu.xids.clear()
        if reading.remap_pending is not None:
            gpu.remap_pending = reading.remap_pending
        if reading.remap_failed is not None:
            gpu.remap_failed = reading.remap_failed
        if reading.action == recovery.UNKNOWN:
            gpu.calm_since = None
            return
        gpu.action = reading.action
        if reading.action != recovery.NONE:
            gpu.calm_since = None
            return
        gpu.calm_since = calm_since = now if gpu.calm_since is None else gpu.calm_since
        gpu.xids = {xid: seen for xid, seen in gpu.xids.items() if now - max(seen, calm_since) < self._settled}

    def xid(self, number: int, xid: int, now: float) -> None:
        """A GPU reported an XID."""
        self._of(number).xids[xid] = now

    def xids(self) -> dict[int, tuple[int, ...]]:
        """The XIDs that are open, by GPU."""
        return {number: tuple(sorted(gpu.xids)) for number, gpu in sorted(self._gpus.items()) if gpu.xids}

    def interrupted(self) -> None:
        """Nothing was heard for a while: whatever held until then need not have held since."""
        for gpu in self._gpus.values():
            gpu.calm_since = None

    def _of(self, number: int) -> _Gpu:
        return self._gpus.setdefault(number, _Gpu())

    def faults(self) -> dict[str, Fault]:
        """Every fault that is open now, by id."""
        faults = [fault for number in sorted(self._gpus) for fault in _faults(f"gpu{number}", self._gpus[number])]
        if self._missing:
            faults.append(Fault("gpus:missing", "gpus", FaultClass.FATAL, _LOST, self._missing))
        return {fault.id: fault for fault in faults}


def _faults(name: str, gpu: _Gpu) -> list[Fault]:
    wanted = "" if gpu.action == recovery.NONE else gpu.action
    faults = [_xid_fault(name, xid, f"{name}:xid{xid}", wanted) for xid in sorted(gpu.xids)]
    if wanted and _WANTS_RECOVERY not in gpu.xids:
        faults.append(_xid_fault(name, _WANTS_RECOVERY, f"{name}:xid{_WANTS_RECOVERY}", wanted))
    if gpu.gone:
        faults.append(Fault(f"{name}:lost", name, FaultClass.FATAL, _LOST, gpu.gone))
    if gpu.remap_pending:
        faults.append(_xid_fault(name, _REMAP_PENDING, f"{name}:remap-pending", ""))
    if gpu.remap_failed:
        faults.append(_xid_fault(name, _REMAP_FAILED, f"{name}:remap-failed", ""))
    return faults


def _xid_fault(component: str, xid: int, fault_id: str, wanted: str) -> Fault:
    """The class is a placeholder: XIDs are ruled on by the controller."""
    return Fault(fault_id, component, FaultClass.DEGRADED, f"xid:{xid}", recovery=wanted)


def differences(before: Mapping[str, Fault], after: Mapping[str, Fault]) -> list[HealthEvent]:
    """What to tell somebody who knows the faults of before: first what opened or changed, then what is over."""
    news: list[HealthEvent] = [FaultOpened(after[one]) for one in sorted(after) if before.get(one) != after[one]]
    return news + [FaultClosed(one) for one in sorted(before.keys() - after.keys())]
