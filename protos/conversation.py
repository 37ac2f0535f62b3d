"""Both directions of a stream at once, until one of them ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_first_ends(*sides: Coroutine[Any, Any, Any]) -> None:
    """Run coroutines side by side until the first ends; cancel the others, wait for them, and raise what it raised.

    If several ended in the same moment, the error of the one named first is raised.
    """
    tasks = [asyncio.ensure_future(side) for side in sides]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
