"""Flags: latched when something happens, cleared when they are read, and latched again while it still holds.

A flag that is not masked asserts IntL. The summary in lower memory says on which page to look; it follows the flags
whether they are masked or not.
"""

from dataclasses import dataclass, field

from ringlight.emulator.module.memory import LOWER, Memory

_MODULE_FLAGS = range(8, 14)  # bytes of lower memory
_MODULE_MASKS = 31 - 8  # the mask of byte n is byte n + this
_LANE_PAGE, _MASK_PAGE = 0x11, 0x10
_LANE_FLAGS = range(134, 154)
_LANE_MASKS = 213 - 134
_SUMMARY = 4  # of bank 0


@dataclass(slots=True)
class _FlagByte:
    page: int
    byte: int
    mask_page: int
    mask_byte: int
    lasting: int = 0  # what still holds, and so comes back after each read


@dataclass(slots=True)
class Flags:
    """All flags of one module.

    Attributes:
        memory: where they are.
    """

    memory: Memory
    _bytes: dict[tuple[int, int], _FlagByte] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know the standard's own flags."""
        self.memory.after_clearing(self.tell)
        for byte in _MODULE_FLAGS:
            self.add(LOWER, byte, LOWER, byte + _MODULE_MASKS)
        for byte in _LANE_FLAGS:
            self.add(_LANE_PAGE, byte, _MASK_PAGE, byte + _LANE_MASKS)

    def add(self, page: int, byte: int, mask_page: int, mask_byte: int) -> None:
        """A byte of flags and that of its masks."""
        known = _FlagByte(page, byte, mask_page, mask_byte)
        self._bytes[page, byte] = known
        self.memory.allow(mask_page, [mask_byte])
        self.memory.on_write(mask_page, mask_byte, lambda _: self.tell())
        self.memory.clear_on_read(page, byte, lambda: known.lasting)

    def happen(self, page: int, byte: int, bits: int) -> None:
        """Something happened that is over again."""
        self.memory.set(page, byte, self.memory.get(page, byte) | bits)
        self.tell()

    def hold(self, page: int, byte: int, bits: int) -> None:
        """This is what holds now of a byte; it is latched, and comes back until it no longer holds."""
        self._bytes[page, byte].lasting = bits
        if bits & ~self.memory.get(page, byte):
            self.happen(page, byte, bits)

    @property
    def interrupt(self) -> bool:
        """Whether IntL is asserted."""
        get = self.memory.get
        return any(get(one.page, one.byte) & ~get(one.mask_page, one.mask_byte) for one in self._bytes.values())

    def tell(self) -> None:
        """Bring the summary, and the bit that says that IntL is not asserted, in line with the flags."""
        lanes = any(self.memory.get(_LANE_PAGE, byte) for byte in _LANE_FLAGS)
        self.memory.lower[_SUMMARY] = int(lanes)
        self.memory.lower[3] = (self.memory.lower[3] & ~1) | (0 if self.interrupt else 1)
