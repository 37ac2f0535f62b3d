"""What the bytes of a module mean, for a person: pure, and indifferent to whether a module is one that may be driven.

Bytes that were not read are not guessed: what depends on them is left out. Flags are among these unless somebody asks
for them, since reading them takes them from the agent that owns the module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.bring_up import DpState, ModuleState
from ringlight.agents.drivers.cmis.registers import LANES, PAGE_SIZE, Field

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
_FLAGS = {
    LOWER: range(8, 14),
    reg.LANE_STATUS: range(134, 154),
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
_NOT_APPLICABLE = 0x7FFF * reg.OCS_LOSSES.scale
_NAMES: Mapping[str, Mapping[int, str]] = {
    reg.MODULE_STATE.name: {state.value: state.name for state in ModuleState},
    reg.DATA_PATH_STATE.name: {state.value: state.name for state in DpState},
    reg.OCS_COMMITTED.name: {0: "dark", 1: "path 1", 2: "path 2", 3: "loopback"},
    reg.OCS_STAGED.name: {0: "dark", 1: "path 1", 2: "path 2", 3: "loopback"},
    reg.OCS_RESULT.name: {
        0: "none",
        1: "success",
        2: "in progress",
        3: "invalid",
        4: "no permutation",
        5: "conflict",
        6: "order not supported",
        7: "did not move",
        8: "locked",
    },
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One field of a page, as a person reads it."""

    name: str
    byte: int
    values: tuple[str, ...]
    unit: str

    @property
    def text(self) -> str:
        """The values, once if they are all the same."""
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
    """The fields of a page whose bytes are known, in the order of their bytes."""
    for field in sorted((each for each in reg.FIELDS if _is_on(each, page)), key=lambda each: (each.byte, each.bits)):
        where = range(field.byte, field.byte + field.length)
        if all(byte in known for byte in where):
            yield Shown(field.name, field.byte, _values(field, bytes(known[byte] for byte in where)), field.unit)


def lanes(status: Bytes, switch: Bytes) -> list[dict[str, str]]:
    """The power table: a row a lane, as far as the bytes of pages 11h and B0h are known."""
    columns = {
        "state": (reg.DATA_PATH_STATE, status),
        "tx_power_dbm": (reg.TX_POWER, status),
        "tx_bias_ma": (reg.TX_BIAS, status),
        "rx_power_dbm": (reg.RX_POWER, status),
        "rx_valid": (reg.RX_VALID, status),
        "path": (reg.OCS_COMMITTED, switch),
        "result": (reg.OCS_RESULT, switch),
    }
    rows = [{"lane": str(lane + 1)} for lane in range(LANES)]
    for column, (field, known) in columns.items():
        where = range(field.byte, field.byte + field.length)
        if all(byte in known for byte in where):
            for row, value in zip(rows, _values(field, bytes(known[byte] for byte in where)), strict=True):
                row[column] = value
    return rows


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


def _is_on(field: Field, page: int) -> bool:
    if field.page == 0:
        return page == (LOWER if field.byte < PAGE_SIZE else reg.ADMINISTRATIVE)
    return field.page == page


def _values(field: Field, data: bytes) -> tuple[str, ...]:
    names = _NAMES.get(field.name, {})
    return tuple(_told(value, names) for value in field.decode(data))


def _told(value: float | str, names: Mapping[int, str]) -> str:
    if isinstance(value, str):
        return value or "-"
    if value in names:
        return names[int(value)]
    if value in (float("-inf"), _NOT_APPLICABLE):
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"
