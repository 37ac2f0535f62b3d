"""How a host gets at the registers: the current address, the page and bank that are selected, how much goes at once.

Bytes 0 to 127 are always the same. Bytes 128 to 255 are the page that is selected; selecting one that there is not
leaves page 00h selected and says nothing, so a host must read back what it selected. An access goes round within its
half.
"""

from ringlight.emulator.module import pages
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.module.memory import BANKED_FROM, LOWER, PAGE_SIZE
from ringlight.emulator.module.nack import Nack
from ringlight.emulator.module.profile import CdbMode

_BANK_SELECT, _PAGE_SELECT = 126, 127
_PLAIN_ACCESS = 8  # bytes that may be read, or written, at once unless the module says more
_CDB_PAGES = range(0x9F, 0xB0)
_NOT_DRIVEN = b"\xff"  # what a host reads when nobody pulls the lines


class Access:
    """The bus's side of one module's registers."""

    def __init__(self, chassis: Chassis) -> None:
        self._chassis = chassis
        self._memory = chassis.memory
        self._address = 0
        self._bank = 0
        self._page = 0

    def read(self, length: int, address: int | None) -> bytes:
        """From an address, or from where the last access ended. What is asked for beyond the limit reads as FFh."""
        self._address = self._address if address is None else address
        allowed = length if self._chassis.profile.full_page_reads else min(length, _PLAIN_ACCESS)
        data = b""
        while len(data) < allowed:
            end = _end_of_half(self._address)
            part = min(allowed - len(data), end - self._address)
            data += self._memory.read(self._page_at(self._address), self._address, part)
            self._address += part
            if self._address == end:
                self._address = end - PAGE_SIZE
        return data.ljust(length, _NOT_DRIVEN)

    def write(self, address: int, content: bytes) -> None:
        """All of it, or nothing.

        Raises:
            Nack: more than the module takes at once, or across the end of a half.
        """
        self._address = address
        after = address + len(content)
        if len(content) > self._longest_write() or after > _end_of_half(address):
            raise Nack(of_address=False)
        goes_back = address <= _PAGE_SELECT < after and content[_PAGE_SELECT - address] == 0
        if goes_back and self._chassis.faults.has(ModuleFaultKind.NACK_RESTORE):
            raise Nack(of_address=False)
        self._address = after if after < _end_of_half(address) else after - PAGE_SIZE
        if address >= PAGE_SIZE:
            self._memory.write(self._page, address, content)
            return
        plain = content[: max(0, _BANK_SELECT - address)]
        if plain:
            self._memory.write(LOWER, address, plain)
        self._take_selection(dict(enumerate(content, start=address)))

    def _take_selection(self, written: dict[int, int]) -> None:
        """A bank that is written alone counts from the next page on. Pages below 10h are in no bank."""
        self._bank = written.get(_BANK_SELECT, self._bank)
        if _PAGE_SELECT not in written or self._chassis.faults.has(ModuleFaultKind.PAGE_STUCK):
            return
        page = written[_PAGE_SELECT]
        self._bank = self._bank if page >= BANKED_FROM else 0
        known = page in self._memory.pages and self._bank == 0
        self._page = page if known else 0
        self._bank = self._bank if known else 0
        self._memory.put(LOWER, _BANK_SELECT, bytes((self._bank, self._page)))

    def _page_at(self, address: int) -> int:
        if address < PAGE_SIZE:
            return LOWER
        return 0 if self._chassis.faults.has(ModuleFaultKind.PAGE_00_ONLY) else self._page

    def _longest_write(self) -> int:
        commands = self._chassis.profile.cdb is not CdbMode.NONE and self._page in _CDB_PAGES
        return _PLAIN_ACCESS * (1 + pages.CDB_EXTRA_WRITE) if commands else _PLAIN_ACCESS


def _end_of_half(address: int) -> int:
    return PAGE_SIZE if address < PAGE_SIZE else 2 * PAGE_SIZE
