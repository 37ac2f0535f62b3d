"""The source of a node's GPU health, kept open: it may be away while the node's circuits are served all the same.

A lost feed is not a lost GPU. While it is away that is a fault of its own, which says nothing against any GPU, and the
faults that were open stay open: a fault is over when somebody says so, never because nobody says anything. Calls that
hang are given up; drivers of GPUs do hang. So the feed has a task of its own, and nothing about circuits waits for it
longer than a reading may take.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ringlight.agents.ports import FaultClosed, FaultOpened, GpuHealth, HealthEvent
from ringlight.agents.settings import AgentSettings
from ringlight.fabric.circuits import HEALTH_FEED_LOST, Fault, FaultClass
from ringlight.fabric.errors import UnavailableError
from ringlight.protos.backoff import Backoff
from ringlight.protos.conversation import until_first_ends

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

FEED_LOST = Fault("health-feed", "gpus", FaultClass.INFO, HEALTH_FEED_LOST, "nothing is heard about the GPUs")


class HealthFeed:
    """One node's `GpuHealth`, opened again whenever it is lost.

    Args:
        name: of the node, for the log.
        notice: is told what opens and closes. When the feed is back, all that changed meanwhile comes first, and the
            end of `FEED_LOST` last: from then on, what is open is what was read.

    Attributes:
        losses: times it was lost after it had been open.
    """

    def __init__(
        self,
        name: str,
        gpus: GpuHealth,
        settings: AgentSettings,
        backoff: Backoff,
        notice: Callable[[HealthEvent], None],
    ) -> None:
        self.losses = 0
        self._name = name
        self._gpus = gpus
        self._settings = settings
        self._backoff = backoff
        self._notice = notice
        self._is_open = False
        self._opened_at = 0.0
        self._trouble = ""
        self._known: dict[str, Fault] = {}
        self._news: set[str] = set()  # faults that changed while a reading was under way: later than what it says
        self._reading = asyncio.Lock()
        self._tried = asyncio.Event()
        self._wanted = asyncio.Event()
        self._lost = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether anything would be heard about the GPUs now."""
        return self._is_open

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Every fault that is open as far as is known."""
        known = tuple(self._known.values())
        return known if self._is_open else (*known, FEED_LOST)

    async def run(self) -> None:
        """Keep it open and pass on what it tells. Runs until cancelled."""
        while True:
            self._wanted.clear()
            try:
                await self._open()
                await until_first_ends(self._follow(), self._lost.wait())
            except UnavailableError as error:
                self._lose(error)
            finally:
                await self._let_go()
            self._tried.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._backoff.next()):
                    await self._wanted.wait()

    async def settle(self) -> None:
        """Have it tried now, if it is away, and wait for what comes of it, no longer than a reading may take."""
        if self._is_open:
            return
        self._tried.clear()
        self._wanted.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.read_timeout):
                await self._tried.wait()

    async def refresh(self) -> None:
        """Read it anew, if it is open; when it does not answer in time it is lost, and opened again."""
        if not self._is_open:
            return
        try:
            await self._read()
        except UnavailableError as error:
            self._lose(error)
            self._lost.set()

    async def _open(self) -> None:
        await _in_time(self._settings.open_timeout, self._gpus.open())
        await self._read()
        self._lost.clear()
        self._is_open = True
        self._opened_at = asyncio.get_running_loop().time()
        self._trouble = ""
        self._notice(FaultClosed(FEED_LOST.id))
        self._tried.set()

    async def _read(self) -> None:
        """What is read replaces what is known, but for what was told meanwhile; tell the difference."""
        async with self._reading:
            self._news.clear()
            read = {fault.id: fault for fault in await _in_time(self._settings.read_timeout, self._gpus.read())}
            former = {fault_id: fault for fault_id, fault in self._known.items() if fault_id not in self._news}
            read = {fault_id: fault for fault_id, fault in read.items() if fault_id not in self._news}
            for fault_id in sorted(read):
                if former.get(fault_id) != read[fault_id]:
                    self._tell(FaultOpened(read[fault_id]))
            for fault_id in sorted(former.keys() - read.keys()):
                self._tell(FaultClosed(fault_id))

    async def _follow(self) -> None:
        async for event in self._gpus.events():
            self._news.add(event.fault.id if isinstance(event, FaultOpened) else event.fault_id)
            self._tell(event)
        raise UnavailableError("it ended", hint="check the source of GPU health")

    def _tell(self, event: HealthEvent) -> None:
        if isinstance(event, FaultOpened):
            self._known[event.fault.id] = event.fault
        else:
            self._known.pop(event.fault_id, None)
        self._notice(event)

    def _lose(self, error: UnavailableError) -> None:
        lasted = asyncio.get_running_loop().time() - self._opened_at
        if self._is_open and lasted > self._settings.backoff_cap:
            self._backoff.reset()
        self.losses += self._is_open
        self._is_open = False
        if str(error) != self._trouble:  # it is tried for ever: the same trouble is logged once
            self._trouble = str(error)
            _log.warning("node %s: GPU health is lost: %s", self._name, error)
        self._notice(FaultOpened(FEED_LOST))

    async def _let_go(self) -> None:
        try:
            await _in_time(self._settings.open_timeout, self._gpus.close())
        except UnavailableError as error:
            _log.warning("node %s: GPU health could not be closed: %s", self._name, error)


async def _in_time(seconds: float, call: Awaitable[_T]) -> _T:
    """What a call returns.

    Raises:
        UnavailableError: it does not return so soon, or says so itself.
    """
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        raise UnavailableError(f"no answer within {seconds:g} s", hint="check the source of GPU health") from None
