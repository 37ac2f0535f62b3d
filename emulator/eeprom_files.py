"""Emulated modules as files: `<bus>-<select>/eeprom` in a directory, as a kernel shows real ones, by FUSE.

Any program that reads module memory from such a file can be tried against emulated modules, without knowing that they
are. A module that does not acknowledge fails the access with ENXIO, one that a host on its bus has with EBUSY, and a
node without power has no files.

FUSE calls from a thread of its own, which this module starts and ends; every access waits for the event loop, where
the modules live. Nobody may touch the files from the loop's own thread. There is nothing here that a module does: that
is `ringlight.emulator.eeprom_view`.
"""

import asyncio
import concurrent.futures
import errno
import os
import shutil
import signal
import stat
import subprocess
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from types import ModuleType
from typing import Any, TypeVar

from ringlight.emulator.eeprom_view import SIZE, EepromView
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.module.nack import Nack
from ringlight.fabric.errors import ConflictError, InvalidError, NotFoundError, UnavailableError
from ringlight.fabric.wiring import Wiring

_ANSWER_WITHIN = 2.0  # seconds that the event loop may take for one access
_MOUNT_WITHIN = 10.0  # seconds
_FILE = "eeprom"
_DEVICE = FilePath("/dev/fuse")
_T = TypeVar("_T")


@asynccontextmanager
async def eeprom_files(directory: FilePath, wiring: Wiring, buses: I2cServer) -> AsyncIterator[None]:
    """Show the modules of all nodes as files while the block runs.

    Args:
        directory: made if need be; must be empty.
        wiring: which nodes there are.
        buses: which modules they have.

    Raises:
        UnavailableError: there is no FUSE here, or it refuses to mount.
        InvalidError: the directory cannot be used.
    """
    fuse = _load_fuse()
    _prepare(directory)
    mount = _Mount(fuse, directory, _Tree(fuse, wiring, buses, asyncio.get_running_loop()))
    await mount.start()
    try:
        yield
    finally:
        await mount.stop()


def _load_fuse() -> ModuleType:
    if not _DEVICE.exists():
        raise UnavailableError(f"there is no FUSE on this machine: no {_DEVICE}", hint="leave --eeprom-files out")
    try:
        import mfusepy  # type: ignore[import-untyped]  # noqa: PLC0415 - optional, and looks for a C library
    except (ImportError, OSError) as error:
        raise UnavailableError(
            f"FUSE cannot be used: {error}", hint="install ringlight[fuse] and libfuse (package libfuse2 or fuse3)"
        ) from error
    module: ModuleType = mfusepy
    return module


def _prepare(directory: FilePath) -> None:
    try:
        _let_go_of_leftovers(directory)
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise InvalidError(f"the directory {directory} is not empty", hint="give one that is empty or new")
    except OSError as error:
        raise InvalidError(
            f"cannot put files into {directory}: {error.strerror or error}", hint="give a directory that may be written"
        ) from error


def _let_go_of_leftovers(directory: FilePath) -> None:
    """An emulator that was killed leaves its files behind, and nobody who answers for them."""
    try:
        directory.stat()
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            helper = shutil.which("fusermount3") or shutil.which("fusermount")
            unmount = [helper, "-u", "-z"] if helper is not None else ["umount", "--lazy"]
            subprocess.run([*unmount, directory], check=False, capture_output=True, timeout=_MOUNT_WITHIN)
            directory.stat()
        elif error.errno != errno.ENOENT:
            raise


