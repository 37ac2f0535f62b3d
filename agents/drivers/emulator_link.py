"""The agent's end of the socket to the emulated hardware: one connection a node, shared by its driver and its GPUs.

A *link* is one live connection. It matches replies to requests, deals out events to those who subscribed, and dies
once: when the socket ends, everybody who waits on it gets `UnavailableError`, and it is never mended. `SharedLink`
gives the next caller a new one. Nothing here judges what a fault means.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from enum import Enum
from pathlib import Path as FilePath
from typing import Self

from ringlight.fabric.errors import InvalidError, UnavailableError
from ringlight.protos.framing import encode_frame, read_frame
from ringlight.protos.v1 import circuits_pb2, hardware_pb2

log = logging.getLogger(__name__)

REQUEST_TIMEOUT = 10.0  # seconds until hardware that does not answer counts as gone
EVENTS_KEPT = 4096  # events waiting for a subscriber; one that lags further must open and read anew


class Topic(Enum):
    """Which part of a node a subscriber wants to hear of."""

    MODULES = "modules"
    GPUS = "gpus"


class EventStream:
    """Events of one topic, bounded, in the order in which they happened."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self._waiting: deque[hardware_pb2.HardwareEvent] = deque()
        self._changed = asyncio.Event()
        self._end: str | None = None

    def put(self, event: hardware_pb2.HardwareEvent) -> None:
        """Add an event; when the reader lags too far, end the stream rather than leave out events in silence."""
        if self._end is not None:
            return
        if len(self._waiting) >= EVENTS_KEPT:
            self.end(f"{EVENTS_KEPT} events of the hardware were not read")
            return
        self._waiting.append(event)
        self._changed.set()

    def end(self, reason: str) -> None:
        """No event will follow; what is waiting may still be read."""
        if self._end is None:
            self._end = reason
            self._changed.set()

    async def events(self) -> AsyncIterator[hardware_pb2.HardwareEvent]:
        """The events.

        Raises:
            UnavailableError: the stream ended.
        """
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._end is not None:
                raise UnavailableError(self._end)
            self._changed.clear()
            await self._changed.wait()


