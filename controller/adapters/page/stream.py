"""The event log as server-sent events: what was missed, a marker, then live ones; resumed by sequence number.

Every event carries its sequence number as its id, so a browser that lost the connection asks for what follows by
itself. Bounded in every way: so many watchers, so many old events, so long a write. A watcher that does not keep up is
told so and its stream ends; nobody waits for it.
"""

import asyncio
import contextlib
import json
from typing import Any

from aiohttp import web

from ringlight.controller.adapters.page.rendering import event_to
from ringlight.controller.feed import Subscription
from ringlight.controller.ports import LoggedEvent
from ringlight.controller.runtime import Runtime
from ringlight.fabric.errors import InvalidError, RinglightError, UnavailableError

_FIRST = 200  # newest events for a watcher that begins
_MOST_MISSED = 2_000  # for one that resumes; of more, the older ones are left out, and it is told
_BEAT = 2.0  # seconds without an event after which a sign of life is sent
_LONGEST_WRITE = 10.0  # seconds that a watcher may take to accept what is sent
_RETRY = 1_000  # milliseconds after which a browser dials again


class EventStreams:
    """The streams of one controller.

    Attributes:
        watching: how many there are.
    """

    def __init__(self, runtime: Runtime, *, most: int) -> None:
        self._runtime = runtime
        self._most = most
        self._closing = False
        self._waits: set[asyncio.Timeout] = set()
        self.watching = 0

    async def serve(self, request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
        """Answer with a stream. It ends when the watcher goes or lags, the log cannot be read, or the controller stops.

        Raises:
            InvalidError: what to resume from is no sequence number.
            UnavailableError: there are as many watchers as there may be.
        """
        after = _resume_point(request)
        if self.watching >= self._most:
            raise UnavailableError(
                f"there are {self.watching} watchers, and no more are served",
                hint="close pages that nobody looks at, or raise page.watchers",
            )
        response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream; charset=utf-8"})
        self.watching += 1
        try:
            await response.prepare(request)
            writer = _Writer(request, response)
            with contextlib.suppress(ConnectionResetError):
                try:
                    await self._tell(writer, after)
                except RinglightError as error:  # too late for a status
                    await writer.message("ended", {"error": str(error)})
        finally:
            self.watching -= 1
        return response

    def close(self) -> None:
        """End every stream; its browser dials again, and resumes."""
        self._closing = True
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            wait.reschedule(now)

    async def _tell(self, writer: "_Writer", after: int | None) -> None:
        await writer.line(f"retry: {_RETRY}\n: Ringlight's event log\n\n")
        with self._runtime.feed_of_events.subscribe() as subscription:
            told = await self._catch_up(writer, after)
            while not self._closing:
                event = await self._next(subscription)
                if event is None:
                    await writer.message("beat", {"sequence": self._sequence})
                elif event.event.sequence > told:
                    await writer.event(event)
                    told = event.event.sequence

    async def _catch_up(self, writer: "_Writer", after: int | None) -> int:
        """Tell what the watcher missed; the sequence number up to which it knows all there is to know.

        Raises:
            StoreError: the log is needed, and cannot be read.
        """
        until = self._sequence
        if after is not None and after > until:
            await writer.message("reset", {"sequence": until})  # another log than the one it read
            after = None
        missed, limit = (after, _MOST_MISSED) if after is not None else (max(0, until - _FIRST), _FIRST)
        logged = await self._runtime.logged_events(missed, limit, "")
        events = [event for event in logged if event.event.sequence <= until]
        # Numbers alone do not tell: a controller that starts leaves some out.
        if after is not None and len(logged) == limit and events and events[0].event.sequence > after + 1:
            await writer.message("skipped", {"from": after + 1, "to": events[0].event.sequence - 1})
        for event in events:
            await writer.event(event)
        await writer.message("synced", {"sequence": until}, identity=until)
        return until

    async def _next(self, subscription: Subscription) -> LoggedEvent | None:
        """The next event; None when none came for a while.

        Raises:
            LaggingWatcherError: events were lost to this watcher.
        """
        try:
            async with asyncio.timeout(_BEAT) as wait:
                self._waits.add(wait)
                return await subscription.get()
        except TimeoutError:
            return None
        finally:
            self._waits.discard(wait)

    @property
    def _sequence(self) -> int:
        return self._runtime.engine.state.sequence


class _Writer:
    """Writes to one watcher, which must take it in time."""

    def __init__(self, request: web.Request, response: web.StreamResponse) -> None:
        self._transport = request.transport
        self._response = response

    async def event(self, logged: LoggedEvent) -> None:
        await self.line(f"id: {logged.event.sequence}\ndata: {_json(event_to(logged))}\n\n")

    async def message(self, kind: str, data: dict[str, Any], identity: int | None = None) -> None:
        head = "" if identity is None else f"id: {identity}\n"
        await self.line(f"{head}event: {kind}\ndata: {_json(data)}\n\n")

    async def line(self, text: str) -> None:
        """Raises `ConnectionResetError` when nobody takes it any more."""
        try:
            async with asyncio.timeout(_LONGEST_WRITE):
                await self._response.write(text.encode())
        except TimeoutError:
            if self._transport is not None:
                self._transport.abort()
            raise ConnectionResetError("the watcher takes nothing") from None


def _json(data: dict[str, Any]) -> str:
    """On one line, whatever is in it."""
    return json.dumps(data, separators=(",", ":"))


def _resume_point(request: web.Request) -> int | None:
    """The last sequence number that the watcher saw. A browser's own word counts more than the address it dialled."""
    text = request.headers.get("Last-Event-ID") or request.query.get("after", "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(2**63)):
        raise InvalidError(f"cannot resume after {text[:40]!r}", hint="give the sequence number of the last event seen")
    return int(text)
