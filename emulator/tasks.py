"""A registry that owns background tasks: none is lost, none fails unseen, all end when their owner stops.

For tasks whose failure must not take their siblings along: a broken connection or a failed agent is logged, and the
others go on. Where one failure should end everything, use a `TaskGroup`.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class TaskRegistry:
    """Tasks of one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run `work` until it ends or the registry is closed. An error it ends with is logged."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel every task and wait until all have ended."""
        await cancel_and_wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)


async def cancel_and_wait(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until all of them have ended, however they end."""
    ending = set(tasks)
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.wait(ending)
