"""Numbers as CMIS registers hold them: big-endian, in units of their own, with checksums that are plain sums."""

import math
from functools import lru_cache

_TENTH_MICROWATTS_PER_MILLIWATT = 10_000
_HIGHEST_U16 = 0xFFFF

# Upper bounds (seconds) of the duration codes that a module advertises for its state changes; the last has none.
LONGEST = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 600.0, 3000.0, 6000.0)


def u16(value: float) -> bytes:
    """A rounded number in two bytes, held within what they can say."""
    return max(0, min(_HIGHEST_U16, round(value))).to_bytes(2, "big")


def s16(value: float) -> bytes:
    """A rounded number with a sign in two bytes, held within what they can say."""
    return max(-0x8000, min(0x7FFF, round(value))).to_bytes(2, "big", signed=True)


@lru_cache(maxsize=4096)
def optical_power(dbm: float) -> bytes:
    """A power in steps of 0.1 µW: from nothing to 8.16 dBm."""
    milliwatts = 0.0 if dbm == -math.inf else 10 ** (dbm / 10)
    return u16(milliwatts * _TENTH_MICROWATTS_PER_MILLIWATT)


def temperature(celsius: float) -> bytes:
    """Steps of 1/256 °C."""
    return s16(celsius * 256)


def supply(volts: float) -> bytes:
    """Steps of 100 µV."""
    return u16(volts * 10_000)


def bias(milliamperes: float) -> bytes:
    """Steps of 2 µA."""
    return u16(milliamperes * 500)


def text(value: str, length: int) -> bytes:
    """ASCII, padded with spaces."""
    return value.encode("ascii").ljust(length)[:length]


def checksum(data: bytes | bytearray) -> int:
    """The low byte of the sum."""
    return sum(data) & 0xFF


def nibbles(values: "list[int]") -> bytes:
    """Two values a byte, the first in the low half."""
    return bytes(values[at] | values[at + 1] << 4 for at in range(0, len(values), 2))


def bits(flags: "list[bool]") -> int:
    """One bit a lane, lane 1 lowest."""
    return sum(1 << at for at, flag in enumerate(flags) if flag)
