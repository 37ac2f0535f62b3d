"""AgentService: the sessions of agents over gRPC.

One reader and one writer task a stream, both ended with the session. The outbox holds at most one command a node, the
latest, and one sign of life: it is bounded by construction, and a slow agent cannot make it grow. Each heartbeat is
answered with a sign of life, so these spread over time as the heartbeats do. Agents are let in at a rate (`turnstile`).
One watchman for all sessions ends those that were silent, or that do not take what they are sent, for three heartbeat
intervals.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import count

import grpc
import grpc.aio

from ringlight.controller.adapters.wire import circuits_to, confirm_to, event_from, hello_from, question_to
from ringlight.controller.engine.effects import SendCircuits, SendConfirm, SendQuestion
from ringlight.controller.engine.events import SessionLost
from ringlight.controller.metrics.session_end import SessionEnd
from ringlight.controller.runtime import Runtime
from ringlight.controller.turnstile import Turnstile
from ringlight.fabric.errors import InvalidError, RinglightError, UnavailableError
from ringlight.fabric.protocol import SILENT_INTERVALS
from ringlight.protos import status
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

_log = logging.getLogger(__name__)

_HELLO_SECONDS = 10.0  # a stream that says nothing for so long at its beginning is not an agent

Context = grpc.aio.ServicerContext[pb.AgentMessage, pb.ControllerMessage]


class SessionLink:
    """One agent's session: its outbox, and its end."""

    def __init__(self, session: str, now: float) -> None:
        self.session = session
        self.last_heard = now
        self.sending_since: float | None = None
        self.error: RinglightError | None = None
        self.end = SessionEnd.BROKEN
        self.goodbye = ""  # what its agent said last, if it stopped in order
        self.ended = asyncio.Event()
        self._outbox: dict[tuple[str, str], pb.ControllerMessage] = {}
        self._not_empty = asyncio.Event()

    def admit(self, epoch: int, heartbeat_interval: float) -> None:
        """Welcome the agent."""
        welcome = pb.Welcome(session=self.session, epoch=epoch, heartbeat_interval=heartbeat_interval)
        self._put(("welcome", ""), pb.ControllerMessage(welcome=welcome))

    def refuse(self, error: RinglightError) -> None:
        """End the session with an error the agent will see."""
        self.error = error
        self.ended.set()

    def close(self, reason: str, end: SessionEnd = SessionEnd.REPLACED) -> None:
        """End the session; the agent should dial again."""
        self.end = end
        self.refuse(UnavailableError(reason, hint="dial again"))

    @property
    def last_words(self) -> str:
        """How it ended, for a person."""
        if self.error is not None:
            return str(self.error)
        return f"goodbye: {self.goodbye}" if self.end is SessionEnd.GOODBYE else "its stream ended"

    def send(self, command: SendCircuits) -> None:
        """Put a command into the outbox, over a former one for the same node."""
        self._put(("circuits", command.node), circuits_to(command))

    def confirm(self, confirmation: SendConfirm) -> None:
        """Put a confirmation into the outbox."""
        self._put(("confirm", confirmation.node), confirm_to(confirmation))

    def ask(self, question: SendQuestion) -> None:
        """Put a question into the outbox, over a former one about the same node."""
        self._put(("question", question.node), question_to(question))

    def beat(self, epoch: int) -> None:
        """Put a sign of life into the outbox."""
        self._put(("heard", ""), pb.ControllerMessage(heard=pb.Heard(epoch=epoch)))

    def _put(self, key: tuple[str, str], message: pb.ControllerMessage) -> None:
        self._outbox[key] = message
        self._not_empty.set()

    async def take(self) -> pb.ControllerMessage:
        """The next message to write."""
        while not self._outbox:
            self._not_empty.clear()
            await self._not_empty.wait()
        return self._outbox.pop(next(iter(self._outbox)))


