"""Heartbeats over MQTT, in place of the stream of a session (docs/mqtt.md)."""

from random import Random

from ringlight.agents.agent import AgentIdentity
from ringlight.protos.bus.broker import Broker
from ringlight.protos.bus.bus import Bus, Message
from ringlight.protos.bus.topics import Topics
from ringlight.protos.v1 import agent_pb2 as pb


class BeatsOnMqtt:
    """The heartbeats of one agent.

    Raises:
        InvalidError: the name of the fabric, or of the agent, cannot be part of a topic.
    """

    def __init__(self, broker: Broker, fabric: str, identity: AgentIdentity, rng: Random) -> None:
        self.bus = Bus(broker, identifier=f"ringlight-agent-{identity.boot}", rng=rng)
        self._topic = Topics(fabric).heartbeat(identity.agent)
        self._boot = identity.boot

    def beat(self, session: str, heartbeat: pb.Heartbeat) -> bool:
        """Send one, if there is a connection; False when it has to go another way."""
        if not self.bus.connected:
            return False
        published = pb.PublishedHeartbeat(agent_boot=self._boot, session=session, heartbeat=heartbeat)
        self.bus.note(Message(self._topic, published.SerializeToString()))
        return True
