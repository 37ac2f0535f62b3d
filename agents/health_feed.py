"""The source of a node's GPU health, kept open: it may be away while the node's circuits are served all the same.

A lost feed is not a lost GPU. While it is away that is a fault of its own, which says nothing against any GPU, and the
faults that were open stay open: a fault is over when somebody says so, never because nobody says anything. Calls that
hang are given up; drivers of GPUs do hang.
"""

import asyncio
import logging
from collections.abc import Callable

from ringlight.agents.backoff import Backoff
from ringlight.agents.ports import FaultClosed, FaultOpened, GpuHealth, HealthEvent
from ringlight.agents.settings import AgentSettings
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import UnavailableError

_log = logging.getLogger(__name__)

FEED_LOST = Fault(
    "health-feed", "gpus", FaultClass.INFO, "health-feed-lost", "nothing is heard about the GPUs of this node"
)


class HealthFeed:
    """One node's `GpuHealth`, opened again whenever it is lost.

    Args:
        notice: is told what opens and closes.
    """

    def __init__(
        self, gpus: GpuHealth, settings: AgentSettings, backoff: Backoff, notice: Callable[[HealthEvent], None]
    ) -> None:
        self._gpus = gpus
        self._settings = settings
        self._backoff = backoff
        self._notice = notice
        self._is_open = False
        self._known: dict[str, Fault] = {}

    async def open(self) -> None:
        """Try to open it; without it the node is served all the same."""
        try:
            async with asyncio.timeout(self._settings.open_timeout):
                await self._gpus.open()
        except (TimeoutError, UnavailableError) as error:
            self._lose(error)
        else:
            self._is_open = True

    async def read(self) -> tuple[Fault, ...]:
        """Every fault that is open as far as is known; read anew, if the feed answers in time."""
        if self._is_open:
            try:
                async with asyncio.timeout(self._settings.read_timeout):
                    self._known = {fault.id: fault for fault in await self._gpus.read()}
            except (TimeoutError, UnavailableError) as error:
                self._lose(error)
        known = tuple(self._known.values())
        return known if self._is_open else (*known, FEED_LOST)

    async def follow(self) -> None:
        """Pass on what it tells, and open it again when it is lost. Runs until cancelled."""
        while True:
            if not self._is_open:
                await asyncio.sleep(self._backoff.next())
                await self._come_back()
                continue
            try:
                async for event in self._gpus.events():
                    self._take(event)
            except UnavailableError as error:
                self._lose(error)
            else:
                self._lose(UnavailableError("it ended", hint="check the source of GPU health"))

    async def close(self) -> None:
        """Let go of it. What is known of the GPUs is kept."""
        self._is_open = False
        async with asyncio.timeout(self._settings.open_timeout):
            await self._gpus.close()

    async def _come_back(self) -> None:
        """Try again; when it is back, tell what changed meanwhile."""
        before = dict(self._known)
        await self.open()
        await self.read()
        if not self._is_open:
            return
        self._notice(FaultClosed(FEED_LOST.id))
        for fault_id in sorted(before.keys() - self._known.keys()):
            self._notice(FaultClosed(fault_id))
        for fault_id in sorted(self._known.keys() - before.keys()):
            self._notice(FaultOpened(self._known[fault_id]))

    def _take(self, event: HealthEvent) -> None:
        if isinstance(event, FaultOpened):
            self._known[event.fault.id] = event.fault
        else:
            self._known.pop(event.fault_id, None)
        self._notice(event)

    def _lose(self, error: Exception) -> None:
        _log.warning("GPU health is lost: %s", str(error) or "it did not answer in time")
        self._is_open = False
        self._notice(FaultOpened(FEED_LOST))
