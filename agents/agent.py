"""The agent: keeps the hardware of its nodes open and a session with the controller running, until it is cancelled.

Losing the controller changes nothing: nodes keep their circuits, and the agent dials again with jittered pauses.
Stopping changes nothing either. A node whose hardware does not answer is left out, and the agent says hello anew when
it is back; an agent with no hardware at all says goodbye and waits.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from ringlight import __version__
from ringlight.agents.link import Dial
from ringlight.agents.node import ServedNode
from ringlight.agents.ports import CircuitDriver, GpuHealth
from ringlight.agents.session import BeatElsewhere, DuplicateAgentError, Session
from ringlight.agents.session_end import SessionEnd, end_of
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.agents.tally import Tally
from ringlight.fabric.errors import UnavailableError
from ringlight.protos.backoff import Backoff
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.v1 import agent_pb2 as pb

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Who an agent is: its id, and a name of this very process."""

    agent: str
    boot: str


class Agent:
    """One agent.

    Args:
        identity: who it is.
        hardware: driver and GPU health of each node it serves, by name.
        dial: reaches the controller.
        fences: whom it has obeyed; loaded.
        rng: for the jitter of pauses.
        settings: how it behaves.
        beat_elsewhere: see `Session`.
        on_welcome: called at each welcome.

    Attributes:
        tally: what it counts.
        nodes: what it serves.
    """

    def __init__(
        self,
        identity: AgentIdentity,
        hardware: Mapping[str, tuple[CircuitDriver, GpuHealth]],
        *,
        dial: Dial,
        fences: FenceFile,
        rng: Random,
        settings: AgentSettings | None = None,
        beat_elsewhere: BeatElsewhere | None = None,
        on_welcome: Callable[[], None] = lambda: None,
    ) -> None:
        self._identity = identity
        self._dial = dial
        self._fences = fences
        self._settings = settings or AgentSettings()
        self.tally = Tally()
        self._beat_elsewhere = beat_elsewhere
        self._on_welcome = on_welcome
        self._backoff = Backoff(rng, first=self._settings.backoff_first, cap=self._settings.backoff_cap)
        self._session: Session | None = None
        self._changed = asyncio.Event()
        self.nodes = [
            ServedNode(
                name,
                driver,
                gpus,
                fences=fences,
                settings=self._settings,
                rng=rng,
                report=self._report,
                on_change=self._hardware_changed,
            )
            for name, (driver, gpus) in hardware.items()
        ]

    async def run(self) -> None:
        """Run until cancelled.

        Raises:
            AgentRefusedError: the controller will never accept this agent as it is.
            DuplicateAgentError: another agent of this id, or for one of these nodes, stays alive.
        """
        try:
            await until_first_ends(self._keep_session(), *(node.serve() for node in self.nodes))
        finally:
            await self._save_fence()

    async def _keep_session(self) -> None:
        """One session after another."""
        for node in self.nodes:
            await node.tried.wait()
        loop = asyncio.get_running_loop()
        duplicate_since: float | None = None
        while True:
            await self._some_hardware()
            began = loop.time()
            self.tally.dials += 1
            self._session = session = Session(
                agent=self._identity.agent,
                boot=self._identity.boot,
                version=__version__,
                nodes=self.nodes,
                fences=self._fences,
                settings=self._settings,
                tally=self.tally,
                beat_elsewhere=self._beat_elsewhere,
                on_welcome=self._welcomed,
            )
            try:
                await until_first_ends(session.run(self._dial), self._until_outdated(session))
                self.tally.ends[SessionEnd.HARDWARE if session.outdated else SessionEnd.CONTROLLER] += 1
                _log.info("the session ended")
            except DuplicateAgentError as error:
                self.tally.ends[SessionEnd.DUPLICATE] += 1
                duplicate_since = loop.time() if duplicate_since is None else duplicate_since
                if loop.time() - duplicate_since > self._settings.duplicate_patience:
                    raise
                _log.warning("%s; trying again for a while", error)
            except UnavailableError as error:
                self.tally.ends[end_of(error)] += 1
                duplicate_since = None
                _log.warning("%s", error)
            self._session = None
            if session.welcomed:
                duplicate_since = None
                if loop.time() - began >= self._settings.backoff_cap:
                    self._backoff.reset()
            await asyncio.sleep(self._backoff.next())

    def _welcomed(self) -> None:
        self.tally.welcomes += 1
        self._on_welcome()

    @property
    def connected(self) -> bool:
        """Whether there is a session with the controller now."""
        return self._session is not None and self._session.welcomed

    @property
    def epoch(self) -> int:
        """The highest epoch of a controller that was seen."""
        return self._fences.fence.epoch

    @property
    def waiting(self) -> int:
        """Reports and answers that wait to be sent."""
        return 0 if self._session is None else len(self._session.outbox)

    def why_not_ready(self) -> str:
        """Why this agent cannot do all of its job, or an empty string. GPUs that nobody hears of are no obstacle."""
        silent = sorted(node.name for node in self.nodes if node.identity is None)
        if silent:
            return f"the hardware of {', '.join(silent)} does not answer"
        return "" if self.connected else "there is no session with the controller"

    async def _until_outdated(self, session: Session) -> None:
        """Wait until a session no longer speaks for the hardware that answers, and note why it must end."""
        while True:
            self._changed.clear()
            answering = {node.name for node in self.nodes if node.identity is not None}
            back = sorted(answering - session.introduced) if session.greeted else []
            if back:
                session.outdated = True
                session.goodbye = f"says hello anew: the hardware of {', '.join(back)} is back"
                return
            if not answering:
                session.outdated = True
                session.goodbye = "no hardware answers any more"
                return
            await self._changed.wait()

    async def _some_hardware(self) -> None:
        """Wait until at least one node's hardware is open: an agent that serves nothing has nothing to say."""
        while all(node.identity is None for node in self.nodes):
            self._changed.clear()
            await self._changed.wait()

    def _hardware_changed(self, node: str) -> None:
        """A node's hardware answers, or has stopped to."""
        if self._session is not None and all(one.identity is None for one in self.nodes if one.name == node):
            self._session.introduced.discard(node)
        self._changed.set()

    def _report(self, node: str, message: pb.AgentMessage) -> None:
        """Pass a report on; without a session, the next hello carries it."""
        if self._session is not None:
            self._session.report(node, message)

    async def _save_fence(self) -> None:
        try:
            await self._fences.save()
        except UnavailableError as error:
            _log.warning("%s", error)
