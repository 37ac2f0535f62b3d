"""One module's memory, by page and byte: what every transport offers, and how raw I2C becomes that.

Over raw I2C the driver selects pages itself. A module keeps whatever page was selected last, by whomever; so before
each access the page is selected and read back, and no memory of it is trusted.

An access that is not acknowledged is tried again for a while: modules are busy after writes, and some refuse now and
then. An error of the transport itself, such as a bus that is gone, is nobody's here to mend and goes through.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ringlight.agents.drivers.cmis.registers import PAGE_SIZE
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError, Trouble

_T = TypeVar("_T")
_PAUSE = 0.002  # seconds between tries
_BANK_SELECT = 126
_SELECTIONS = 3  # times that a page is selected before the module is given up
PLAIN_ACCESS = 8  # bytes that every module gives and takes at once


class ModuleMemory(Protocol):
    """Where the bytes of one module are."""

    async def open(self) -> None:
        """Connect.

        Raises:
            UnavailableError: the transport is not there.
        """

    def limit_reads(self, size: int) -> None:
        """Ask the module for so many bytes at once, where the driver does the asking."""

    def is_present(self) -> bool:
        """Whether a module is plugged in, as far as that can be seen without asking it."""

    async def read(self, page: int, byte: int, length: int) -> bytes:
        """Bytes of one half: lower memory is page 0 below byte 128.

        Raises:
            NotAcknowledgedError: the module did not answer.
            ModuleTroubleError: it does not select the page.
            UnavailableError: the transport is gone.
        """

    async def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half; raises as `read`."""

    async def interrupted(self) -> None:
        """Wait until the module asks to be looked at; for ever where that cannot be seen.

        Raises:
            UnavailableError: the transport is gone.
        """

    async def close(self) -> None:
        """Let go."""


class Transfers(Protocol):
    """Raw I2C to one module."""

    async def open(self) -> None:
        """Connect."""

    async def transfer(self, data: bytes, length: int) -> bytes:
        """Write, then read after a repeated start.

        Raises:
            NotAcknowledgedError: the module did not answer.
            UnavailableError: the bus is gone.
        """

    def is_present(self) -> bool:
        """Whether a module is plugged in, as far as that can be seen."""

    async def interrupted(self) -> None:
        """Wait until the module asks to be looked at."""

    async def close(self) -> None:
        """Let go."""


class PagedMemory:
    """`ModuleMemory` over raw I2C."""

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers
        self._read_size = PLAIN_ACCESS

    async def open(self) -> None:
        """Connect."""
        await self._transfers.open()

    def limit_reads(self, size: int) -> None:
        """Ask the module for so many bytes at once."""
        self._read_size = size

    def is_present(self) -> bool:
        """Whether a module is plugged in, as far as that can be seen."""
        return self._transfers.is_present()

    async def read(self, page: int, byte: int, length: int) -> bytes:
        """Bytes of one half, in pieces that the module gives."""
        if byte >= PAGE_SIZE:
            await self._select(page)
        data = b""
        while len(data) < length:
            part = min(self._read_size, length - len(data))
            data += await self._transfers.transfer(bytes((byte + len(data),)), part)
        return data

    async def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half, in pieces that the module takes."""
        if byte >= PAGE_SIZE:
            await self._select(page)
        for at in range(0, len(data), PLAIN_ACCESS):
            await self._transfers.transfer(bytes((byte + at,)) + data[at : at + PLAIN_ACCESS], 0)

    async def interrupted(self) -> None:
        """Wait until the module asks to be looked at."""
        await self._transfers.interrupted()

    async def close(self) -> None:
        """Let go."""
        await self._transfers.close()

    async def _select(self, page: int) -> None:
        wanted = bytes((0, page))
        found = b""
        for _ in range(_SELECTIONS):
            await self._transfers.transfer(bytes((_BANK_SELECT,)) + wanted, 0)
            found = await answered(lambda: self._transfers.transfer(bytes((_BANK_SELECT,)), len(wanted)), _BUSY)
            if found == wanted:
                return
        raise ModuleTroubleError(
            Trouble.PAGE, f"page {page:02X}h was selected, and page {found[1]:02X}h of bank {found[0]} is"
        )


_BUSY = 0.1  # seconds: longer than any write may keep a module busy


async def answered(access: Callable[[], Awaitable[_T]], patience: float) -> _T:
    """What an access returns, tried again for some seconds while it is not acknowledged.

    Raises:
        NotAcknowledgedError: it was not, all the time.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    while True:
        try:
            return await access()
        except NotAcknowledgedError:
            if loop.time() >= end:
                raise
            await asyncio.sleep(_PAUSE)
