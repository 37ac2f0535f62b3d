"""A module as an EEPROM file of the kernel's optoe driver, which selects pages itself and goes back to page 00h.

Byte b of page P is at P·128 + b; lower memory is at 0. Offsets of other banks differ between kernels, so only bank 0 is
used. Files block, and a slow module blocks for long: every file has a thread of its own, which also keeps accesses in
order when somebody stops waiting for one.
"""

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as FilePath
from typing import TypeVar

from ringlight.agents.drivers.cmis.registers import PAGE_SIZE
from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError
from ringlight.fabric.errors import UnavailableError

_T = TypeVar("_T")
# What kernels say when the module did not acknowledge, or was busy.
_MODULE_ERRORS = frozenset({errno.EIO, errno.ENXIO, errno.EREMOTEIO, errno.EBUSY, errno.ETIMEDOUT, errno.EAGAIN})


class EepromFile:
    """`ModuleMemory` over an ``eeprom`` file."""

    def __init__(self, path: FilePath) -> None:
        self._path = path
        self._file: int | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> None:
        """Open the file.

        Raises:
            UnavailableError: it is not there, or may not be written.
        """
        if self._file is not None:
            return
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"eeprom {self._path}")
        try:
            self._file = await self._run(lambda: os.open(self._path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            self._stop()
            raise UnavailableError(
                f"the module at {self._path} cannot be opened: {error.strerror}",
                hint="is the kernel's optoe driver bound to it, and may this user write the file?",
            ) from error

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
        file = self._opened()
        data = await self._access(lambda: os.pread(file, length, page * PAGE_SIZE + byte))
        if len(data) < length:
            raise NotAcknowledgedError
        return data

    async def write(self, page: int, byte: int, data: bytes) -> None:
        """Bytes into one half; raises as `read`."""
        file = self._opened()
        if await self._access(lambda: os.pwrite(file, data, page * PAGE_SIZE + byte)) < len(data):
            raise NotAcknowledgedError

    async def interrupted(self) -> None:
        """Never: a file shows no lines."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Close the file, after the access under way."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # it may be gone, and is closed all the same
                await self._run(lambda: os.close(file))
        self._stop()

    async def _access(self, call: Callable[[], _T]) -> _T:
        try:
            return await self._run(call)
        except OSError as error:
            if error.errno in _MODULE_ERRORS:
                raise NotAcknowledgedError from error
            raise UnavailableError(f"the module at {self._path} is gone: {error.strerror}") from error

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _opened(self) -> int:
        if self._file is None:
            raise UnavailableError(f"the module at {self._path} is not open")
        return self._file

    def _stop(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None
