"""A switch for all nodes of an agent: connected for the first that needs it, let go after the last.

When the connection is lost, all nodes come back at once. They share one attempt to connect, and attempts keep apart by
a pause with full jitter, since the agents of other nodes on the same switch come back at the same moment.

A switch that was there before is waited for a while. So its nodes wait in one place, and are back at the same moment:
were they back one by one, a controller would heal a ring around those that are still missing.
"""

import asyncio
import logging
from random import Random

from ringlight.agents.drivers.polatis.dialogue import Expected, boot_mode, greet, look
from ringlight.agents.drivers.polatis.live import LiveSwitch, Terms
from ringlight.agents.drivers.polatis.patch import Patch
from ringlight.agents.drivers.polatis.tally import Tally
from ringlight.agents.drivers.polatis.wire import Wire
from ringlight.fabric.errors import UnavailableError
from ringlight.protos.backoff import Backoff

_BACKOFF_FIRST = 0.1  # seconds: bound of the first pause
_BACKOFF_CAP = 2.0  # seconds: well within what an agent gives hardware to be opened
REGAIN_SECONDS = 2.0
"""How long to try to regain a switch before its nodes are told that it does not answer: with one more pause and attempt
that is still within what an agent gives hardware to be opened."""

TOGETHER_SECONDS = 0.12
"""Before the first attempt to regain a switch: as long as its nodes may pause when they lost it, and a little more."""

_log = logging.getLogger(__name__)


class SharedSwitch:
    """One switch.

    Args:
        address: ``HOST:PORT``.
        answer_within: seconds until it must have answered.
        expected: what it must be.
        terms: how it is watched.
        rng: of the pauses between attempts.

    Attributes:
        patch: what is plugged in where.
        tally: what is counted of it.
        serial: number of the switch that was found; empty before it was connected.
    """

    def __init__(self, address: str, answer_within: float, expected: Expected, terms: Terms, rng: Random) -> None:
        self.name = expected.name
        self.patch: Patch = expected.patch
        self.tally = Tally()
        self.serial = ""
        self._address = address
        self._within = answer_within
        self._expected = expected
        self._terms = terms
        self._backoff = Backoff(rng, first=_BACKOFF_FIRST, cap=_BACKOFF_CAP)
        self._turn = asyncio.Lock()
        self._current: LiveSwitch | None = None
        self._users: dict[LiveSwitch, int] = {}
        self._connected_at = 0.0
        self._not_before = 0.0
        self._failures = 0
        self._trouble = UnavailableError("was never tried")
        self._warned = ""

    async def acquire(self) -> LiveSwitch:
        """A live connection; whoever gets one must release it.

        Raises:
            UnavailableError: the switch does not answer, or is not the one that is meant.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + (REGAIN_SECONDS if self.tally.connections else 0.0)
        while True:
            live = await self._acquire()
            if live is not None:
                return live
            if loop.time() >= until:
                raise UnavailableError(str(self._trouble), hint=self._trouble.hint)

    async def _acquire(self) -> LiveSwitch | None:
        """The live connection, after an attempt to make it if there is none; None when that failed."""
        failures = self._failures
        async with self._turn:
            live = self._current
            if live is None or not live.alive:
                if self._failures > failures:  # somebody tried while we waited
                    return None
                await self._pause()
                try:
                    self._current = live = await self._connect()
                except UnavailableError:
                    return None
            self._users[live] = self._users.get(live, 0) + 1
            return live

    async def release(self, live: LiveSwitch) -> None:
        """Need a connection no more; the last one to say so closes it."""
        self._users[live] -= 1
        if self._users[live]:
            return
        del self._users[live]
        if self._current is live:
            self._current = None
        await live.close()

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        if self._connected_at:  # and lost since
            if loop.time() - self._connected_at > _BACKOFF_CAP:
                self._backoff.reset()  # not for one that is lost at once: do not hammer it
            self._not_before = loop.time() + TOGETHER_SECONDS + self._backoff.next()
            self._connected_at = 0.0
        await asyncio.sleep(max(0.0, self._not_before - loop.time()))

    async def _connect(self) -> LiveSwitch:
        try:
            live = await self._connected()
        except UnavailableError as trouble:
            self._failures += 1
            self._trouble = trouble
            self._not_before = asyncio.get_running_loop().time() + self._backoff.next()
            raise
        self._connected_at = asyncio.get_running_loop().time()
        self.tally.connections += 1
        return live

    async def _connected(self) -> LiveSwitch:
        wire = await Wire.dial(self.name, self._address, self._within)
        try:
            identity = await greet(wire, self._expected)
            mode = await boot_mode(wire)
            first = await look(wire, self.patch, monitors=self._expected.monitors, boot_mode=mode)
        except BaseException:
            await wire.close()
            raise
        self.serial = identity.serial
        _log.info("switch %s: %s %s, firmware %s", self.name, identity.model, identity.serial, identity.firmware)
        self._warn_of(mode)
        return LiveSwitch(wire, self.patch, self._terms, self.tally, first)

    def _warn_of(self, mode: str) -> None:
        """Say once that a power cycle would cost every ring."""
        if mode.startswith("DARK") and self._warned != mode:
            text = "switch %s: boot mode %s: it forgets every cross-connect when it loses power (see docs/polatis.md)"
            _log.warning(text, self.name, mode)
        self._warned = mode
