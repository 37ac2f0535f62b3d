"""The agent process."""

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.link import dial_controller
from ringlight.agents.ports import CircuitDriver, GpuHealth
from ringlight.agents.state_file import FenceFile


async def run_agent(
    *,
    agent_id: str,
    nodes: Sequence[str],
    controller: str,
    hardware: Callable[[str], tuple[CircuitDriver, GpuHealth]],
    state_dir: Path,
    ready: Callable[[str], None],
) -> None:
    """Run an agent until cancelled; cancellation is the orderly way to stop it, and changes no circuit.

    Args:
        agent_id: unique in the fabric.
        nodes: names of the nodes it serves.
        controller: ``HOST:PORT``.
        hardware: gives driver and GPU health of a node.
        state_dir: where the agent remembers whom it obeyed.
        ready: called with one line at the first welcome.

    Raises:
        RinglightError: refused by the controller, or its state is damaged.
    """
    fences = FenceFile(state_dir, agent_id)
    fences.load()
    told = False

    def on_welcome() -> None:
        nonlocal told
        if not told:
            told = True
            ready(f"ready agent={agent_id}")

    agent = Agent(
        AgentIdentity(agent_id, str(uuid.uuid4())),
        {name: hardware(name) for name in nodes},
        dial=dial_controller(controller),
        fences=fences,
        rng=SystemRandom(),
        on_welcome=on_welcome,
    )
    await agent.run()
