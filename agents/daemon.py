"""The agent process."""

import uuid
from collections.abc import Callable
from random import SystemRandom

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.backends import Hardware, families_of
from ringlight.agents.beats import BeatsOnMqtt
from ringlight.agents.configuration import AgentConfiguration
from ringlight.agents.link import dial_controller
from ringlight.agents.metrics import AgentMetrics
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.errors import InvalidError
from ringlight.protos.bus.broker import broker_at
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.http_face import HttpFace, serve_http

_METRICS_HINT = "does another agent of this machine use it? choose another address: `metrics` in its file"


async def run_agent(configuration: AgentConfiguration, hardware: Hardware, *, ready: Callable[[str], None]) -> None:
    """Run an agent until cancelled; cancellation is the orderly way to stop it, and changes no circuit.

    Args:
        configuration: who it is and what it serves.
        hardware: driver and GPU health of each of its nodes, see `hardware_of`.
        ready: called with one line at the first welcome.

    Raises:
        RinglightError: refused by the controller, or its state is damaged.
    """
    file = configuration.file
    fences = FenceFile(file.state, file.id)
    fences.load()
    readiness = _Readiness(ready, f"ready agent={file.id}")
    identity = AgentIdentity(file.id, str(uuid.uuid4()))
    beats = _beats(configuration, identity)
    agent = Agent(
        identity,
        {name: hardware(name) for name in file.nodes},
        dial=dial_controller(file.controller),
        fences=fences,
        rng=SystemRandom(),
        settings=file.settings,
        beat_elsewhere=None if beats is None else beats.beat,
        on_welcome=readiness.tell,
    )
    work = [agent.run()] if beats is None else [agent.run(), beats.bus.run_forever()]
    if file.metrics is None:
        await until_first_ends(*work)
        return
    metrics = AgentMetrics(agent, families_of(file), None if beats is None else beats.bus.tally)
    face = HttpFace(metrics.render, agent.why_not_ready, hint=_METRICS_HINT)
    async with serve_http(face, file.metrics) as address:
        readiness.line += f" metrics={address}"
        await until_first_ends(*work)


def _beats(configuration: AgentConfiguration, identity: AgentIdentity) -> BeatsOnMqtt | None:
    mqtt, wiring = configuration.file.mqtt, configuration.wiring
    if mqtt is None:
        return None
    if wiring is None:
        raise InvalidError("heartbeats over MQTT need the name of the fabric", hint="name its file: `fabric: FILE`")
    broker = broker_at(mqtt.broker, password_file=mqtt.password_file, ca_file=mqtt.ca_file)
    return BeatsOnMqtt(broker, wiring.spec.name, identity, SystemRandom())


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
