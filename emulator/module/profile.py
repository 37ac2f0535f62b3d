"""Who a module says it is, and what it says it can do: what its advertising pages are made from."""

from dataclasses import dataclass, field
from enum import Enum

LANES = 8


class CdbMode(Enum):
    """Whether a module takes commands in a mailbox, and whether it answers anything else meanwhile."""

    NONE = "none"
    FOREGROUND = "foreground"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class ModuleIdentity:
    """What page 00h says of one module. ASCII; longer texts are cut."""

    serial: str
    vendor: str = "RINGLIGHT"
    part_number: str = "OCSTRX-EMU-800G"
    revision: str = "A1"
    date: str = "261201"


@dataclass(frozen=True, slots=True)
class Durations:
    """The longest times that things take, as advertised: codes (`encoding.LONGEST`), and of commands milliseconds."""

    power_up: int = 5
    power_down: int = 4
    init: int = 4
    deinit: int = 3
    turn_on: int = 2
    turn_off: int = 2
    commit: int = 1
    command: int = 5000


@dataclass(frozen=True, slots=True)
class ModuleProfile:
    """What a module can do.

    Attributes:
        identifier: of the form factor, SFF-8024: 0x18 QSFP-DD.
        revision: of CMIS, two decimal nibbles.
        full_page_reads: a read may be as long as a page; otherwise 8 bytes, and what is read beyond is FFh.
        vendor_page: the switch has its own page B0h.
        lane_switching: the switch can be had as media lane switching, page 6Dh.
        cdb: the switch can be had by commands 8000h and 8001h.
        stepped: configuration goes step by step only: an apply never takes an active data path down and up again.
        durations: what is advertised of them.
    """

    identifier: int = 0x18
    revision: int = 0x54
    full_page_reads: bool = True
    vendor_page: bool = True
    lane_switching: bool = True
    cdb: CdbMode = CdbMode.BACKGROUND
    stepped: bool = False
    durations: Durations = field(default_factory=Durations)
