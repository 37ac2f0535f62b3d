"""A module on an I2C adapter of the kernel, ``/dev/i2c-N``, whose only module it is: combined transfers by I2C_RDWR.

Selecting a page and using it are transfers of their own, and the module has one page select for everybody. So an
adapter is locked while it is open: two of our processes never share it. Programs of others know nothing of that lock.
"""

import asyncio
import ctypes
import fcntl
from collections.abc import Callable
from pathlib import Path as FilePath

from ringlight.agents.drivers.cmis.blocking_file import BlockingFile

ADDRESS = 0x50
I2C_RDWR = 0x0707
I2C_M_RD = 0x0001


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
        advice = "is the module i2c-dev loaded, and may this user use the adapter?"
        self._file = BlockingFile(path, f"the I2C adapter {path}", advice, alone=True)
        self._ioctl = ioctl

    async def open(self) -> None:
        """Open the adapter.

        Raises:
            UnavailableError: it is not there, may not be used, or another process of ours has it.
        """
        await self._file.open()

    async def transfer(self, data: bytes, length: int) -> bytes:
        """Write, then read after a repeated start.

        Raises:
            NotAcknowledgedError: the module did not answer.
            UnavailableError: the adapter is gone.
        """
        return await self._file.access(lambda file: self._transfer(file, data, length))

    def is_present(self) -> bool:
        """For all that an adapter shows."""
        return True

    async def interrupted(self) -> None:
        """Never: an adapter shows no lines."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Close the adapter, after the transfer under way."""
        await self._file.close()

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
