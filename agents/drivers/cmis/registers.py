"""The registers of a module as data: where each field is, how it is encoded, and what it is called.

From the public CMIS 5.x tables; page B0h from docs/ocstrx.md. Lower memory is page 0, bytes 0 to 127, as in the linear
addressing of an EEPROM file; all other bytes are 128 to 255 of their page. Multi-byte numbers are big-endian.
"""

import math
from dataclasses import dataclass
from enum import Enum

LANES = 8
PAGE_SIZE = 128

ADMINISTRATIVE, ADVERTISING, THRESHOLDS = 0x00, 0x01, 0x02
LANE_CONTROL, LANE_STATUS, DIAGNOSTICS = 0x10, 0x11, 0x13
LANE_SWITCHING, COMMANDS, OCSTRX = 0x6D, 0x9F, 0xB0


class Encoding(Enum):
    """How the bytes of one value are to be read."""

    NUMBER = "number"
    SIGNED = "signed"
    TEXT = "text"
    HEX = "hex"
    POWER = "power"  # 0.1 uW, told in dBm
    NIBBLE = "nibble"  # half a byte a lane, the first in the low half
    LANE_BITS = "bits"  # one bit a lane, lane 1 lowest


Value = float | str


@dataclass(frozen=True, slots=True)
class Field:
    """One field, or the same field of several lanes.

    Attributes:
        page: 0 for lower memory too.
        byte: of the first value.
        width: bytes of a value; of NIBBLE and LANE_BITS all values together.
        count: how many values follow each other.
        scale: what a NUMBER or SIGNED is multiplied by.
        bits: highest and lowest bit that belong to it, for a NUMBER of one byte.
    """

    name: str
    page: int
    byte: int
    width: int = 1
    encoding: Encoding = Encoding.NUMBER
    count: int = 1
    scale: float = 1.0
    unit: str = ""
    bits: tuple[int, int] = (7, 0)

    @property
    def length(self) -> int:
        """Bytes in all."""
        return self.width if self.encoding in (Encoding.NIBBLE, Encoding.LANE_BITS) else self.width * self.count

    def decode(self, data: bytes) -> tuple[Value, ...]:
        """The values in the bytes of this field; as many as `count`."""
        if self.encoding is Encoding.NIBBLE:
            return tuple(float(data[lane // 2] >> 4 * (lane % 2) & 0xF) for lane in range(self.count))
        if self.encoding is Encoding.LANE_BITS:
            return tuple(float(data[0] >> lane & 1) for lane in range(self.count))
        return tuple(self._one(data[at : at + self.width]) for at in range(0, self.width * self.count, self.width))

    def _one(self, data: bytes) -> Value:
        match self.encoding:
            case Encoding.TEXT:
                return text(data)
            case Encoding.HEX:
                return data.hex()
            case Encoding.POWER:
                return power(int.from_bytes(data, "big"))
            case Encoding.SIGNED:
                return int.from_bytes(data, "big", signed=True) * self.scale
            case _:
                high, low = self.bits
                number = int.from_bytes(data, "big")
                if self.width == 1:
                    number = number >> low & (1 << high - low + 1) - 1
                return number * self.scale


def text(data: bytes) -> str:
    """ASCII without the padding; whatever is no printable character becomes a question mark."""
    return "".join(chr(byte) if chr(byte).isascii() and chr(byte).isprintable() else "?" for byte in data).rstrip()


def power(tenth_microwatts: int) -> float:
    """In dBm; -inf for none."""
    return 10 * math.log10(tenth_microwatts / 10_000) if tenth_microwatts else -math.inf


def checksum(data: bytes) -> int:
    """The low byte of the sum."""
    return sum(data) & 0xFF


# Upper bounds, in seconds, of the duration codes 0 to Dh; the last has none, and twice the one before it stands for it.
DURATIONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 600.0, 3000.0, 6000.0)


def duration(code: int) -> float:
    """The upper bound of a duration code, in seconds; of a reserved one the longest."""
    return DURATIONS[min(code, len(DURATIONS) - 1)]


def _per_lane(name: str, page: int, byte: int, encoding: Encoding = Encoding.NUMBER, **more: object) -> Field:
    return Field(name, page, byte, count=LANES, encoding=encoding, **more)  # type: ignore[arg-type]


IDENTIFIER = Field("identifier", 0, 0)
REVISION = Field("CMIS revision", 0, 1, encoding=Encoding.HEX)
FLAT_MEMORY = Field("flat memory", 0, 2, bits=(7, 7))
STEPPED = Field("stepwise configuration only", 0, 2, bits=(6, 6))
MODULE_STATE = Field("module state", 0, 3, bits=(3, 1))
INTERRUPT_DEASSERTED = Field("interrupt deasserted", 0, 3, bits=(0, 0))
MODULE_FLAGS = Field("module flags", 0, 8, encoding=Encoding.HEX)
MONITOR_FLAGS = Field("temperature and supply flags", 0, 9, encoding=Encoding.HEX)
CUSTOM_FLAGS = Field("custom flags", 0, 13, encoding=Encoding.HEX)
TEMPERATURE = Field("temperature", 0, 14, 2, Encoding.SIGNED, scale=1 / 256, unit="°C")
SUPPLY = Field("supply", 0, 16, 2, scale=1e-4, unit="V")
CONTROL = Field("module control", 0, 26, encoding=Encoding.HEX)
CDB_STATUS = Field("command status", 0, 37, encoding=Encoding.HEX)
FIRMWARE = Field("active firmware", 0, 39, 2, Encoding.HEX)
FAULT_CAUSE = Field("fault cause", 0, 41)

VENDOR = Field("vendor", ADMINISTRATIVE, 129, 16, Encoding.TEXT)
PART_NUMBER = Field("part number", ADMINISTRATIVE, 148, 16, Encoding.TEXT)
PART_REVISION = Field("part revision", ADMINISTRATIVE, 164, 2, Encoding.TEXT)
SERIAL = Field("serial number", ADMINISTRATIVE, 166, 16, Encoding.TEXT)
DATE = Field("date", ADMINISTRATIVE, 182, 8, Encoding.TEXT)
MAX_POWER = Field("maximum power", ADMINISTRATIVE, 201, scale=0.25, unit="W")

MAX_INIT = Field("longest data path init", ADVERTISING, 144, bits=(3, 0))
MAX_DEINIT = Field("longest data path deinit", ADVERTISING, 144, bits=(7, 4))
CDB_INSTANCES = Field("command mailboxes", ADVERTISING, 163, bits=(7, 6))
CDB_BACKGROUND = Field("commands in the background", ADVERTISING, 163, bits=(5, 5))
MAX_POWER_UP = Field("longest power up", ADVERTISING, 167, bits=(3, 0))
MAX_POWER_DOWN = Field("longest power down", ADVERTISING, 167, bits=(7, 4))
MAX_TURN_ON = Field("longest turn on", ADVERTISING, 168, bits=(3, 0))
MAX_TURN_OFF = Field("longest turn off", ADVERTISING, 168, bits=(7, 4))
FULL_PAGE_READS = Field("full page reads", ADVERTISING, 251, bits=(1, 0))
MEDIA_LANE_SWITCHING = Field("media lane switching", ADVERTISING, 252, bits=(5, 5))

HIGH_TEMPERATURE = Field("temperature high alarm", THRESHOLDS, 128, 2, Encoding.SIGNED, scale=1 / 256, unit="°C")
# Limits of a monitor are four: high alarm, low alarm, high warning, low warning. Its flags are in the same order.
TEMPERATURE_LIMITS = Field("temperature limits", THRESHOLDS, 128, 2, Encoding.SIGNED, 4, 1 / 256, "°C")
SUPPLY_LIMITS = Field("supply limits", THRESHOLDS, 136, 2, count=4, scale=1e-4, unit="V")
TX_POWER_LIMITS = Field("Tx power limits", THRESHOLDS, 176, 2, Encoding.POWER, 4, unit="dBm")
TX_BIAS_LIMITS = Field("Tx bias limits", THRESHOLDS, 184, 2, count=4, scale=2e-3, unit="mA")
RX_POWER_LIMITS = Field("Rx power limits", THRESHOLDS, 192, 2, Encoding.POWER, 4, unit="dBm")

DEINIT = _per_lane("data path deinit", LANE_CONTROL, 128, Encoding.LANE_BITS)
TX_DISABLE = _per_lane("Tx disabled", LANE_CONTROL, 130, Encoding.LANE_BITS)
APPLY_INIT = Field("apply", LANE_CONTROL, 143)
STAGED_APPLICATIONS = _per_lane("staged configuration", LANE_CONTROL, 145, Encoding.HEX)

DATA_PATH_STATE = Field("data path state", LANE_STATUS, 128, 4, Encoding.NIBBLE, count=LANES)
RX_VALID = _per_lane("Rx output valid", LANE_STATUS, 132, Encoding.LANE_BITS)
TX_VALID = _per_lane("Tx output valid", LANE_STATUS, 133, Encoding.LANE_BITS)
STATE_CHANGED_FLAGS = _per_lane("data path state changed", LANE_STATUS, 134, Encoding.LANE_BITS)
TX_FAULT_FLAGS = _per_lane("Tx fault", LANE_STATUS, 135, Encoding.LANE_BITS)
TX_LOSS_FLAGS = _per_lane("Tx signal lost", LANE_STATUS, 136, Encoding.LANE_BITS)
TX_POWER_FLAGS = Field("Tx power flags", LANE_STATUS, 139, encoding=Encoding.HEX, count=4)
TX_BIAS_FLAGS = Field("Tx bias flags", LANE_STATUS, 143, encoding=Encoding.HEX, count=4)
RX_LOSS_FLAGS = _per_lane("Rx signal lost", LANE_STATUS, 147, Encoding.LANE_BITS)
RX_POWER_FLAGS = Field("Rx power flags", LANE_STATUS, 149, encoding=Encoding.HEX, count=4)
RX_CHANGED_FLAGS = _per_lane("Rx output changed", LANE_STATUS, 153, Encoding.LANE_BITS)
TX_POWER = _per_lane("Tx power", LANE_STATUS, 154, Encoding.POWER, width=2, unit="dBm")
TX_BIAS = _per_lane("Tx bias", LANE_STATUS, 170, width=2, scale=2e-3, unit="mA")
RX_POWER = _per_lane("Rx power", LANE_STATUS, 186, Encoding.POWER, width=2, unit="dBm")
CONFIG_STATUS = Field("configuration status", LANE_STATUS, 202, 4, Encoding.NIBBLE, count=LANES)
ACTIVE_APPLICATIONS = _per_lane("active configuration", LANE_STATUS, 206, Encoding.HEX)

SCRATCHPAD = Field("host scratchpad", DIAGNOSTICS, 184, 8, Encoding.HEX)

LANE_COMMIT_DURATION = Field("longest commit", LANE_SWITCHING, 128, bits=(7, 4))
LANE_STAGED = _per_lane("staged lane", LANE_SWITCHING, 136)
LANE_RESULT = _per_lane("commit result", LANE_SWITCHING, 168)
LANE_COMMITTED = _per_lane("committed lane", LANE_SWITCHING, 184)

SIGNATURE = Field("signature", OCSTRX, 128, 4, Encoding.TEXT)
LAYOUT = Field("layout version", OCSTRX, 132)
PATHS = Field("paths", OCSTRX, 133, encoding=Encoding.HEX)
OCS_COMMIT_DURATION = Field("longest commit", OCSTRX, 134, bits=(7, 4))
OCS_MAX_AWAY = Field("longest time without light", OCSTRX, 135, scale=10.0, unit="µs")
OCS_STAGED = _per_lane("staged path", OCSTRX, 136)
OCS_ENABLE = Field("enabled", OCSTRX, 152, bits=(0, 0))
OCS_OWNER = Field("owner", OCSTRX, 153)
OCS_RESULT = _per_lane("commit result", OCSTRX, 168)
OCS_COMMITTED = _per_lane("committed path", OCSTRX, 184)
OCS_AWAY = Field("time without light", OCSTRX, 192, 2, scale=1.0, unit="µs", count=4)
OCS_COMMITS = Field("commits", OCSTRX, 200, 4)
OCS_FLAGS = Field("switch flags", OCSTRX, 204, encoding=Encoding.HEX)
OCS_LOSSES = Field("insertion loss", OCSTRX, 208, 2, Encoding.SIGNED, scale=0.01, unit="dB", count=4)
OCS_NO_LOSS = 0x7FFF * OCS_LOSSES.scale  # not applicable
OCS_CHECKSUM = Field("checksum", OCSTRX, 255, encoding=Encoding.HEX)

FIELDS = tuple(value for value in list(globals().values()) if isinstance(value, Field))
"""Every field that is known here."""
