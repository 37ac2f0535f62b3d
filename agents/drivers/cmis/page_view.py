"""What the bytes of a module mean, for a person: pure, and indifferent to whether a module is one that may be driven.

Bytes that were not read are not guessed: what depends on them is left out. Flags are among these unless somebody asks
for them, since reading them takes them from the agent that owns the module; they are named as not read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.bring_up import ConfigStatus, DpState, ModuleState
from ringlight.agents.drivers.cmis.identity import IDENTIFIERS
from ringlight.agents.drivers.cmis.registers import DURATIONS, PAGE_SIZE, Field, Value

LOWER = -1  # of pages as people name them; the registers' own table has lower memory in page 0
SHOWN = (
    LOWER,
    reg.ADMINISTRATIVE,
    reg.ADVERTISING,
    reg.THRESHOLDS,
    reg.LANE_CONTROL,
    reg.LANE_STATUS,
    reg.DIAGNOSTICS,
    reg.LANE_SWITCHING,
    reg.COMMANDS,
    reg.OCSTRX,
)
NOT_READ = "not read"
# What clears when it is read: pages 12h and 14h are there on modules with tunable lasers and diagnostics, 2Ch with VDM.
_FLAGS = {
    LOWER: range(8, 14),
    reg.LANE_STATUS: range(134, 154),
    0x12: range(230, 239),
    0x14: range(132, 140),
    0x2C: range(128, 256),
    reg.OCSTRX: range(204, 205),
}
_TITLES = {
    LOWER: "lower memory",
    reg.ADMINISTRATIVE: "page 00h, identity",
    reg.ADVERTISING: "page 01h, advertising",
    reg.THRESHOLDS: "page 02h, thresholds",
    reg.LANE_CONTROL: "page 10h, lane control",
    reg.LANE_STATUS: "page 11h, lane status",
    reg.DIAGNOSTICS: "page 13h, diagnostics",
    reg.LANE_SWITCHING: "page 6Dh, media lane switching",
    reg.COMMANDS: "page 9Fh, commands",
    reg.OCSTRX: "page B0h, circuit switch",
}
PATHS = {0: "dark", 1: "path 1", 2: "path 2", 3: "loopback"}
RESULTS = {
    0: "none",
    1: "success",
    2: "in progress",
    3: "invalid",
    4: "no permutation",
    5: "conflict",
    6: "order not supported",
    7: "did not move",
    8: "locked",
}
_TIMES = {code: f"{seconds:g} s" for code, seconds in enumerate(DURATIONS)}
_NAMES: Mapping[str, Mapping[int, str]] = {
    reg.IDENTIFIER.name: IDENTIFIERS,
    reg.MODULE_STATE.name: {state.value: state.name for state in ModuleState},
    reg.DATA_PATH_STATE.name: {state.value: state.name for state in DpState},
    reg.CONFIG_STATUS.name: {status.value: status.name for status in ConfigStatus},
    reg.OCS_COMMITTED.name: PATHS,
    reg.OCS_STAGED.name: PATHS,
    reg.OCS_RESULT.name: RESULTS,
    **{
        field.name: _TIMES
        for field in (
            reg.MAX_INIT,
            reg.MAX_DEINIT,
            reg.MAX_POWER_UP,
            reg.MAX_POWER_DOWN,
            reg.MAX_TURN_ON,
            reg.MAX_TURN_OFF,
            reg.OCS_COMMIT_DURATION,
        )
    },
}
LIMITS = ("high alarm", "low alarm", "high warning", "low warning")  # in the order of registers
_BITS: Mapping[str, tuple[str, ...]] = {
    reg.MONITOR_FLAGS.name: tuple(f"{what} {limit}" for what in ("temperature", "supply") for limit in LIMITS),
    reg.OCS_FLAGS.name: ("laser bias out of range", "heater open", "path power low", "switch stuck"),
}
_FORMS: Mapping[str, Callable[[str], str]] = {
    reg.REVISION.name: lambda digits: f"{digits[0]}.{digits[1]}",
    reg.FIRMWARE.name: lambda digits: ".".join(map(str, bytes.fromhex(digits))),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One field of a page, as a person reads it; without values, it was left out on purpose."""

    name: str
    byte: int
    values: tuple[str, ...]
    unit: str

    @property
    def text(self) -> str:
        """The values, once if they are all the same."""
        if not self.values:
            return NOT_READ
        same = len(set(self.values)) == 1 and len(self.values) > 1
        told = f"{self.values[0]} (all)" if same else " ".join(self.values)
        return f"{told} {self.unit}".rstrip()


