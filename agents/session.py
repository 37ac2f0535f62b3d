"""One session with the controller: hello, welcome, then heartbeats, reports and commands until either side ends it.

The hello holds what was read for it and what was reported since; whatever changes after it was made follows it. A
node whose hardware does not answer is in no hello and in no heartbeat.

A stream on which the controller was not heard for three heartbeat intervals is ended: TCP may still look alive.
How a session ended decides what comes next: a refusal that can never be otherwise ends the agent, anything else makes
it dial again.
"""

import asyncio
import logging
import math
import zlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import grpc
import grpc.aio

from ringlight.agents.link import Dial, Link
from ringlight.agents.node import ServedNode
from ringlight.agents.obedience import Command
from ringlight.agents.outbox import Outbox
from ringlight.agents.session_end import SessionEnd, SessionLostError
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.agents.tally import Tally
from ringlight.fabric.circuits import digest
from ringlight.fabric.errors import ErrorCode, RinglightError, UnavailableError
from ringlight.fabric.protocol import PROTOCOL, SILENT_INTERVALS
from ringlight.protos import codec
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.status import error_of
from ringlight.protos.v1 import agent_pb2 as pb

_log = logging.getLogger(__name__)


BeatElsewhere = Callable[[str, pb.Heartbeat], bool]
"""Sends a heartbeat of a session another way than over its stream; says whether it did."""


class AgentRefusedError(RinglightError):
    """The controller will never accept this agent as it is."""

    code = ErrorCode.INVALID


class DuplicateAgentError(RinglightError):
    """The controller has a live session of this id, or of one of these nodes."""

    code = ErrorCode.CONFLICT


