"""How grave a GPU's fault is for the ring its node is in: the driver's recovery action, else the catalogue.

What the site says of an XID replaces either: it is the last word. Faults without a number, such as a GPU that is gone,
are as grave as whoever reported them says.

Nothing here knows a clock, and nothing is concluded from silence: a fault is over when it is reported to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.controller.health.gpu_settings import GpuSettings
from ringlight.controller.health.xid_catalogue import (
    CANCELS,
    CLEANED_UP,
    RECOVERY_ACTIONS,
    UNKNOWN,
    XIDS,
    XidKind,
)
from ringlight.fabric.circuits import Fault, FaultClass

_PREFIX = "xid:"
_PLAIN = {
    XidKind.IGNORE: FaultClass.INFO,
    XidKind.INFO: FaultClass.INFO,
    XidKind.LINK: FaultClass.DEGRADED,
    XidKind.DEGRADED: FaultClass.DEGRADED,
    XidKind.FATAL: FaultClass.FATAL,
}
_CONSEQUENCES = frozenset({XidKind.LINK, XidKind.RECOVERABLE, XidKind.INFO})


@dataclass(frozen=True, slots=True)
class Seen:
    """An XID that was reported for a part of a node, and when (monotonic seconds)."""

    when: float
    component: str
    xid: int


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else is known when a fault is ruled on.

    Attributes:
        opened_at: when it was reported.
        seen: the XIDs of its node lately, this one among them.
        switched_at: when the node's circuits were changed last; None when they were not.
        explained_until: until when it is laid to another node's fault; None when it is not.
    """

    opened_at: float
    seen: Sequence[Seen] = ()
    switched_at: float | None = None
    explained_until: float | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """How grave a fault is now.

    Attributes:
        reason: what it is, for a person.
        look_again_at: when time alone may change that; None when it cannot.
    """

    fault_class: FaultClass
    reason: str
    look_again_at: float | None = None


def xid_of(fault: Fault) -> int | None:
    """The number of a fault; None when it has none."""
    number = fault.code.removeprefix(_PREFIX)
    return int(number) if fault.code.startswith(_PREFIX) and number.isdecimal() else None


def is_of_gpus(fault: Fault) -> bool:
    """Whether only the source of GPU health can tell that it is over."""
    return fault.component.startswith("gpu") or xid_of(fault) is not None


def cancelled_by(fault: Fault) -> str:
    """The code of the fault that this one takes back, on the same GPU; empty when there is none."""
    cancelled = CANCELS.get(xid_of(fault) or 0)
    return f"{_PREFIX}{cancelled}" if cancelled else ""


def may_be_consequence(fault: Fault, settings: GpuSettings) -> bool:
    """Whether a fault of another node can have caused this one."""
    kind = _kind(fault, settings)
    return kind in _CONSEQUENCES


def rule(fault: Fault, circumstances: Circumstances, now: float, settings: GpuSettings) -> Ruling:
    """How grave a fault is for its node's ring at this moment."""
    kind = _kind(fault, settings)
    if kind is None:
        return Ruling(fault.fault_class, fault.text)
    name = _name(fault)
    until = circumstances.explained_until
    if until is not None and now < until and kind in _CONSEQUENCES:
        return Ruling(FaultClass.INFO, f"{name}; laid to a fault of another node of its ring", until)
    if kind is XidKind.LINK and _is_expected(circumstances, settings):
        return Ruling(FaultClass.INFO, f"{name}; expected, since its circuits were just being switched")
    if kind is XidKind.RECOVERABLE:
        return _recoverable(fault, name, circumstances, now, settings)
    if kind is XidKind.INFO and xid_of(fault) == CLEANED_UP and not _is_alone(circumstances, settings):
        return Ruling(FaultClass.INFO, f"{name}; it follows another fault of this node")
    return Ruling(_PLAIN[kind], name)


def _kind(fault: Fault, settings: GpuSettings) -> XidKind | None:
    """What decides: the site, else the driver, else the catalogue; None when none of them knows such a fault."""
    xid = xid_of(fault)
    override = settings.overrides.get(fault.code)
    if override is not None:
        return XidKind(override)
    action = RECOVERY_ACTIONS.get(fault.recovery)
    if action is not None:
        return action
    return None if xid is None else XIDS.get(xid, UNKNOWN).kind


def _name(fault: Fault) -> str:
    xid = xid_of(fault)
    text = fault.text or (f"XID {xid}: {XIDS.get(xid, UNKNOWN).name}" if xid is not None else fault.code)
    return f"{text}; the driver asks for {fault.recovery}" if fault.recovery not in ("", "none") else text


def _recoverable(fault: Fault, name: str, circumstances: Circumstances, now: float, settings: GpuSettings) -> Ruling:
    """A reset is given its time; one that did not help, or had to be repeated, is no cure."""
    since = circumstances.opened_at - settings.repeat_window
    xid = xid_of(fault)
    again = sum(one.component == fault.component and one.xid == xid and one.when > since for one in circumstances.seen)
    if again >= settings.repeats_fatal:
        return Ruling(FaultClass.FATAL, f"{name}; {again} times within {settings.repeat_window:g} s")
    cured_by = circumstances.opened_at + settings.recovery_patience
    if now >= cured_by:
        return Ruling(FaultClass.FATAL, f"{name}; no reset cured it within {settings.recovery_patience:g} s")
    return Ruling(FaultClass.DEGRADED, f"{name}; waiting for a reset", cured_by)


def _is_expected(circumstances: Circumstances, settings: GpuSettings) -> bool:
    switched = circumstances.switched_at
    if switched is None:
        return False
    return switched - settings.link_guard <= circumstances.opened_at <= switched + settings.link_settle


def _is_alone(circumstances: Circumstances, settings: GpuSettings) -> bool:
    near = (one for one in circumstances.seen if abs(one.when - circumstances.opened_at) <= settings.alone_window)
    return all(one.xid == CLEANED_UP for one in near)
