"""The register file of a module: pages and banks, who may write what, what clears when it is read.

The parts of a module keep their registers up to date in here; the bus reads them. A byte of which the host may write
some bits keeps the others. A byte whose writing is an action never holds anything: its bits go to the part that said it
wants them.
"""

from collections.abc import Callable, Iterable

PAGE_SIZE = 128
BANKED_FROM = 0x10

Address = tuple[int, int]  # (page, byte); lower memory is page LOWER with bytes 0 to 127
LOWER = -1


class Memory:
    """The bytes of one module.

    Attributes:
        lower: bytes 0 to 127.
        pages: the upper half of each page, in bank 0, byte 128 first.
    """

    def __init__(self) -> None:
        self.lower = bytearray(PAGE_SIZE)
        self.pages: dict[int, bytearray] = {}
        self._writable: dict[Address, int] = {}
        self._cleared_on_read: dict[int, dict[int, Callable[[], int]]] = {}
        self._after_clearing: Callable[[], None] = lambda: None
        self._actions: dict[Address, Callable[[int], None]] = {}
        self._refreshers: dict[int, tuple[range, Callable[[], None]]] = {}

    # -- for the parts of the module -----------------------------------------------------------------------------------

    def add_page(self, page: int, content: bytearray | None = None) -> bytearray:
        """Give the module a page; without content, of zeros."""
        self.pages[page] = content if content is not None else bytearray(PAGE_SIZE)
        return self.pages[page]

    def allow(self, page: int, bytes_: Iterable[int], mask: int = 0xFF) -> None:
        """Let the host write these bits of bytes."""
        for byte in bytes_:
            self._writable[page, byte] = mask

    def clear_on_read(self, page: int, byte: int, remaining: Callable[[], int]) -> None:
        """A byte of flags. Once it was read it holds what `remaining` then says still holds."""
        self._cleared_on_read.setdefault(page, {})[byte] = remaining

    def after_clearing(self, action: Callable[[], None]) -> None:
        """Have something done after each read that cleared flags."""
        self._after_clearing = action

    def on_write(self, page: int, byte: int, action: Callable[[int], None]) -> None:
        """Have something done when the host writes a byte; called with what it wrote, after all bytes were taken."""
        self._actions[page, byte] = action

    def before_read(self, page: int, bytes_: range, refresh: Callable[[], None]) -> None:
        """Have registers that always move brought up to date before any of them is read."""
        self._refreshers[page] = (bytes_, refresh)

    def get(self, page: int, byte: int) -> int:
        """One byte, without any effect of a read."""
        return self.lower[byte] if page == LOWER else self.pages[page][byte - PAGE_SIZE]

    def set(self, page: int, byte: int, value: int) -> None:
        """One byte, without any effect of a write."""
        if page == LOWER:
            self.lower[byte] = value
        else:
            self.pages[page][byte - PAGE_SIZE] = value

    def put(self, page: int, byte: int, data: bytes | bytearray) -> None:
        """Several bytes, without any effect of a write."""
        half, at = (self.lower, byte) if page == LOWER else (self.pages[page], byte - PAGE_SIZE)
        half[at : at + len(data)] = data

    # -- for the bus ---------------------------------------------------------------------------------------------------

    def read(self, page: int, byte: int, length: int) -> bytes:
        """Bytes of one half, as a host reads them: flags that are among them are cleared."""
        if page in self._refreshers:
            moving, refresh = self._refreshers[page]
            if byte < moving.stop and moving.start < byte + length:
                refresh()
        half, at = (self.lower, byte) if page == LOWER else (self.pages[page], byte - PAGE_SIZE)
        data = bytes(half[at : at + length])
        flags = self._cleared_on_read.get(page)
        if flags:
            read = (
                [where for where in flags if byte <= where < byte + length] if length > 1 else [byte] * (byte in flags)
            )
            for where in read:
                half[where - byte + at] = flags[where]()
            if read:
                self._after_clearing()
        return data

    def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half, as a host writes them; what must not be written is passed over in silence."""
        done: list[tuple[Callable[[int], None], int]] = []
        for where, value in enumerate(data, start=byte):
            action = self._actions.get((page, where))
            if action is not None:
                done.append((action, value))
            mask = self._writable.get((page, where), 0)
            if mask:
                self.set(page, where, (self.get(page, where) & ~mask) | (value & mask))
        for action, value in done:
            action(value)
