"""Snapshots on demand: never older than the question, shared by all who ask, and not so often that decisions wait.

A snapshot is taken on the event loop, between two decisions, and turned into bytes in a thread. The pause between two
grows with what taking one costs, so that a large fabric with many watchers is looked at more rarely and the controller
spends a small, fixed share of its time on pictures.
"""

import asyncio
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from time import perf_counter
from typing import Generic, TypeVar

_LEAST_PAUSE = 0.05  # seconds: more pictures a second than this nobody sees
_SHARE = 1 / 20  # of the event loop's time, at most
_FASTEST_GZIP = 1

Taken = TypeVar("Taken")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One rendered moment; two that show the same have the same tag.

    Attributes:
        asked_by: the number of the newest question it answers.
    """

    asked_by: int
    tag: str
    body: bytes
    packed: bytes


class Snapshots(Generic[Taken]):
    """Makes snapshots.

    Args:
        take: reads the present; quick, since decisions wait for it.
        render: makes bytes of that; runs in a thread.
    """

    def __init__(self, take: Callable[[], Taken], render: Callable[[Taken], bytes]) -> None:
        self._take = take
        self._render = render
        self._turn = asyncio.Lock()
        self._questions = 0
        self._newest: Snapshot | None = None
        self._not_before = 0.0

    async def newest(self) -> Snapshot:
        """A snapshot that was taken after this was asked."""
        self._questions += 1
        question = self._questions
        async with self._turn:
            if self._newest is None or self._newest.asked_by < question:
                await asyncio.sleep(self._not_before - perf_counter())
                self._newest = await self._make()
            return self._newest

    async def _make(self) -> Snapshot:
        asked_by = self._questions
        began = perf_counter()
        taken = self._take()
        now = perf_counter()
        self._not_before = now + max(_LEAST_PAUSE, (now - began) / _SHARE)
        return await asyncio.to_thread(self._finish, taken, asked_by)

    def _finish(self, taken: Taken, asked_by: int) -> Snapshot:
        body = self._render(taken)
        tag = blake2b(body, digest_size=12).hexdigest()
        return Snapshot(asked_by, tag, body, gzip.compress(body, compresslevel=_FASTEST_GZIP, mtime=0))
