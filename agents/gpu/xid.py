"""What NVIDIA XIDs mean for a ring.

An XID is a number the GPU's driver logs. Most are about a program and say nothing against the GPU. The class follows
from what cures it: a GPU that must be reset or replaced has lost the ring that runs on it (FATAL); one that goes on
but has worn out or lost margin gets no new ring (DEGRADED); a fault of the program is only noted (INFO).

Errors of the links are DEGRADED: when a link is really dead, its light says so, and switching itself provokes them.
"""

from dataclasses import dataclass

from ringlight.fabric.circuits import FaultClass


@dataclass(frozen=True, slots=True)
class Xid:
    """One XID: its class, and its name for people."""

    fault_class: FaultClass
    name: str


_GROUPS: dict[FaultClass, dict[int, str]] = {
    FaultClass.FATAL: {
        46: "GPU stopped processing",
        48: "double-bit memory error",
        54: "auxiliary power missing",
        62: "internal micro-controller halted",
        64: "row remapping failed",
        79: "GPU has fallen off the bus",
        95: "uncontained memory error",
        109: "context switch timed out",
        110: "security fault",
        119: "GSP did not answer",
        120: "GSP error",
        140: "unrecovered memory error",
        143: "GPU could not be initialised",
        151: "key rotation failed",
        155: "NVLink software error",
        156: "resource retirement needs a reset",
        158: "fatal timeout",
    },
    FaultClass.DEGRADED: {
        61: "internal micro-controller warning",
        63: "row remapping recorded, pending a reset",
        74: "NVLink error",
        92: "many corrected memory errors",
        93: "InfoROM is wearing out",
        121: "error of the link to the CPU",
        136: "link training failed",
        **dict.fromkeys(range(144, 151), "NVLink error"),
        154: "the GPU asks for a recovery action",
        157: "resource retirement failed",
        160: "channel retired",
        161: "channel retirement failed",
    },
    FaultClass.INFO: {
        8: "channel stopped",
        11: "invalid command",
        13: "graphics engine exception",
        31: "memory page fault",
        32: "corrupt push buffer",
        37: "driver error",
        38: "driver firmware error",
        39: "copy engine error",
        40: "copy engine error",
        41: "copy engine error",
        43: "channel reset after a program's fault",
        44: "context switch fault",
        45: "a program was cleaned up",
        66: "illegal access by the driver",
        67: "illegal access by the driver",
        **dict.fromkeys((68, 69, 70, 71, 72), "engine exception of a program"),
        78: "virtual GPU could not start",
        80: "corrupt data sent to the GPU",
        82: "engine timeout of a program",
        94: "contained memory error: its program ends, the GPU goes on",
        137: "NVLink privilege error of a program",
        162: "power smoothing engaged again",
        163: "power smoothing disengaged",
    },
}

_XIDS = {xid: Xid(fault_class, name) for fault_class, names in _GROUPS.items() for xid, name in names.items()}


def meaning(xid: int) -> Xid:
    """What an XID means. An unknown one is DEGRADED: no new ring, but no running job is killed over a number."""
    return _XIDS.get(xid, Xid(FaultClass.DEGRADED, "unknown to this version"))
