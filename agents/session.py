"""One session with the controller: hello, welcome, then heartbeats, reports and commands until either side ends it.

A stream on which the controller was not heard for three heartbeat intervals is ended: TCP may still look alive.
How a session ended decides what comes next: a refusal that can never be otherwise ends the agent, anything else makes
it dial again.
"""

import asyncio
import logging
from collections.abc import Sequence

import grpc
import grpc.aio

from ringlight.agents.executor import Command
from ringlight.agents.link import Dial, Link
from ringlight.agents.node import ServedNode
from ringlight.agents.outbox import Outbox
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import digest
from ringlight.fabric.errors import ErrorCode, RinglightError, UnavailableError
from ringlight.protos import codec
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.status import error_of
from ringlight.protos.v1 import agent_pb2 as pb

_log = logging.getLogger(__name__)

PROTOCOL = 1
_SILENT_INTERVALS = 3


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
    ) -> None:
        self.introduced = False  # the hello is made: from now on, changes are reported
        self.welcomed = asyncio.Event()
        self.outbox = Outbox(settings.outbox, self._heartbeat)
        self._agent = agent
        self._boot = boot
        self._version = version
        self._nodes = {node.name: node for node in nodes}
        self._fences = fences
        self._settings = settings
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
            await until_first_ends(self._read(link), self._write(link), self._beat(), self._watch())
        except grpc.aio.AioRpcError as error:
            raise _meaning(error) from error
        except asyncio.CancelledError:
            await self._say_goodbye(link)
            raise
        finally:
            await link.close()

    async def _open(self, link: Link) -> None:
        """Hello with what the hardware says now, and the answer to it."""
        served = [node for node in self._nodes.values() if node.identity is not None]
        await asyncio.gather(*(_refresh(node, gpus=True) for node in served))
        try:
            async with asyncio.timeout(self._settings.welcome_timeout):
                await link.write(pb.AgentMessage(hello=self._hello()))
                message = await link.read()
        except TimeoutError:
            hint = "is it overloaded? the agent dials again"
            raise UnavailableError("the controller did not answer the hello", hint=hint) from None
        if message is None or message.WhichOneof("body") != "welcome":
            hint = "run the same release of Ringlight on the controller and on every node"
            raise UnavailableError("the controller did not answer the hello with a welcome", hint=hint)
        self._interval = message.welcome.heartbeat_interval
        if message.welcome.epoch < self._fences.fence.epoch:
            text = f"this controller has epoch {message.welcome.epoch}, and {self._fences.fence.epoch} was seen"
            raise UnavailableError(text, hint="an earlier controller came back: stop it")
        await self._fences.see(message.welcome.epoch)
        self._last_heard = asyncio.get_running_loop().time()
        self.welcomed.set()

    def _hello(self) -> pb.Hello:
        self.introduced = True
        fence = self._fences.fence
        hello = pb.Hello(
            agent=self._agent,
            agent_boot=self._boot,
            protocol=PROTOCOL,
            highest_epoch=fence.epoch,
            version=self._version,
        )
        for node in self._nodes.values():
            if node.identity is None:
                continue
            hello.fabric = node.identity.fabric
            hello.nodes.add(
                node=node.name,
                hardware_boot=node.identity.boot,
                inventory=codec.inventory_to(node.identity.inventory),
                circuits=codec.table_to(node.circuits),
                light=codec.light_to(node.light),
                faults=[codec.fault_to(fault) for _, fault in sorted(node.faults.items())],
                applied_generation=fence.generations.get(node.name, 0),
                unconfirmed=node.unconfirmed,
            )
        return hello

    async def _read(self, link: Link) -> None:
        while (message := await link.read()) is not None:
            self._last_heard = asyncio.get_running_loop().time()
            match message.WhichOneof("body"):
                case "set_circuits":
                    self._command(message.set_circuits)
                case "confirm":
                    node = self._nodes.get(message.confirm.node)
                    if node is not None:
                        node.confirm(epoch=message.confirm.epoch, transaction=message.confirm.transaction)

    def _command(self, message: pb.SetCircuits) -> None:
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
        while True:
            await link.write(await self.outbox.take())

    async def _beat(self) -> None:
        """A heartbeat each interval, with every bundle read just before, so that drift shows at once."""
        while True:
            await asyncio.sleep(self._interval)
            served = [node for node in self._nodes.values() if node.identity is not None]
            await asyncio.gather(*(_refresh(node) for node in served))
            self.outbox.beat()

    def _heartbeat(self) -> pb.AgentMessage:
        generations = self._fences.fence.generations
        beats = [
            pb.NodeHeartbeat(
                node=node.name,
                applied_generation=generations.get(node.name, 0),
                digest=digest(node.circuits),
            )
            for node in self._nodes.values()
            if node.identity is not None
        ]
        return pb.AgentMessage(heartbeat=pb.Heartbeat(nodes=beats))

    async def _watch(self) -> None:
        """End the session when the controller falls silent."""
        loop = asyncio.get_running_loop()
        while (remaining := self._last_heard + _SILENT_INTERVALS * self._interval - loop.time()) > 0:  # noqa: ASYNC110 - a deadline that moves with every message
            await asyncio.sleep(remaining)
        raise UnavailableError("the controller was not heard for three heartbeat intervals", hint="is it running?")

    async def _say_goodbye(self, link: Link) -> None:
        """Tell the controller that this is a stop, not a failure; for a moment, and only if it can be told."""
        if not self.welcomed.is_set():
            return
        try:
            async with asyncio.timeout(self._settings.goodbye_timeout):
                await link.write(pb.AgentMessage(goodbye=pb.Goodbye(reason="the agent is stopping")))
                await link.finish()
                while await link.read() is not None:
                    pass
        except (TimeoutError, asyncio.InvalidStateError, grpc.aio.AioRpcError):
            _log.debug("no goodbye: the stream was gone already")


async def _refresh(node: ServedNode, *, gpus: bool = False) -> None:
    """Read a node's hardware; one that does not answer must not hold up the others."""
    try:
        await node.refresh(gpus=gpus)
    except UnavailableError as error:
        _log.warning("node %s: %s", node.name, error)


def _meaning(error: grpc.aio.AioRpcError) -> RinglightError:
    """What the end of a stream means for the agent."""
    told = error_of(error, peer="the controller")
    if error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION):
        return AgentRefusedError(str(told), hint=told.hint)
    if error.code() is grpc.StatusCode.ALREADY_EXISTS:
        return DuplicateAgentError(str(told), hint=told.hint)
    return UnavailableError(str(told), hint=told.hint)