Bytes = Mapping[int, int]


def pieces(page: int, *, flags: bool) -> list[range]:
    """What to read of a page: all of it, or all but its flags."""
    whole = range(PAGE_SIZE) if page == LOWER else range(PAGE_SIZE, 2 * PAGE_SIZE)
    left_out = range(0) if flags else _FLAGS.get(page, range(0))
    if not left_out:
        return [whole]
    around = [range(whole.start, left_out.start), range(left_out.stop, whole.stop)]
    return [piece for piece in around if piece]


def title(page: int) -> str:
    """What a page is called."""
    return _TITLES.get(page, f"page {page:02X}h")


def decoded(page: int, known: Bytes) -> Iterator[Shown]:
    """The fields of a page whose bytes are known, in the order of their bytes; and the flags that were left out."""
    flags = _FLAGS.get(page, range(0))
    for field in sorted(
        (each for each in reg.FIELDS if page_of(each) == page), key=lambda each: (each.byte, each.bits)
    ):
        where = range(field.byte, field.byte + field.length)
        if all(byte in known for byte in where):
            yield Shown(field.name, field.byte, _values(field, bytes(known[byte] for byte in where)), field.unit)
        elif known and field.byte in flags and field.byte not in known:
            yield Shown(field.name, field.byte, (), "")


def page_of(field: Field) -> int:
    """The page of a field, as people name pages."""
    return LOWER if field.page == 0 and field.byte < PAGE_SIZE else field.page


def values_of(field: Field, pages: Mapping[int, Bytes]) -> tuple[Value, ...] | None:
    """The values of a field, where all its bytes are known."""
    known = pages.get(page_of(field), {})
    where = range(field.byte, field.byte + field.length)
    return field.decode(bytes(known[byte] for byte in where)) if all(byte in known for byte in where) else None


def same_bytes(one: Bytes, other: Bytes) -> bool:
    """Whether two pages show the same, as far as both are known."""
    both = one.keys() & other.keys()
    return bool(both) and all(one[byte] == other[byte] for byte in both)


def hex_lines(known: Bytes, wanted: range) -> Iterator[str]:
    """Bytes as a person at a bench wants them: sixteen a line, by address; ``..`` for what was not read."""
    for begin in range(wanted.start - wanted.start % 16, wanted.stop, 16):
        cells = [
            (f"{known[byte]:02x}" if byte in known else "..") if byte in wanted else "  "
            for byte in range(begin, begin + 16)
        ]
        text = "".join(_printable(known.get(byte)) if byte in wanted else " " for byte in range(begin, begin + 16))
        yield f"{begin:3d}  {' '.join(cells[:8])}  {' '.join(cells[8:])}  {text}".rstrip()


def _printable(byte: int | None) -> str:
    text = chr(byte or 0)
    return text if text.isascii() and text.isprintable() else "."


def _values(field: Field, data: bytes) -> tuple[str, ...]:
    values = field.decode(data)
    if field.name in _BITS:
        return (_named_bits(data[0], _BITS[field.name]),)
    names, form = _NAMES.get(field.name, {}), _FORMS.get(field.name, str)
    return tuple(form(value) if isinstance(value, str) and value else told(value, names) for value in values)


def _named_bits(bits: int, names: tuple[str, ...]) -> str:
    named = [names[bit] if bit < len(names) else f"bit {bit}" for bit in range(8) if bits >> bit & 1]
    return ", ".join(named) or "none"


def told(value: Value | None, names: Mapping[int, str] | None = None) -> str:
    """A value in a word; a dash for none."""
    if value is None or value == "":
        return "-"
    if isinstance(value, str):
        return value
    if names and value in names:
        return names[int(value)]
    if value in (float("-inf"), reg.OCS_NO_LOSS):
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"
