"""No source of GPU health: for nodes whose GPUs are watched by somebody else, or by nobody."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from ringlight.agents.ports import HealthEvent, Measurement
from ringlight.fabric.circuits import Fault


class NoGpuHealth:
    """`GpuHealth` that never has anything to say. It is not lost: nobody expects to hear of these GPUs."""

    async def open(self) -> None:
        """Nothing to connect to."""

    async def read(self) -> tuple[Fault, ...]:
        """No fault."""
        return ()

    def measurements(self) -> Sequence[Measurement]:
        """Nothing."""
        return ()

    async def events(self) -> AsyncIterator[HealthEvent]:
        """Waits for ever."""
        await asyncio.get_running_loop().create_future()
        yield  # type: ignore[misc]  # pragma: no cover  # makes this a generator; never reached

    async def close(self) -> None:
        """Nothing to let go of."""
