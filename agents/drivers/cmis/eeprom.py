"""A module as an EEPROM file of the kernel's optoe driver, which selects pages itself and goes back to page 00h.

Byte b of page P is at P·128 + b; lower memory is at 0. Offsets of other banks differ between kernels, so only bank 0 is
used.
"""

import asyncio
import os
from pathlib import Path as FilePath

from ringlight.agents.drivers.cmis.blocking_file import BlockingFile
from ringlight.agents.drivers.cmis.registers import PAGE_SIZE
from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError


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
        data = await self._file.access(lambda file: os.pread(file, length, page * PAGE_SIZE + byte))
        if len(data) < length:
            raise NotAcknowledgedError
        return data

    async def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half; raises as `read`."""
        written = await self._file.access(lambda file: os.pwrite(file, data, page * PAGE_SIZE + byte))
        if written < len(data):
            raise NotAcknowledgedError

    async def interrupted(self) -> None:
        """Never: a file shows no lines."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Close the file, after the access under way."""
        await self._file.close()
