"""A connection to a broker that is kept: made again whenever it breaks, with everything that was subscribed to.

Its promises:

- Nobody waits for the broker. What is to be said is put down, and said when there is a connection.
- Of a *state*, the latest is said, and said until the broker has acknowledged it; after each new connection it is for
  whoever owns the states to say them again (`on_change`), for a broker may have forgotten them.
- Of *notes*, such as events, only so many wait; the oldest are dropped, and counted. So is what comes in too fast.
- A broker that accepts a connection and says nothing is left again after a while, and so is one that says nothing any
  more: it is asked for a sign of life all the time.
- Two clients of one id throw each other out without end; each pauses longer and longer, since a connection that was
  short was none.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import aiomqtt

from ringlight.protos.backoff import Backoff
from ringlight.protos.bus.broker import Broker
from ringlight.protos.conversation import until_first_ends

_log = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds that the broker may take for anything
_KEEPALIVE = 10  # seconds after which a connection on which nothing is heard is dead
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds
_GOOD = 10.0  # seconds after which a connection was a good one
_PROOF = 3.0  # seconds between signs of life that the broker is asked for
_GOODBYE = 1.0  # seconds that the last word may take
_NOTES = 2_000
_INCOMING = 10_000
_NOTHING = "ringlight/-"


@dataclass(frozen=True, slots=True)
class Message:
    """Something to say, or that was said.

    Attributes:
        retained: said before anybody asked: the broker kept it.
    """

    topic: str
    payload: bytes
    retained: bool = False
    qos: int = 0


@dataclass(slots=True)
class BusTally:
    """What is counted: connections, those that broke, messages, and what full queues dropped."""

    connections: int = 0
    losses: int = 0
    sent: int = 0
    received: int = 0
    dropped_in: int = 0
    dropped_out: int = 0


class Bus:
    """One client.

    Args:
        broker: where.
        identifier: of the client; another one for each process.
        topics: to subscribe to, each time anew.
        on_message: called with whatever comes.
        on_change: called with None when there is a connection, and with what broke it when there is none any more.
        rng: of pauses.
        will: what the broker says when the connection breaks.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        identifier: str,
        topics: Sequence[str] = (),
        on_message: Callable[[Message], None] = lambda _: None,
        on_change: Callable[[str | None], None] = lambda _: None,
        rng: Random,
        will: Message | None = None,
    ) -> None:
        self.tally = BusTally()
        self.connected = False
        self._broker = broker
        self._identifier = identifier
        self._topics = tuple(topics)
        self._on_message = on_message
        self._on_change = on_change
        self._backoff = Backoff(rng, first=_FIRST_PAUSE, cap=_LONGEST_PAUSE)
        self._will = will
        self._states: dict[str, tuple[Message, Callable[[], None]]] = {}
        self._notes: deque[Message] = deque()
        self._something = asyncio.Event()

    def note(self, message: Message) -> None:
        """Say something once; the oldest notes are dropped when too many wait."""
        if len(self._notes) >= _NOTES:
            self._notes.popleft()
            self.tally.dropped_out += 1
        self._notes.append(message)
        self._something.set()

    def state(self, message: Message, on_acknowledged: Callable[[], None] = lambda: None) -> None:
        """Say how something is, in place of what was to be said of it before; retained by the broker."""
        self._states[message.topic] = message, on_acknowledged
        self._something.set()

    def withdraw(self) -> None:
        """Say no state that was not said yet: whoever owned them does no longer."""
        self._states.clear()

    async def run_forever(self) -> None:
        """Keep the connection. Runs until cancelled; owned by whoever made it."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            reason = await self._connection()
            if self.connected:
                self.connected = False
                self.tally.losses += 1
                _log.warning("the connection to %s broke: %s", self._broker, reason)
                self._on_change(reason)
                if loop.time() - began >= _GOOD:
                    self._backoff.reset()
            else:
                _log.warning("no connection to %s: %s", self._broker, reason)
            await asyncio.sleep(self._backoff.next())

    async def _connection(self) -> str:
        """One connection, from its beginning to its end; why it ended."""
        try:
            async with self._client() as client:
                for topic in self._topics:
                    await client.subscribe(topic, qos=1)
                self.connected = True
                self.tally.connections += 1
                _log.info("connected to %s", self._broker)
                self._on_change(None)
                self._something.set()
                try:
                    await until_first_ends(self._read(client), self._write(client), _prove(client))
                except asyncio.CancelledError:
                    await self._leave(client)
                    raise
        except (aiomqtt.MqttError, OSError) as error:  # a TimeoutError is one of the latter
            return str(error) or type(error).__name__
        return "it ended"

    async def _leave(self, client: aiomqtt.Client) -> None:
        """Say ourselves what the broker would say of a connection that broke: one that ends in order has no will."""
        if self._will is None:
            return
        try:
            await client.publish(self._will.topic, self._will.payload, qos=1, retain=True, timeout=_GOODBYE)
        except aiomqtt.MqttError as error:
            _log.warning("left %s without a word: %s", self._broker, error)

    def _client(self) -> aiomqtt.Client:
        will = self._will
        return aiomqtt.Client(
            self._broker.host,
            self._broker.port,
            username=self._broker.user,
            password=self._broker.password,
            identifier=self._identifier,
            tls_context=self._broker.tls,
            timeout=_TIMEOUT,
            keepalive=_KEEPALIVE,
            clean_session=True,
            max_queued_incoming_messages=_INCOMING,
            queue_type=self._counting_queue(),
            will=None if will is None else aiomqtt.Will(will.topic, will.payload, qos=1, retain=True),
            logger=_log,
        )

    def _counting_queue(self) -> type[asyncio.Queue[aiomqtt.Message]]:
        tally = self.tally

        class Counting(asyncio.Queue[aiomqtt.Message]):
            def put_nowait(self, item: aiomqtt.Message) -> None:
                try:
                    super().put_nowait(item)
                except asyncio.QueueFull:
                    tally.dropped_in += 1
                    raise

        return Counting

    async def _read(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            self.tally.received += 1
            self._on_message(Message(str(message.topic), bytes(message.payload), message.retain, message.qos))

    async def _write(self, client: aiomqtt.Client) -> None:
        while True:
            while not self._states and not self._notes:
                self._something.clear()
                await self._something.wait()
            if self._states:
                topic = next(iter(self._states))
                await self._say_state(client, topic)
            else:
                note = self._notes[0]
                await client.publish(note.topic, note.payload, qos=note.qos)
                self.tally.sent += 1
                if self._notes and self._notes[0] is note:  # else there were too many meanwhile
                    self._notes.popleft()

    async def _say_state(self, client: aiomqtt.Client, topic: str) -> None:
        message, on_acknowledged = self._states[topic]
        await client.publish(topic, message.payload, qos=1, retain=True)
        self.tally.sent += 1
        on_acknowledged()
        now = self._states.get(topic)
        if now is not None and now[0] is message:  # else it changed meanwhile, and is said again, or it was withdrawn
            del self._states[topic]


async def _prove(client: aiomqtt.Client) -> None:
    """Ask the broker for an answer again and again. aiomqtt overlooks a connection that breaks in its first moment.

    To unsubscribe from what was never subscribed to is answered, and changes nothing.
    """
    while True:
        await asyncio.sleep(_PROOF)
        await client.unsubscribe(_NOTHING)
