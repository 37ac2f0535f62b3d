"""The agent process."""

import uuid
from collections.abc import Callable
from random import SystemRandom

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.backends import Hardware
from ringlight.agents.configuration import AgentFile
from ringlight.agents.link import dial_controller
from ringlight.agents.state_file import FenceFile


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
    told = False

    def on_welcome() -> None:
        nonlocal told
        if not told:
            told = True
            ready(f"ready agent={file.id}")

    agent = Agent(
        AgentIdentity(file.id, str(uuid.uuid4())),
        {name: hardware(name) for name in file.nodes},
        dial=dial_controller(file.controller),
        fences=fences,
        rng=SystemRandom(),
        settings=file.settings,
        on_welcome=on_welcome,
    )
    await agent.run()