class HardwareLink:
    """One live connection about one node."""

    def __init__(self, node: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._node = node
        self._reader = reader
        self._writer = writer
        self._pending: dict[int, asyncio.Future[hardware_pb2.HardwareReply]] = {}
        self._last_id = 0
        self._streams: list[EventStream] = []
        self._components: dict[str, str] = {}
        self._lost: str | None = None
        self._receiver = asyncio.get_running_loop().create_task(self._receive(), name=f"hardware link {node}")
        self.attached = hardware_pb2.Attached()

    @classmethod
    async def connect(cls, socket: FilePath, node: str) -> Self:
        """Connect and attach to a node.

        Raises:
            UnavailableError: nobody listens there, or the hardware refuses the node.
        """
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                reader, writer = await asyncio.open_unix_connection(socket)
        except OSError as error:  # a TimeoutError is one too
            reason = error.strerror or type(error).__name__
            raise UnavailableError(
                f"the emulated hardware of {node} does not answer at {socket}: {reason}",
                hint="is the emulator running, and is this its --socket?",
            ) from error
        link = cls(node, reader, writer)
        try:
            request = hardware_pb2.HardwareRequest(attach=hardware_pb2.Attach(node=node))
            link.attached = (await link.request(request)).attached
        except BaseException:
            await link.close()
            raise
        return link

    @property
    def alive(self) -> bool:
        """Whether requests can still be answered."""
        return self._lost is None

    async def request(self, request: hardware_pb2.HardwareRequest) -> hardware_pb2.HardwareReply:
        """Send a request and wait for its reply.

        Raises:
            UnavailableError: the connection is gone, there was no reply in time, or the hardware refused.
        """
        if self._lost is not None:
            raise UnavailableError(self._lost)
        self._last_id += 1
        request.id = self._last_id
        answer: asyncio.Future[hardware_pb2.HardwareReply] = asyncio.get_running_loop().create_future()
        self._pending[request.id] = answer
        try:
            self._writer.write(encode_frame(request))
            async with asyncio.timeout(REQUEST_TIMEOUT):
                reply = await answer
        except TimeoutError:
            raise UnavailableError(
                f"the hardware of {self._node} did not answer within {REQUEST_TIMEOUT:g} s"
            ) from None
        finally:
            del self._pending[request.id]
        if reply.error:
            raise UnavailableError(f"the hardware of {self._node} refuses: {reply.error}")
        return reply

    def subscribe(self, topic: Topic) -> EventStream:
        """Hear of everything that happens from now on."""
        stream = EventStream(topic)
        if self._lost is not None:
            stream.end(self._lost)
        self._streams.append(stream)
        return stream

    def unsubscribe(self, stream: EventStream) -> None:
        """Hear of nothing more; whoever still waits on the stream is told."""
        self._streams.remove(stream)
        stream.end(f"the hardware of {self._node} was closed")

    async def close(self) -> None:
        """Let go. The hardware stays as it is."""
        self._lose(f"the connection to the hardware of {self._node} was closed")
        self._receiver.cancel()
        await asyncio.wait([self._receiver])

    async def _receive(self) -> None:
        reason = f"the hardware of {self._node} is gone: it lost power, or the emulator stopped"
        try:
            while (message := await read_frame(self._reader, hardware_pb2.HardwareMessage)) is not None:
                match message.WhichOneof("body"):
                    case "reply":
                        self._take_reply(message.reply)
                    case "event":
                        self._take_event(message.event)
                    case _:
                        log.debug("%s: unknown message of newer hardware ignored", self._node)
        except InvalidError as error:
            reason = f"the hardware of {self._node} cannot be understood: {error}"
        self._lose(reason)

    def _take_reply(self, reply: hardware_pb2.HardwareReply) -> None:
        if reply.WhichOneof("body") == "readout":
            self._components = {fault.id: fault.component for fault in reply.readout.faults}
        answer = self._pending.get(reply.id)
        if answer is not None and not answer.done():
            answer.set_result(reply)

    def _take_event(self, event: hardware_pb2.HardwareEvent) -> None:
        topic = Topic.MODULES
        match event.WhichOneof("body"):
            case "opened":
                self._components[event.opened.id] = event.opened.component
                topic = topic_of(event.opened)
            case "closed":
                # Who was never told of a fault need not hear that it is over.
                component = self._components.pop(event.closed, None)
                if component is None:
                    return
                topic = topic_of(circuits_pb2.Fault(component=component))
        for stream in self._streams:
            if stream.topic is topic:
                stream.put(event)

    def _lose(self, reason: str) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._writer.close()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(UnavailableError(reason))
        for stream in self._streams:
            stream.end(reason)


class SharedLink:
    """The one link of a node for several users; connected for the first, closed after the last.

    Args:
        socket: of the emulator.
        node: name of the node.
        dialling: bounds how many links connect at the same time, over all nodes of a process.
    """

    def __init__(self, socket: FilePath, node: str, dialling: asyncio.Semaphore) -> None:
        self.node = node
        self._socket = socket
        self._dialling = dialling
        self._turn = asyncio.Lock()
        self._users: dict[HardwareLink, int] = {}
        self._current: HardwareLink | None = None

    async def acquire(self) -> HardwareLink:
        """A live link; whoever gets one must release it.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        async with self._turn:
            if self._current is None or not self._current.alive:
                async with self._dialling:
                    self._current = await HardwareLink.connect(self._socket, self.node)
            self._users[self._current] = self._users.get(self._current, 0) + 1
            return self._current

    async def release(self, link: HardwareLink) -> None:
        """Give a link back."""
        self._users[link] -= 1
        if not self._users[link]:
            del self._users[link]
            await link.close()


class Attachment:
    """One user of a node's link: opened and closed as often as it likes, with a stream of its topic meanwhile."""

    def __init__(self, shared: SharedLink, topic: Topic) -> None:
        self.node = shared.node
        self._shared = shared
        self._topic = topic
        self._current: tuple[HardwareLink, EventStream] | None = None

    async def open(self) -> HardwareLink:
        """Connect, or share the connection that exists. Events are kept from here on.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        await self.close()
        link = await self._shared.acquire()
        self._current = (link, link.subscribe(self._topic))
        return link

    async def request(self, request: hardware_pb2.HardwareRequest) -> hardware_pb2.HardwareReply:
        """As `HardwareLink.request`."""
        return await self._opened()[0].request(request)

    def events(self) -> AsyncIterator[hardware_pb2.HardwareEvent]:
        """As `EventStream.events`.

        Raises:
            UnavailableError: it is not open.
        """
        return self._opened()[1].events()

    async def close(self) -> None:
        """Let go; the connection stays for its other user. Closing twice does no harm."""
        if self._current is not None:
            (link, stream), self._current = self._current, None
            link.unsubscribe(stream)
            await self._shared.release(link)

    def _opened(self) -> tuple[HardwareLink, EventStream]:
        if self._current is None:
            raise UnavailableError(f"the hardware of {self.node} is not open")
        return self._current


def topic_of(fault: circuits_pb2.Fault) -> Topic:
    """Whether a fault concerns a GPU or the bundles."""
    return Topic.GPUS if fault.component.startswith("gpu") else Topic.MODULES