class _Mount:
    """The thread in which FUSE runs."""

    def __init__(self, fuse: ModuleType, directory: FilePath, tree: "_Tree") -> None:
        self._fuse = fuse
        self._directory = directory
        self._tree = tree
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._mask: set[int] = set()
        self._thread = threading.Thread(target=self._run, name=f"fuse {directory}", daemon=True)

    async def start(self) -> None:
        """Mount, and wait until the files are there."""
        mounted: asyncio.Future[str] = self._loop.create_future()
        self._tree.mounted = lambda: mounted.set_result("")
        # When it ends, libfuse gives SIGPIPE its default back, and then a client that hangs up would end this process.
        # So that signal is kept away from here, and ignored again once libfuse is gone.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        self._thread.start()
        await asyncio.wait({mounted, self._ended}, timeout=_MOUNT_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if mounted.done():
            return
        reason = f"nothing happened within {_MOUNT_WITHIN:g} s"
        if self._ended.done():
            reason = self._ended.result()
            self._let_go()
        raise UnavailableError(f"FUSE does not mount {self._directory}: {reason}", hint="may this user mount?")

    async def stop(self) -> None:
        """Unmount, and wait until the thread has ended."""
        self._tree.leave()
        while not self._ended.done():
            # FUSE leaves from within a call, so one is made for it; the call itself is answered with an error.
            await asyncio.to_thread(os.path.exists, self._directory / "leave")
            await asyncio.wait({self._ended}, timeout=0.1)
        self._let_go()

    def _let_go(self) -> None:
        """What libfuse did to this process is undone."""
        self._thread.join()
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # which drops what is pending, too
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _run(self) -> None:
        reason = "it ended"
        try:
            self._fuse.FUSE(
                self._tree,
                str(self._directory),
                foreground=True,
                nothreads=True,
                fsname="ringlight",
                direct_io=True,
                attr_timeout=0,
                entry_timeout=0,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what `start` reports
            reason = f"it ended with {error}"
        self._loop.call_soon_threadsafe(self._ended.set_result, reason)


class _Tree:
    """What FUSE calls, by the names it has for it; from its own thread.

    Attributes:
        mounted: called in the event loop once the files are there.
    """

    use_ns = True

    def __init__(self, fuse: ModuleType, wiring: Wiring, buses: I2cServer, loop: asyncio.AbstractEventLoop) -> None:
        self.mounted: Callable[[], None] = lambda: None
        self._fuse = fuse
        self._wiring = wiring
        self._buses = buses
        self._loop = loop
        self._leaving = False

    def leave(self) -> None:
        """End with the next call."""
        self._leaving = True

    def init(self, _path: str) -> None:
        """The files are there."""
        self._loop.call_soon_threadsafe(self.mounted)

    def getattr(self, path: str, _handle: object = None) -> dict[str, Any]:
        """What is at a path."""
        if self._leaving:
            self._fuse.fuse_exit()
            raise OSError(errno.ENOENT, path)
        owner = {"st_uid": os.getuid(), "st_gid": os.getgid()}
        directory = {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2, **owner}
        match _parts(path):
            case []:
                return directory
            case [name] if self._module(name) is not None:
                return directory
            case [name, leaf] if leaf == _FILE and self._module(name) is not None:
                return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": SIZE, **owner}
        raise OSError(errno.ENOENT, path)

    def readdir(self, path: str, _handle: object) -> list[str]:
        """The names in a directory."""
        found = [_FILE] if _parts(path) else self._on_loop(self._names)
        return [".", "..", *found]

    def read(self, path: str, size: int, offset: int, _handle: object) -> bytes:
        """Bytes of a module's memory."""
        return self._access(path, lambda view: view.read(offset, size))

    def write(self, path: str, data: bytes, offset: int, _handle: object) -> int:
        """Bytes into a module's memory."""
        return self._access(path, lambda view: view.write(offset, data))

    def truncate(self, _path: str, _length: int, _handle: object = None) -> int:
        """Nothing: a file of the kernel's has its size, and a shell that writes to it truncates it first."""
        return 0

    def _access(self, path: str, access: Callable[[EepromView], _T]) -> _T:
        module = self._module(_parts(path)[0])
        if module is None:
            raise OSError(errno.ENODEV, path)
        position, select = module
        view = EepromView(lambda data, length: self._buses.transfer(position, select, data, length))
        return self._on_loop(lambda: access(view))

    def _module(self, name: str) -> tuple[int, int] | None:
        """Position and select line of the module that a directory is named after, if there is one now."""
        bus, _, number = name.rpartition("-")
        if not number.isdecimal() or not number.isascii() or str(int(number)) != number:
            return None
        try:
            position = self._wiring.position(bus)
        except NotFoundError:
            return None
        select = int(number)
        return (position, select) if select < self._on_loop(lambda: self._buses.selects(position)) else None

    def _names(self) -> list[str]:
        return [
            f"{self._wiring.name(position)}-{select}"
            for position in range(self._wiring.size)
            for select in range(self._buses.selects(position))
        ]

    def _on_loop(self, work: Callable[[], _T]) -> _T:
        """Have the event loop do something for this thread."""
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def run() -> None:
            if not done.set_running_or_notify_cancel():
                return  # nobody waits any more
            try:
                done.set_result(work())
            except Nack:
                done.set_exception(OSError(errno.ENXIO, "not acknowledged"))
            except NotFoundError as error:
                done.set_exception(OSError(errno.ENODEV, str(error)))
            except ConflictError as error:
                done.set_exception(OSError(errno.EBUSY, str(error)))

        try:
            self._loop.call_soon_threadsafe(run)
            return done.result(_ANSWER_WITHIN)
        except (TimeoutError, RuntimeError) as error:  # the loop is busy, or has ended
            done.cancel()
            raise OSError(errno.ETIMEDOUT, str(error)) from error


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
