"""A module on an I2C adapter of the kernel, ``/dev/i2c-N``, whose only module it is: combined transfers by I2C_RDWR.

Calls block, so every adapter has a thread of its own, which also keeps transfers in order when somebody stops waiting
for one.
"""

import asyncio
import ctypes
import errno
import fcntl
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as FilePath
from typing import TypeVar

from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError
from ringlight.fabric.errors import UnavailableError

_T = TypeVar("_T")
ADDRESS = 0x50
I2C_RDWR = 0x0707
I2C_M_RD = 0x0001
_MODULE_ERRORS = frozenset({errno.EIO, errno.ENXIO, errno.EREMOTEIO, errno.EBUSY, errno.ETIMEDOUT, errno.EAGAIN})


class I2cMessage(ctypes.Structure):
    """The kernel's ``struct i2c_msg``."""

    _fields_ = (
        ("addr", ctypes.c_uint16),
        ("flags", ctypes.c_uint16),
        ("len", ctypes.c_uint16),
        ("buf", ctypes.POINTER(ctypes.c_uint8)),
    )


class I2cTransfer(ctypes.Structure):
    """The kernel's ``struct i2c_rdwr_ioctl_data``."""

    _fields_ = (("msgs", ctypes.POINTER(I2cMessage)), ("nmsgs", ctypes.c_uint32))


Ioctl = Callable[[int, int, I2cTransfer], int]


class I2cDevice:
    """`Transfers` to the module on an adapter.

    Args:
        path: ``/dev/i2c-N``.
        ioctl: the kernel's; another one in tests.
    """

    def __init__(self, path: FilePath, ioctl: Ioctl = fcntl.ioctl) -> None:
        self._path = path
        self._ioctl = ioctl
        self._file: int | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> None:
        """Open the adapter.

        Raises:
            UnavailableError: it is not there, or may not be used.
        """
        if self._file is not None:
            return
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"i2c {self._path}")
        try:
            self._file = await self._run(lambda: os.open(self._path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            self._stop()
            raise UnavailableError(
                f"the I2C adapter {self._path} cannot be opened: {error.strerror}",
                hint="is the module i2c-dev loaded, and may this user use the adapter?",
            ) from error

    async def transfer(self, data: bytes, length: int) -> bytes:
        """Write, then read after a repeated start.

        Raises:
            NotAcknowledgedError: the module did not answer.
            UnavailableError: the adapter is gone.
        """
        file = self._file
        if file is None:
            raise UnavailableError(f"the I2C adapter {self._path} is not open")
        try:
            return await self._run(lambda: self._transfer(file, data, length))
        except OSError as error:
            if error.errno in _MODULE_ERRORS:
                raise NotAcknowledgedError from error
            raise UnavailableError(f"the I2C adapter {self._path} is gone: {error.strerror}") from error

    def is_present(self) -> bool:
        """For all that an adapter shows."""
        return True

    async def interrupted(self) -> None:
        """Never: an adapter shows no lines."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Close the adapter, after the transfer under way."""
        file, self._file = self._file, None
        if file is not None:
            await self._run(lambda: os.close(file))
        self._stop()

    def _transfer(self, file: int, data: bytes, length: int) -> bytes:
        sent = (ctypes.c_uint8 * max(1, len(data))).from_buffer_copy(data or b"\0")
        received = (ctypes.c_uint8 * max(1, length))()
        messages = []
        if data:
            messages.append(I2cMessage(ADDRESS, 0, len(data), sent))
        if length:
            messages.append(I2cMessage(ADDRESS, I2C_M_RD, length, received))
        array = (I2cMessage * len(messages))(*messages)
        self._ioctl(file, I2C_RDWR, I2cTransfer(array, len(messages)))
        return bytes(received[:length])

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _stop(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None
