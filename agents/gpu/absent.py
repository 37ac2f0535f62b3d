"""GPU health of a node that has no source of it: not applicable, which is no fault.

A service that a site does not run says nothing against its GPUs. That a source is there but does not answer is another
matter (`agents.health_feed`), and so is a node whose circuits nobody serves.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from ringlight.agents.ports import HealthEvent, Measurement
from ringlight.fabric.circuits import Fault
from ringlight.fabric.errors import UnavailableError


class NoGpuHealth:
    """`GpuHealth` of which nothing is ever heard."""

    def __init__(self) -> None:
        self._closed = asyncio.Event()

    async def open(self) -> None:
        """Nothing to connect to."""
        self._closed.clear()

    async def read(self) -> tuple[Fault, ...]:
        """No fault is known."""
        return ()

    def measurements(self) -> Sequence[Measurement]:
        """Nothing is measured."""
        return ()

    async def events(self) -> AsyncIterator[HealthEvent]:
        """None, until it is closed.

        Raises:
            UnavailableError: it was closed.
        """
        nothing: tuple[HealthEvent, ...] = ()
        for event in nothing:
            yield event
        await self._closed.wait()
        raise UnavailableError("closed")

    async def close(self) -> None:
        """Nothing to let go of."""
        self._closed.set()
