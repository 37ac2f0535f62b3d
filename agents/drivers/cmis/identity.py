"""Who a module is, from what it says; and whether this driver may write to it. Pure.

A module that cannot be told for sure is foreign, and a foreign module is never written to, apart from the page select
without which it cannot even be read. The steps are in the order in which later ones rely on earlier ones.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.registers import Field, duration
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble

IDENTIFIERS = {0x18: "QSFP-DD", 0x19: "OSFP", 0x1E: "QSFP+", 0x1F: "SFP-DD", 0x20: "DSFP", 0x21: "OSFP-XD"}
_OLDEST, _NEWEST = 0x40, 0x5F  # before 4.0, the data paths' deinit bits mean the opposite
_FULL_PAGE = 2


@dataclass(frozen=True, slots=True)
class KnownPart:
    """Modules that may be written to, by patterns with ``*`` and ``?``."""

    vendor: str
    part_number: str


# What this project's own emulator says it is. Sites add theirs in the agent's file.
KNOWN_PARTS = (KnownPart("RINGLIGHT", "OCSTRX-*"),)


@dataclass(frozen=True, slots=True)
class ModuleIdentity:
    """Who a module is and what it says of itself.

    Attributes:
        form: of the module, for people.
        read_size: bytes that it gives at once.
        power_up, init, deinit, turn_on, turn_off: longest durations, in seconds.
        background: whether it goes on answering while it executes a command.
        has_commands: whether it takes any.
        has_lane_switching: whether it has page 6Dh.
        hot_above: degrees Celsius.
    """

    form: str
    vendor: str
    part_number: str
    serial: str
    read_size: int
    power_up: float
    init: float
    deinit: float
    turn_on: float
    turn_off: float
    background: bool
    has_commands: bool
    has_lane_switching: bool
    hot_above: float


def looks_ready(lower: bytes) -> bool:
    """Whether the first bytes are anything but what a module that is not up yet gives: nothing, or all ones."""
    return lower[0] not in (0x00, 0xFF)


def check_kind(lower: bytes) -> None:
    """Refuse what is no CMIS module of a known generation, from the first three bytes.

    Raises:
        ModuleTroubleError: it is foreign.
    """
    identifier, revision, flags = lower[0], lower[1], lower[2]
    if identifier not in IDENTIFIERS:
        raise _foreign(f"its identifier is {identifier:02X}h, which is no module with CMIS that is known here")
    if not _OLDEST <= revision <= _NEWEST:
        raise _foreign(f"it is of CMIS {revision >> 4}.{revision & 0xF}; 4.0 to 5.x are understood")
    if flags & 0x80:
        raise _foreign("it has no pages")


def identify(
    lower: bytes, administrative: bytes, advertising: bytes, thresholds: bytes, known: tuple[KnownPart, ...]
) -> ModuleIdentity:
    """Who a module is.

    Args:
        lower: lower memory, 128 bytes.
        administrative: page 00h, its upper 128 bytes.
        advertising: page 01h.
        thresholds: page 02h.
        known: modules that may be written to.

    Raises:
        ModuleTroubleError: it is foreign, or its pages are not what they should be.
    """
    check_kind(lower)
    if administrative[222 - 128] != reg.checksum(administrative[:94]):
        raise _foreign("the checksum of page 00h is wrong")
    if advertising == administrative:
        raise _foreign("it shows page 00h whatever page is selected")
    if advertising[127] != reg.checksum(advertising[2:127]):
        raise _foreign("the checksum of page 01h is wrong")
    if thresholds[127] != reg.checksum(thresholds[:127]):
        raise _foreign("the checksum of page 02h is wrong")
    vendor, part = _text(administrative, reg.VENDOR), _text(administrative, reg.PART_NUMBER)
    if not any(fnmatchcase(vendor, each.vendor) and fnmatchcase(part, each.part_number) for each in known):
        raise _foreign(f"nobody said that {part!r} of {vendor!r} may be written to: add it to `parts`, if it may")
    return ModuleIdentity(
        form=IDENTIFIERS[lower[0]],
        vendor=vendor,
        part_number=part,
        serial=_text(administrative, reg.SERIAL),
        read_size=reg.PAGE_SIZE if _number(advertising, reg.FULL_PAGE_READS) == _FULL_PAGE else 8,
        power_up=duration(_number(advertising, reg.MAX_POWER_UP)),
        init=duration(_number(advertising, reg.MAX_INIT)),
        deinit=duration(_number(advertising, reg.MAX_DEINIT)),
        turn_on=duration(_number(advertising, reg.MAX_TURN_ON)),
        turn_off=duration(_number(advertising, reg.MAX_TURN_OFF)),
        background=bool(_number(advertising, reg.CDB_BACKGROUND)),
        has_commands=bool(_number(advertising, reg.CDB_INSTANCES)),
        has_lane_switching=bool(_number(advertising, reg.MEDIA_LANE_SWITCHING)),
        hot_above=float(_value(thresholds, reg.HIGH_TEMPERATURE)),
    )


def _value(page: bytes, field: Field) -> float | str:
    at = field.byte - reg.PAGE_SIZE
    return field.decode(page[at : at + field.length])[0]


def _number(page: bytes, field: Field) -> int:
    return int(_value(page, field))


def _text(page: bytes, field: Field) -> str:
    return str(_value(page, field))


def _foreign(why: str) -> ModuleTroubleError:
    return ModuleTroubleError(Trouble.FOREIGN, why)
