"""A module as an EEPROM file of the kernel's optoe driver, which selects pages itself and goes back to page 00h.

Byte b of page P is at P·128 + b; lower memory is at 0. Offsets of other banks differ between kernels, so only bank 0 is
used. For page 00h the kernel selects nothing, since it went back there after the access before; a module that did not
go back, or that somebody else spoke to, would show another page. So before page 00h is read, its being selected is
looked at, and mended.
"""

import asyncio
import os
from pathlib import Path as FilePath

from ringlight.agents.drivers.cmis.blocking_file import BlockingFile
from ringlight.agents.drivers.cmis.registers import PAGE_SIZE
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError, Trouble

_BANK_SELECT = 126
_PAGE_00H = b"\0\0"
_SELECTIONS = 3  # times that it is tried before the module is given up


class EepromFile:
    """`ModuleMemory` over an ``eeprom`` file."""

    def __init__(self, path: FilePath) -> None:
        advice = "is the kernel's optoe driver bound to it, and may this user write the file?"
        self._file = BlockingFile(path, f"the module at {path}", advice)

    async def open(self) -> None:
        """Open the file.

        Raises:
            UnavailableError: it is not there, or may not be written.
        """
        await self._file.open()

    def limit_reads(self, size: int) -> None:
        """Nothing: the kernel asks the module for as much as it gives."""

    def is_present(self) -> bool:
        """For all that a file shows."""
        return True

    async def read(self, page: int, byte: int, length: int) -> bytes:
        """Bytes of one half.

        Raises:
            NotAcknowledgedError: the module did not answer, or gave less.
            UnavailableError: the file is gone.
        """
        if page == 0 and byte >= PAGE_SIZE:
            await self._back_on_page_00h()
        return await self._read(page * PAGE_SIZE + byte, length)

    async def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half; raises as `read`."""
        if page == 0 and byte >= PAGE_SIZE:
            await self._back_on_page_00h()
        await self._write(page * PAGE_SIZE + byte, data)

    async def interrupted(self) -> None:
        """Never: a file shows no lines."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Close the file, after the access under way."""
        await self._file.close()

    async def _back_on_page_00h(self) -> None:
        found = b""
        for _ in range(_SELECTIONS):
            found = await self._read(_BANK_SELECT, 2)
            if found == _PAGE_00H:
                return
            await self._write(_BANK_SELECT, _PAGE_00H)
        raise ModuleTroubleError(Trouble.PAGE, f"page 00h was selected, and page {found[1]:02X}h of bank {found[0]} is")

    async def _read(self, offset: int, length: int) -> bytes:
        data = await self._file.access(lambda file: os.pread(file, length, offset))
        if len(data) < length:
            raise NotAcknowledgedError
        return data

    async def _write(self, offset: int, data: bytes) -> None:
        if await self._file.access(lambda file: os.pwrite(file, data, offset)) < len(data):
            raise NotAcknowledgedError
