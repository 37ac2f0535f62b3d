"""The metrics page of the controller.

The series of something that is gone vanish by themselves, since all of them are made anew from one look. That look is
taken on the event loop, where nothing moves meanwhile; what follows from it is worked out and written in a thread.
"""

import asyncio
from collections.abc import Callable
from copy import deepcopy

from ringlight.controller.metrics.census import Census
from ringlight.controller.metrics.samples import Process, samples
from ringlight.controller.metrics.tally import Tally
from ringlight.protos.exposition import exposition


class Metrics:
    """The metrics page of one controller.

    Args:
        census: looks at the fabric as it is now.
        tally: what is counted.
        process: tells how the process fares now.
    """

    def __init__(self, census: Callable[[], Census], tally: Tally, process: Callable[[], Process]) -> None:
        self._census = census
        self._tally = tally
        self._process = process

    async def render(self) -> bytes:
        """The exposition text."""
        # What is counted goes on being counted while the thread reads.
        return await asyncio.to_thread(exposition, samples(self._census(), deepcopy(self._tally), self._process()))
