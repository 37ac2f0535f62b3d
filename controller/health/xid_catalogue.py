"""What NVIDIA's XIDs say about a GPU, as data.

An XID is a number that the GPU's driver logs. The kinds follow from the immediate action that NVIDIA's public XID
catalogue (docs.nvidia.com/deploy/xid-errors) advises: who must act says how grave it is. The names are ours.
"""

from dataclasses import dataclass
from enum import StrEnum


class XidKind(StrEnum):
    """What an XID means for the fabric."""

    IGNORE = "ignore"  # nothing is wrong with the GPU
    INFO = "info"  # a program's fault: its program ends, the GPU goes on
    LINK = "link"  # of the links between GPUs: switching provokes them, and one fault makes all neighbours complain
    DEGRADED = "degraded"  # it goes on, but has worn out or lost margin
    RECOVERABLE = "recoverable"  # a reset cures it, if it does
    FATAL = "fatal"  # it is gone until somebody sees to it


@dataclass(frozen=True, slots=True)
class Xid:
    """One XID: its kind, and its name for people."""

    kind: XidKind
    name: str


_GROUPS: dict[XidKind, dict[int, str]] = {
    XidKind.FATAL: {
        54: "auxiliary power missing",
        64: "row remapping failed",
        79: "GPU has fallen off the bus",
    },
    XidKind.RECOVERABLE: {
        46: "GPU stopped processing",
        48: "double-bit memory error",
        62: "internal micro-controller halted",
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
    XidKind.LINK: {
        74: "NVLink error",
        136: "link training failed",
        **dict.fromkeys(range(144, 151), "NVLink error"),
    },
    XidKind.DEGRADED: {
        61: "internal micro-controller warning",
        63: "row remapping recorded, pending a reset",
        92: "many corrected memory errors",
        93: "InfoROM is wearing out",
        121: "error of the link to the CPU",
        154: "the GPU asks for a recovery action",
        157: "resource retirement failed",
        160: "channel retired",
        161: "channel retirement failed",
    },
    XidKind.INFO: {
        8: "channel stopped",
        11: "invalid command",
        13: "graphics engine exception",
        31: "memory page fault",
        32: "corrupt push buffer",
        39: "copy engine error",
        40: "copy engine error",
        41: "copy engine error",
        45: "a program was cleaned up",
        **dict.fromkeys((68, 69, 70, 71, 72), "engine exception of a program"),
        80: "corrupt data sent to the GPU",
        82: "engine timeout of a program",
        94: "contained memory error: its program ends, the GPU goes on",
    },
    XidKind.IGNORE: {
        37: "driver error",
        38: "driver firmware error",
        43: "channel reset after a program's fault",
        44: "context switch fault",
        66: "illegal access by the driver",
        67: "illegal access by the driver",
        78: "virtual GPU could not start",
        137: "NVLink privilege error of a program",
        162: "power smoothing engaged again",
        163: "power smoothing disengaged",
    },
}

XIDS = {xid: Xid(kind, name) for kind, names in _GROUPS.items() for xid, name in names.items()}

# An unknown one: no new ring, but no running job is killed over a number.
UNKNOWN = Xid(XidKind.DEGRADED, "unknown to this version")

# The first takes the second back, on the same GPU.
CANCELS = {162: 163}

CLEANED_UP = 45

# What the driver itself wants done, as it names it: authority over the catalogue.
RECOVERY_ACTIONS = {
    "none": XidKind.INFO,
    "gpu-reset": XidKind.RECOVERABLE,
    "gpu-reset-bus": XidKind.RECOVERABLE,
    "drain-and-reset": XidKind.RECOVERABLE,
    "drain-p2p": XidKind.LINK,
    "node-reboot": XidKind.FATAL,
}
