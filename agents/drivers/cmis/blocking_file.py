"""A file of the kernel behind which a module is. Such files block, and a slow module blocks for long.

Every file has a thread of its own, which also keeps accesses in order when somebody stops waiting for one. What a
kernel says of a module that did not answer is told apart from a file that is gone.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as FilePath
from typing import TypeVar

from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError, in_use
from ringlight.fabric.errors import UnavailableError

_T = TypeVar("_T")
# What kernels say when the module did not acknowledge, or was busy.
_MODULE_ERRORS = frozenset({errno.EIO, errno.ENXIO, errno.EREMOTEIO, errno.EBUSY, errno.ETIMEDOUT, errno.EAGAIN})


class BlockingFile:
    """One file.

    Args:
        path: of the file.
        name: what it is, for messages: ``the module at /sys/...``.
        advice: what to look at when it cannot be opened.
        alone: no other process of ours may have it open so meanwhile. The kernel lets go of it with the process.
    """

    def __init__(self, path: FilePath, name: str, advice: str, *, alone: bool = False) -> None:
        self._path = path
        self._name = name
        self._advice = advice
        self._alone = alone
        self._opened: _Opened | None = None

    async def open(self) -> None:
        """Open it, unless it is open.

        Raises:
            UnavailableError: it is not there, may not be used, or another process has it.
        """
        if self._opened is None:
            self._opened = _Opened(self._path, alone=self._alone)
        try:
            await self._opened.run(self._opened.open)
        except BlockingIOError as error:
            await self.close()
            raise in_use(self._name) from error
        except OSError as error:
            await self.close()
            raise UnavailableError(f"{self._name} cannot be opened: {error.strerror}", hint=self._advice) from error

    async def access(self, call: Callable[[int], _T]) -> _T:
        """What a call on the open file returns, made by the file's thread.

        Raises:
            NotAcknowledgedError: the module did not answer.
            UnavailableError: the file is gone, or not open.
        """
        opened = self._opened
        if opened is None:
            raise UnavailableError(f"{self._name} is not open")
        try:
            return await opened.run(lambda: opened.call(call))
        except OSError as error:
            if error.errno in _MODULE_ERRORS:
                raise NotAcknowledgedError from error
            raise UnavailableError(f"{self._name} is gone: {error.strerror}") from error

    async def close(self) -> None:
        """Close it, after the access under way. It is closed even if nobody waits for that any more."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()


class _Opened:
    """The file from one opening to the next closing.

    Its number is known in its thread only: no access uses one that was given to another file meanwhile.
    """

    def __init__(self, path: FilePath, *, alone: bool) -> None:
        self._path = path
        self._alone = alone
        self._number: int | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=str(path))

    async def run(self, call: Callable[[], _T]) -> _T:
        """Have the thread make a call."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def close(self) -> None:
        """Have the thread close the file, and end."""
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)
        await asyncio.shield(closing)

    def open(self) -> None:
        """In the thread. Whoever asked may have gone meanwhile, and another one may ask: it is opened once."""
        if self._number is not None:
            return
        number = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if self._alone:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(number)
            raise
        self._number = number

    def call(self, call: Callable[[int], _T]) -> _T:
        """In the thread."""
        if self._number is None:
            raise OSError(errno.EBADF, "it was never opened")
        return call(self._number)

    def _close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            with contextlib.suppress(OSError):  # it may be gone, and is closed all the same
                os.close(number)
