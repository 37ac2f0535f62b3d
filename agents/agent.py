"""The agent: keeps the hardware of its nodes open and a session with the controller running, until it is cancelled.

Losing the controller changes nothing: nodes keep their circuits, and the agent dials again with jittered pauses.
Stopping changes nothing either.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from ringlight import __version__
from ringlight.agents.backoff import Backoff
from ringlight.agents.link import Dial
from ringlight.agents.node import ServedNode
from ringlight.agents.ports import CircuitDriver, GpuHealth
from ringlight.agents.session import DuplicateAgentError, Session
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.errors import UnavailableError
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
        on_welcome: called at each welcome.
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
        on_welcome: Callable[[], None] = lambda: None,
    ) -> None:
        self._identity = identity
        self._dial = dial
        self._fences = fences
        self._settings = settings or AgentSettings()
        self._on_welcome = on_welcome
        self._backoff = Backoff(rng, first=self._settings.backoff_first, cap=self._settings.backoff_cap)
        self._session: Session | None = None
        self._returned = asyncio.Event()
        self._nodes = [
            ServedNode(
                name,
                driver,
                gpus,
                fences=fences,
                settings=self._settings,
                rng=rng,
                report=self._report,
                on_return=self._returned.set,
            )
            for name, (driver, gpus) in hardware.items()
        ]

    async def run(self) -> None:
        """Run until cancelled.

        Raises:
            AgentRefusedError: the controller will never accept this agent as it is.
            DuplicateAgentError: another agent of this id, or for one of these nodes, stays alive.
        """
        serving = [asyncio.create_task(node.serve(), name=f"serve {node.name}") for node in self._nodes]
        try:
            for node in self._nodes:
                await node.tried.wait()
            await self._keep_session()
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            await self._save_fence()

    async def _keep_session(self) -> None:
        """One session after another."""
        loop = asyncio.get_running_loop()
        duplicate_since: float | None = None
        while True:
            await self._some_hardware()
            self._returned.clear()
            self._session = session = Session(
                agent=self._identity.agent,
                boot=self._identity.boot,
                version=__version__,
                nodes=self._nodes,
                fences=self._fences,
                settings=self._settings,
            )
            try:
                await self._run_session(session)
                _log.info("the session ended")
            except DuplicateAgentError as error:
                duplicate_since = duplicate_since or loop.time()
                if loop.time() - duplicate_since > self._settings.duplicate_patience:
                    raise
                _log.warning("%s; trying again for a while", error)
            except UnavailableError as error:
                _log.warning("%s", error)
            if session.welcomed.is_set():
                self._backoff.reset()
                duplicate_since = None
            await asyncio.sleep(self._backoff.next())

    async def _run_session(self, session: Session) -> None:
        """A session, ended early when hardware came back that its hello did not speak of."""
        running = asyncio.create_task(session.run(self._dial), name="session")
        welcomed = asyncio.create_task(self._tell_welcome(session), name="welcome")
        returned = asyncio.create_task(self._returned.wait(), name="hardware returned")
        try:
            await asyncio.wait({running, returned}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (welcomed, returned, running):
                task.cancel()
            await asyncio.gather(running, welcomed, returned, return_exceptions=True)
        if not running.cancelled():
            running.result()

    async def _tell_welcome(self, session: Session) -> None:
        await session.welcomed.wait()
        self._on_welcome()

    async def _some_hardware(self) -> None:
        """Wait until at least one node's hardware is open: an agent that serves nothing has nothing to say."""
        while all(node.identity is None for node in self._nodes):
            await self._returned.wait()
            self._returned.clear()

    def _report(self, message: pb.AgentMessage) -> None:
        """Pass a report on; without a session, the next hello carries it."""
        if self._session is not None and self._session.introduced:
            self._session.outbox.put(message)

    async def _save_fence(self) -> None:
        try:
            await self._fences.save()
        except UnavailableError as error:
            _log.warning("%s", error)
