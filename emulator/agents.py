"""Runs the real agents of emulated nodes inside the emulator's process, and lets them crash and hang.

Each agent reaches its hardware through the socket and dials the controller over gRPC, exactly as one on a server of
its own would. What can be done to it is what can happen to a process: it is gone, or it stands still. Both follow
from the set of open faults, so overlapping ones come out right.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.link import Dial, Link, dial_controller
from ringlight.agents.ports import CircuitDriver, GpuHealth
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.emulator.faults import FaultKind
from ringlight.emulator.fibre_plant import FibrePlant
from ringlight.emulator.tasks import TaskRegistry, cancel_and_wait
from ringlight.fabric.errors import RinglightError
from ringlight.protos.v1 import agent_pb2 as pb

log = logging.getLogger(__name__)

Hardware = Callable[[str], tuple[CircuitDriver, GpuHealth]]


# Thousands of agents share one event loop here, so one that answers late is not a bundle that does not.
_SETTINGS = AgentSettings(switch_timeout=10.0, read_timeout=10.0)


class _Gate:
    """Whether an agent's process runs: while it is shut nothing passes, once it is cut nothing ever will."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.cut = False

    async def passage(self) -> None:
        """Wait until the process runs.

        Raises:
            InvalidStateError: the process is gone.
        """
        await self.open.wait()
        if self.cut:
            raise asyncio.InvalidStateError("the agent crashed")


class _GatedLink:
    """An agent's stream with the gate in between."""

    def __init__(self, link: Link, gate: _Gate) -> None:
        self._link = link
        self._gate = gate

    async def read(self) -> pb.ControllerMessage | None:
        message = await self._link.read()
        await self._gate.passage()
        return message

    async def write(self, message: pb.AgentMessage) -> None:
        await self._gate.passage()
        await self._link.write(message)

    async def finish(self) -> None:
        await self._gate.passage()
        await self._link.finish()

    async def close(self) -> None:
        await self._link.close()


class _HostedAgent:
    """One agent: its process that comes and goes, and what stays when it is gone.

    Attributes:
        turn: held by whoever starts or ends the process, which takes a moment.
    """

    def __init__(
        self,
        name: str,
        nodes: Sequence[str],
        *,
        tasks: TaskRegistry,
        dial: Dial,
        hardware: Hardware,
        directory: Path,
        seed: str,
    ) -> None:
        self.name = name
        self.turn = asyncio.Lock()
        self._tasks = tasks
        self._nodes = nodes
        self._dial = dial
        self._hardware = hardware
        self._directory = directory
        self._seed = seed
        self._starts = 0
        self._gate = _Gate()
        self._process: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the process, if it does not run."""
        if self._process is None:
            self._starts += 1
            self._gate = _Gate()
            self._process = self._tasks.start(self._run(self._gate), name=self.name)

    def hang(self, *, hangs: bool) -> None:
        """Let the process stand still, or go on."""
        if hangs:
            self._gate.open.clear()
        else:
            self._gate.open.set()

    async def crash(self) -> None:
        """End the process without a word."""
        self._gate.cut = True
        self._gate.open.set()
        await self.stop()

    async def stop(self) -> None:
        """End the process in order."""
        self._gate.open.set()
        if self._process is not None:
            await cancel_and_wait({self._process})
            self._process = None

    async def _run(self, gate: _Gate) -> None:
        async def dial() -> Link:
            await gate.passage()
            return _GatedLink(await self._dial(), gate)

        fences = FenceFile(self._directory, self.name)
        try:
            await asyncio.to_thread(fences.load)
            agent = Agent(
                AgentIdentity(self.name, f"{self._seed}.{self._starts}"),
                {node: self._hardware(node) for node in self._nodes},
                dial=dial,
                fences=fences,
                settings=_SETTINGS,
                rng=Random(f"{self._seed}.{self.name}.{self._starts}"),  # noqa: S311 - jitter, no secret
            )
            await agent.run()
        except RinglightError as error:
            log.error("agent %s ended: %s (%s)", self.name, error, error.hint)  # noqa: TRY400 - no bug of ours


class HostedAgents:
    """The agents of a whole emulated fabric.

    Args:
        plant: whose faults they follow.
        controller: address they dial.
        hardware: gives driver and GPU health of a node.
        directory: for the agents' state files.
        nodes_per_agent: nodes one agent serves.
        boot: makes the boot ids of this emulator's agents differ from those of another run.
    """

    def __init__(
        self,
        plant: FibrePlant,
        *,
        controller: str,
        hardware: Hardware,
        directory: Path,
        nodes_per_agent: int,
        boot: str,
    ) -> None:
        self._plant = plant
        self._per_agent = nodes_per_agent
        self._stopping = False
        tasks = TaskRegistry()
        names = [plant.wiring.name(position) for position in range(plant.wiring.size)]
        groups = [names[first : first + nodes_per_agent] for first in range(0, len(names), nodes_per_agent)]
        dial = dial_controller(controller)
        self._agents = [
            _HostedAgent(
                f"agent-{group[0]}", group, tasks=tasks, dial=dial, hardware=hardware, directory=directory, seed=boot
            )
            for group in groups
        ]

    def start(self) -> None:
        """Start every agent."""
        for agent in self._agents:
            agent.start()

    async def stop(self) -> None:
        """Stop every agent in order, all at once. None is started any more, whatever is repaired."""
        self._stopping = True
        await asyncio.gather(*(self._stop(agent) for agent in self._agents))

    async def follow(self, position: int) -> None:
        """Bring the agent that serves a node in line with the open faults of all its nodes."""
        first = position - position % self._per_agent
        served = range(first, min(first + self._per_agent, self._plant.wiring.size))
        agent = self._agents[position // self._per_agent]
        async with agent.turn:  # the faults are looked at when it is our turn: the last one to come sees them all
            if self._stopping:
                return
            if self._any(FaultKind.AGENT_CRASH, served) or (self._per_agent == 1 and not self._plant.powered(position)):
                await agent.crash()
                return
            agent.start()
            agent.hang(hangs=self._any(FaultKind.AGENT_HANG, served))

    async def _stop(self, agent: _HostedAgent) -> None:
        async with agent.turn:
            await agent.stop()

    def _any(self, kind: FaultKind, positions: range) -> bool:
        return any(self._plant.faults.has(kind, position) for position in positions)
