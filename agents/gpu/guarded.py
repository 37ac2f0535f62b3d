"""Calls into libraries that may never return, in threads that can be given up.

A thread cannot be stopped. One whose call does not return in time is left to itself, and the next call gets a new one:
but only so many, because each keeps its stack and whatever the library holds. With as many hanging, calls are refused
until one of them returns. The threads are daemons, so that a hanging one does not keep the process from ending.

A worker makes one call at a time. A call that was cancelled goes on in its thread; the next one waits until it is over,
since libraries are not made for what would happen otherwise.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ringlight.fabric.errors import UnavailableError

MOST_HANGING = 4  # threads in the process that may hang

_T = TypeVar("_T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class HangingError(UnavailableError):
    """A call did not return in time. It goes on, so whatever it works with must be left alone."""


class Hanging:
    """The threads of a process that were given up.

    Args:
        limit: as many may hang until calls are refused.
    """

    def __init__(self, limit: int = MOST_HANGING) -> None:
        self.limit = limit
        self._threads: set[threading.Thread] = set()

    @property
    def count(self) -> int:
        """Threads that hang now; those that returned after all are none."""
        self._threads = {thread for thread in self._threads if thread.is_alive()}
        return len(self._threads)

    def add(self, thread: threading.Thread) -> None:
        """A thread was given up."""
        self._threads.add(thread)


class Worker:
    """Makes calls in a thread of its own.

    Args:
        name: of what is called, for errors.
        hanging: threads that were given up, of all workers together.
    """

    def __init__(self, name: str, hanging: Hanging) -> None:
        self._name = name
        self._hanging = hanging
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._under_way: asyncio.Future[Any] | None = None

    async def call(self, function: Callable[[], _T], within: float) -> _T:
        """What a function returns, or raises. Calls of this must not overlap.

        Raises:
            HangingError: it did not return within so many seconds.
            UnavailableError: too many calls hang already.
        """
        try:
            async with asyncio.timeout(within):
                if self._under_way is not None:  # of a call that was cancelled
                    await asyncio.wait({self._under_way})
                self._under_way = job = asyncio.get_running_loop().create_future()
                self._start()
                self._jobs.put((function, job))
                result: _T = await asyncio.shield(job)
        except TimeoutError:
            self._give_up()
            hint = "look into the kernel's log for trouble with the driver"
            raise HangingError(f"{self._name} did not return within {within:g} s", hint=hint) from None
        return result

    def _start(self) -> None:
        if self._thread is not None:
            return
        if self._hanging.count >= self._hanging.limit:
            self._under_way = None
            hint = "restart the agent once the driver answers again"
            raise UnavailableError(f"{self._hanging.count} calls of {self._name} hang already", hint=hint)
        self._thread = threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True)
        self._thread.start()

    def _give_up(self) -> None:
        if self._thread is not None:
            self._hanging.add(self._thread)
            self.retire()

    def retire(self) -> None:
        """Let the thread end as soon as it is done. The next call gets another one."""
        self._jobs.put(None)
        self._jobs, self._thread, self._under_way = SimpleQueue(), None, None


def _work(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        function, future = job
        try:
            result, error = function(), None
        except Exception as raised:  # noqa: BLE001  # passed on to whoever called
            result, error = None, raised
        try:
            future.get_loop().call_soon_threadsafe(_deliver, future, result, error)
        except RuntimeError:  # the event loop has ended: nobody waits any more
            return


def _deliver(future: "asyncio.Future[Any]", result: object, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
        future.exception()  # seen, even if whoever called was cancelled