class AgentService(agent_pb2_grpc.AgentServiceServicer):
    """Sessions of agents."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._links: dict[str, SessionLink] = {}
        self._numbers = count(1)
        self._turnstile = Turnstile(runtime.engine.state.settings.sessions)

    async def Session(self, request_iterator: AsyncIterator[pb.AgentMessage], context: Context) -> None:  # type: ignore[override]  # replies are written, not yielded
        """One session, from hello to end."""
        runtime = self._runtime
        hello = await self._first_message(request_iterator, context)
        await self._wait_for_turn(context)
        session = f"s{next(self._numbers)}"
        link = SessionLink(session, runtime.now)
        runtime.attach(session, link)
        runtime.feed(hello_from(session, hello))
        await self._abort_if_ended(link, context)
        self._links[session] = link
        try:
            await self._converse(session, link, request_iterator, context)
        finally:
            del self._links[session]
            runtime.detach(session)
            runtime.tally.session_ends[link.end] += 1
            runtime.feed(SessionLost(session, link.last_words))
        await self._abort_if_ended(link, context)

    async def _wait_for_turn(self, context: Context) -> None:
        """Agents are let in at a rate; what one says meanwhile waits in its stream, behind its hello."""
        wait = self._turnstile.turn(self._runtime.now)
        if wait is None:
            await status.abort(context, UnavailableError("too many agents dial at once", hint="dial again in a moment"))
        await asyncio.sleep(wait)

    @staticmethod
    async def _abort_if_ended(link: SessionLink, context: Context) -> None:
        """Tell the agent why the session ended, if it was we who ended it."""
        if link.error is not None:
            await status.abort(context, link.error)

    @staticmethod
    async def _first_message(request_iterator: AsyncIterator[pb.AgentMessage], context: Context) -> pb.Hello:
        try:
            async with asyncio.timeout(_HELLO_SECONDS):
                message = await anext(request_iterator)
        except (TimeoutError, StopAsyncIteration):
            await status.abort(context, UnavailableError("no hello came", hint="an agent speaks first"))
        if message.WhichOneof("body") != "hello":
            hint = "run the same release of Ringlight on the controller and on every node"
            await status.abort(context, InvalidError("the first message of a session must be a hello", hint=hint))
        return message.hello

    async def _converse(
        self, session: str, link: SessionLink, request_iterator: AsyncIterator[pb.AgentMessage], context: Context
    ) -> None:
        """Read and write until either side ends it."""
        try:
            await until_first_ends(
                self._read(session, link, request_iterator), self._write(link, context), link.ended.wait()
            )
        except (grpc.RpcError, grpc.aio.BaseError) as error:
            # A stream that breaks is how a session ends when its agent dies.
            _log.info("session %s broke: %s", session, error)

    async def _read(self, session: str, link: SessionLink, request_iterator: AsyncIterator[pb.AgentMessage]) -> None:
        async for message in request_iterator:
            link.last_heard = self._runtime.now
            if message.WhichOneof("body") == "goodbye":
                link.end, link.goodbye = SessionEnd.GOODBYE, message.goodbye.reason
                return
            event = event_from(session, message)
            if event is not None:
                self._runtime.feed(event)
            if message.WhichOneof("body") == "heartbeat":
                link.beat(self._runtime.engine.state.epoch)

    async def _write(self, link: SessionLink, context: Context) -> None:
        while True:
            message = await link.take()
            link.sending_since = self._runtime.now
            await context.write(message)
            link.sending_since = None

    def hear(self, session: str, agent: str, boot: str, heartbeat: pb.AgentMessage) -> bool:
        """Take a heartbeat that came another way than its session's stream; False when no such session is live.

        It is answered over the stream, so that the agent knows that it is heard.
        """
        runtime, link = self._runtime, self._links.get(session)
        record = runtime.engine.state.sessions.get(session)
        event = event_from(session, heartbeat)
        if link is None or record is None or event is None or (record.agent, record.agent_boot) != (agent, boot):
            return False
        link.last_heard = runtime.now
        runtime.feed(event)
        link.beat(runtime.engine.state.epoch)
        return True

    async def watch(self) -> None:
        """Put an end to dead sessions. Runs until cancelled; owned by the daemon."""
        interval = self._runtime.engine.state.settings.heartbeat.interval
        while True:
            before = self._runtime.now
            await asyncio.sleep(interval)
            now = self._runtime.now
            # If this process itself stood still, what agents sent meanwhile is not read yet.
            patience = SILENT_INTERVALS * interval + (now - before - interval)
            for link in list(self._links.values()):
                if now - link.last_heard > patience:
                    link.close("nothing was heard for three heartbeat intervals", SessionEnd.SILENT)
                elif link.sending_since is not None and now - link.sending_since > patience:
                    text = "the agent did not take what it was sent for three heartbeat intervals"
                    link.close(text, SessionEnd.SLOW)

    def close_all(self, reason: str) -> None:
        """End every session, as the controller stops. Agents keep their circuits."""
        for link in list(self._links.values()):
            link.close(reason, SessionEnd.STOPPING)
