"""The agent process."""

import uuid
from collections.abc import Callable
from random import SystemRandom

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.backends import Hardware, families_of
from ringlight.agents.configuration import AgentFile
from ringlight.agents.link import dial_controller
from ringlight.agents.metrics import AgentMetrics
from ringlight.agents.state_file import FenceFile
from ringlight.protos.http_face import HttpFace, serve_http

_METRICS_HINT = "does another agent of this machine use it? choose another address: `metrics` in its file"


async def run_agent(file: AgentFile, hardware: Hardware, *, ready: Callable[[str], None]) -> None:
    """Run an agent until cancelled; cancellation is the orderly way to stop it, and changes no circuit.

    Args:
        file: who it is and what it serves.
        hardware: driver and GPU health of each of its nodes, see `hardware_of`.
        ready: called with one line at the first welcome.

    Raises:
        RinglightError: refused by the controller, or its state is damaged.
    """
    fences = FenceFile(file.state, file.id)
    fences.load()
    readiness = _Readiness(ready, f"ready agent={file.id}")
    agent = Agent(
        AgentIdentity(file.id, str(uuid.uuid4())),
        {name: hardware(name) for name in file.nodes},
        dial=dial_controller(file.controller),
        fences=fences,
        rng=SystemRandom(),
        settings=file.settings,
        on_welcome=readiness.tell,
    )
    if file.metrics is None:
        await agent.run()
        return
    face = HttpFace(AgentMetrics(agent, families_of(file)).render, agent.why_not_ready, hint=_METRICS_HINT)
    async with serve_http(face, file.metrics) as address:
        readiness.line += f" metrics={address}"
        await agent.run()


class _Readiness:
    """Tells once that the agent is ready, in a line that may grow until then."""

    def __init__(self, ready: Callable[[str], None], line: str) -> None:
        self.line = line
        self._ready = ready
        self._told = False

    def tell(self) -> None:
        """There was a welcome."""
        if not self._told:
            self._told = True
            self._ready(self.line)
