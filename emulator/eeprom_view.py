"""A module as one long array of bytes, the way the kernel's optoe driver shows it in its `eeprom` file.

Byte b of the lower memory is at b; byte b of page P at P·128 + b, so that page 00h follows the lower memory. Whoever
reads or writes selects no page: that is done here, for each access, and page 00h is selected again afterwards, also
after an access that failed. An access that crosses into another page becomes several, and what is written goes byte by
byte, so a module is never given more than it takes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ringlight.emulator.module.nack import Nack

PAGE_SIZE = 128
SIZE = 257 * PAGE_SIZE  # the lower memory and 256 pages
_PAGE_SELECT = 127

Transfer = Callable[[bytes, int], bytes]  # bytes to write, how many to read after a repeated start


class EepromView:
    """One module.

    Args:
        transfer: with the module; raises `Nack`.
    """

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on; fewer where the file ends.

        Raises:
            Nack: the module did not acknowledge something.
        """
        data = b""
        for page, byte, part in _pieces(offset, min(length, SIZE - offset)):
            with self._selected(page):
                data += self._transfer(bytes((byte,)), part)
        return data

    def write(self, offset: int, data: bytes) -> int:
        """Bytes to an offset and on; how many were written.

        Raises:
            Nack: the module did not acknowledge something; bytes before may have been written.
        """
        written = 0
        for page, first, part in _pieces(offset, min(len(data), SIZE - offset)):
            with self._selected(page):
                for byte in range(first, first + part):
                    self._transfer(bytes((byte, data[written])), 0)
                    written += 1
        return written

    @contextmanager
    def _selected(self, page: int) -> Iterator[None]:
        if page == 0:
            yield
            return
        self._select(page)
        try:
            yield
        finally:
            self._go_back()

    def _select(self, page: int) -> None:
        self._transfer(bytes((_PAGE_SELECT, page)), 0)

    def _go_back(self) -> None:
        """As the kernel does: a module that does not go back is not what the access is judged by."""
        try:
            self._select(0)
        except Nack:
            return


def _pieces(offset: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Page, byte, and length of each piece of an access that lies on one page; the lower memory counts as page 0."""
    end = offset + length
    while offset < end:
        part = min(end, (offset // PAGE_SIZE + 1) * PAGE_SIZE) - offset
        page = max(0, offset // PAGE_SIZE - 1)
        yield page, offset - page * PAGE_SIZE, part
        offset += part