class Session:
    """One session.

    Args:
        agent: id of the agent.
        boot: of this process; another one after each start.
        version: of this software, for people.
        nodes: what the agent serves.
        tally: where what is sent is counted.
        beat_elsewhere: another way for heartbeats; None when there is none.
        on_welcome: called at the welcome.
    """

    def __init__(
        self,
        *,
        agent: str,
        boot: str,
        version: str,
        nodes: Sequence[ServedNode],
        fences: FenceFile,
        settings: AgentSettings,
        tally: Tally | None = None,
        beat_elsewhere: BeatElsewhere | None = None,
        on_welcome: Callable[[], None] = lambda: None,
    ) -> None:
        self.introduced: set[str] = set()  # nodes of which the hello spoke, as long as their hardware answers
        self.greeted = False  # the hello is made
        self.welcomed = False
        self.outdated = False  # it does not speak for the hardware that answers any more
        self.goodbye = "the agent is stopping"
        self.outbox = Outbox(settings.outbox, self._heartbeat)
        self._agent = agent
        self._boot = boot
        self._version = version
        self._nodes = {node.name: node for node in nodes}
        self._fences = fences
        self._settings = settings
        self._tally = tally or Tally()
        self._beat_elsewhere = beat_elsewhere
        self._answered = True  # the last heartbeat was
        self._name = ""
        self._on_welcome = on_welcome
        self._stopping = False
        self._interval = 1.0
        self._last_heard = 0.0

    async def run(self, dial: Dial) -> None:
        """Run until the stream ends. Changes no circuit when it ends, however it ends.

        Raises:
            AgentRefusedError: refused for good.
            DuplicateAgentError: refused while another session is live.
            UnavailableError: the stream broke, or the controller fell silent.
        """
        link = await dial()
        try:
            await self._open(link)
            await self._converse(link)
        except grpc.aio.AioRpcError as error:
            raise _meaning(error) from error
        finally:
            await link.close()

    async def _open(self, link: Link) -> None:
        """Hello with what the hardware says now, and the answer to it. Nothing of a former session comes after it."""
        for node in self._nodes.values():
            node.forget_command()
        await self._refresh_all()
        try:
            async with asyncio.timeout(self._settings.welcome_timeout):
                await link.write(pb.AgentMessage(hello=self._hello()))
                message = await link.read()
        except TimeoutError:
            hint = "is it overloaded? the agent dials again"
            raise SessionLostError(
                SessionEnd.NO_WELCOME, "the controller did not answer the hello", hint=hint
            ) from None
        if message is None or message.WhichOneof("body") != "welcome" or not _is_interval(message.welcome):
            hint = "run the same release of Ringlight on the controller and on every node"
            text = "the controller did not answer the hello with a welcome"
            raise SessionLostError(SessionEnd.NO_WELCOME, text, hint=hint)
        self._interval = message.welcome.heartbeat_interval
        self._name = message.welcome.session
        if message.welcome.epoch < self._fences.fence.epoch:
            text = f"this controller has epoch {message.welcome.epoch}, and {self._fences.fence.epoch} was seen"
            raise SessionLostError(SessionEnd.OUTRANKED, text, hint="an earlier controller came back: stop it")
        try:
            await self._fences.see(message.welcome.epoch)
        except UnavailableError as error:  # commands are refused until it can be kept, but health can be reported
            _log.warning("%s (%s)", error, error.hint)
        self._last_heard = asyncio.get_running_loop().time()
        self.welcomed = True
        self._on_welcome()

    def _hello(self) -> pb.Hello:
        """What is said of every node whose hardware answers; what is only remembered is not said."""
        nodes = [(node, node.identity) for node in self._nodes.values() if node.identity is not None]
        if not nodes:
            raise SessionLostError(SessionEnd.HARDWARE, "no hardware of this agent answers", hint="check its drivers")
        self.greeted = True
        self.introduced = {node.name for node, _ in nodes}
        fence = self._fences.fence
        hello = pb.Hello(
            agent=self._agent,
            agent_boot=self._boot,
            protocol=PROTOCOL,
            highest_epoch=fence.epoch,
            version=self._version,
        )
        for node, identity in nodes:
            hello.fabric = identity.fabric
            hello.nodes.add(
                node=node.name,
                hardware_boot=identity.boot,
                inventory=codec.inventory_to(identity.inventory),
                circuits=codec.table_to(node.seen.circuits),
                light=codec.light_to(node.seen.light),
                faults=[codec.fault_to(fault) for _, fault in sorted(node.seen.faults.items())],
                applied_generation=fence.generations.get(node.name, 0),
                unconfirmed=node.unconfirmed,
            )
        return hello

    async def _converse(self, link: Link) -> None:
        """Both directions, until either side ends it. When cancelled, a goodbye goes first, for a moment.

        A read that is cancelled cancels the whole gRPC call, so the goodbye is said while reading goes on.
        """
        sides = until_first_ends(
            self._read(link), self._write(link), self._beat(), self._watch(), self.outbox.until_overflow()
        )
        talk = asyncio.create_task(sides, name="conversation")
        try:
            await asyncio.shield(talk)
        except asyncio.CancelledError:
            self._stopping = True
            self.outbox.close(pb.AgentMessage(goodbye=pb.Goodbye(reason=self.goodbye)))
            await asyncio.wait({talk}, timeout=self._settings.goodbye_timeout)
            raise
        finally:
            talk.cancel()
            await asyncio.gather(talk, return_exceptions=True)

    def report(self, node: str, message: pb.AgentMessage) -> None:
        """Pass a report or an answer on; one that comes before the hello is in the hello."""
        if node in self.introduced:
            self.outbox.put(message)

    async def _read(self, link: Link) -> None:
        while (message := await link.read()) is not None:
            self._last_heard = asyncio.get_running_loop().time()
            match message.WhichOneof("body"):
                case "heard":
                    self._answered = True
                case "set_circuits":
                    self._command(message.set_circuits)
                case "confirm":
                    node = self._nodes.get(message.confirm.node)
                    if node is not None:
                        node.confirm(epoch=message.confirm.epoch, transaction=message.confirm.transaction)
                case "measure":
                    self._measure(message.measure)

    def _measure(self, message: pb.Measure) -> None:
        node = self._nodes.get(message.node)
        if node is not None and node.identity is not None:
            node.measure(message.question)
        else:
            reason = "not served by this agent" if node is None else "its hardware does not answer"
            answer = pb.Measured(node=message.node, question=message.question, reason=reason)
            self.outbox.put(pb.AgentMessage(measured=answer))

    def _command(self, message: pb.SetCircuits) -> None:
        if self._stopping:
            return  # nobody would hear the answer
        node = self._nodes.get(message.node)
        if node is None or node.identity is None:
            code = pb.APPLY_CODE_UNKNOWN_NODE if node is None else pb.APPLY_CODE_FAILED
            reason = "not served by this agent" if node is None else "its hardware does not answer"
            answer = pb.Applied(
                node=message.node,
                transaction=message.transaction,
                epoch=message.epoch,
                generation=message.generation,
                code=code,
                reason=reason,
                highest_epoch=self._fences.fence.epoch,
            )
            self.outbox.put(pb.AgentMessage(applied=answer))
            return
        node.command(
            Command(
                node=message.node,
                epoch=message.epoch,
                generation=message.generation,
                transaction=message.transaction,
                table=codec.table_from(message.table),
                revert_after=message.revert_after,
            )
        )

    async def _write(self, link: Link) -> None:
        while (message := await self.outbox.take()) is not None:
            await link.write(message)
            if message.WhichOneof("body") == "heartbeat":
                self._tally.heartbeats += 1
            else:
                self._tally.messages += 1
        await link.finish()
        await asyncio.get_running_loop().create_future()  # never done: it is the controller that ends the stream now

    async def _beat(self) -> None:
        """A heartbeat each interval, with every bundle read just before, so that drift shows at once."""
        # Agents that were all started at once must not all beat at once: each keeps to a part of the interval.
        pause = self._interval * zlib.crc32(self._agent.encode()) / 2**32
        while True:
            await asyncio.sleep(pause)
            pause = self._interval
            await self._refresh()
            # One that was not answered may have got lost on another way: this one goes over the stream.
            elsewhere = self._beat_elsewhere if self._answered else None
            self._answered = False
            if elsewhere is not None and elsewhere(self._name, self._heartbeat().heartbeat):
                self._tally.heartbeats += 1
            else:
                self.outbox.beat()

    async def _refresh(self) -> None:
        """Read all bundles. One node that does not answer must not make the heartbeat of all others late."""
        async with asyncio.TaskGroup() as reading:
            for node in self._nodes.values():
                if node.identity is not None:
                    reading.create_task(_tried(node, node.refresh(within=self._interval / 2)))

    async def _refresh_all(self) -> None:
        async with asyncio.TaskGroup() as reading:
            for node in self._nodes.values():
                if node.identity is not None:
                    reading.create_task(_tried(node, node.refresh_all()))

    def _heartbeat(self) -> pb.AgentMessage:
        generations = self._fences.fence.generations
        beats = [
            pb.NodeHeartbeat(
                node=node.name,
                applied_generation=generations.get(node.name, 0),
                digest=digest(node.seen.circuits),
            )
            for node in self._nodes.values()
            if node.answers and node.name in self.introduced
        ]
        return pb.AgentMessage(heartbeat=pb.Heartbeat(nodes=beats))

    async def _watch(self) -> None:
        """End the session when the controller falls silent."""
        loop = asyncio.get_running_loop()
        while (remaining := self._last_heard + SILENT_INTERVALS * self._interval - loop.time()) > 0:  # noqa: ASYNC110 - a deadline that moves with every message
            await asyncio.sleep(remaining)
        text = "the controller was not heard for three heartbeat intervals"
        raise SessionLostError(SessionEnd.SILENT, text, hint="is it running?")


async def _tried(node: ServedNode, reading: Coroutine[Any, Any, None]) -> None:
    """Read a node's hardware; one that does not answer is in no hello and no heartbeat."""
    try:
        await reading
    except UnavailableError as error:
        _log.warning("node %s: %s", node.name, error)


def _is_interval(welcome: pb.Welcome) -> bool:
    return math.isfinite(welcome.heartbeat_interval) and welcome.heartbeat_interval > 0


def _meaning(error: grpc.aio.AioRpcError) -> RinglightError:
    """What the end of a stream means for the agent."""
    told = error_of(error, peer="the controller")
    if error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION):
        return AgentRefusedError(str(told), hint=told.hint)
    if error.code() is grpc.StatusCode.ALREADY_EXISTS:
        return DuplicateAgentError(str(told), hint=told.hint)
    return UnavailableError(str(told), hint=told.hint)
