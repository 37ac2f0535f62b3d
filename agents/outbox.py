"""What waits to be sent to the controller: reports and answers in order, and at most one heartbeat.

A heartbeat is made when it is sent, so it is always true and never queues up. Reports and answers are never dropped:
an outbox that overflows ends its session, and the next hello carries everything.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from ringlight.agents.session_end import SessionEnd, SessionLostError
from ringlight.protos.v1 import agent_pb2 as pb


class Outbox:
    """The outbox of one session.

    Args:
        limit: messages that may wait.
        heartbeat: makes the heartbeat of this moment.
    """

    def __init__(self, limit: int, heartbeat: Callable[[], pb.AgentMessage]) -> None:
        self._limit = limit
        self._heartbeat = heartbeat
        self._waiting: deque[pb.AgentMessage] = deque()
        self._heartbeat_due = False
        self._closed = False
        self._overflown = asyncio.Event()
        self._something = asyncio.Event()

    def __len__(self) -> int:
        """Messages that wait, without a heartbeat."""
        return len(self._waiting)

    def put(self, message: pb.AgentMessage) -> None:
        """Queue a report or an answer."""
        if self._closed:
            return  # the next hello carries it
        if len(self._waiting) >= self._limit:
            self._overflown.set()
        else:
            self._waiting.append(message)
        self._something.set()

    def beat(self) -> None:
        """Ask for a heartbeat, after what waits already."""
        self._heartbeat_due = not self._closed
        self._something.set()

    def close(self, last: pb.AgentMessage) -> None:
        """Queue one more message, beyond the limit if need be; nothing comes after it."""
        self._closed = True
        self._heartbeat_due = False
        self._waiting.append(last)
        self._something.set()

    async def take(self) -> pb.AgentMessage | None:
        """The next message; None after the last one.

        Raises:
            SessionLostError: the outbox overflowed, so what waits is not all there was.
        """
        while True:
            if self._overflown.is_set():
                raise _overflow()
            if self._waiting:
                return self._waiting.popleft()
            if self._closed:
                return None
            if self._heartbeat_due:
                self._heartbeat_due = False
                return self._heartbeat()
            self._something.clear()
            await self._something.wait()

    async def until_overflow(self) -> None:
        """Wait for an overflow, so that it ends a session whose writing is stuck.

        Raises:
            SessionLostError: it overflowed.
        """
        await self._overflown.wait()
        raise _overflow()


def _overflow() -> SessionLostError:
    return SessionLostError(
        SessionEnd.OVERFLOW, "too much waits to be sent", hint="the controller or the network is too slow"
    )
