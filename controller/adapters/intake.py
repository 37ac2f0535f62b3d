"""Heartbeats that come over MQTT: each is given to the session that it names, or it counts for nothing.

What a broker kept is never a sign of life, nor is what no live session of that very process can have said. While the
broker is out of reach and agents beat over it, the controller knows that it may be deaf.
"""

from collections import Counter

from google.protobuf.message import DecodeError

from ringlight.controller.adapters.southbound import AgentService
from ringlight.controller.engine.events import BusBack, BusLost
from ringlight.controller.metrics.rejection import Rejection
from ringlight.controller.runtime import Runtime
from ringlight.protos.bus.bus import Message
from ringlight.protos.bus.topics import Topics
from ringlight.protos.v1 import agent_pb2 as pb


class Intake:
    """The heartbeats of one fabric.

    Attributes:
        rejected: how many messages counted for nothing, by why.
    """

    def __init__(self, runtime: Runtime, service: AgentService, topics: Topics) -> None:
        self.rejected: Counter[Rejection] = Counter()
        self._runtime = runtime
        self._service = service
        self._topics = topics
        self._sessions: set[str] = set()  # that beat here

    def take(self, message: Message) -> None:
        """A message came; what is not a heartbeat is another's."""
        agent = self._topics.agent_of(message.topic)
        if agent is None:
            return
        rejection = self._rejection(agent, message)
        if rejection is not None:
            self.rejected[rejection] += 1

    def _rejection(self, agent: str, message: Message) -> Rejection | None:
        if message.retained:
            return Rejection.RETAINED
        try:
            published = pb.PublishedHeartbeat.FromString(message.payload)
        except DecodeError:
            return Rejection.MALFORMED
        heartbeat = pb.AgentMessage(heartbeat=published.heartbeat)
        if not self._service.hear(published.session, agent, published.agent_boot, heartbeat):
            return Rejection.NO_SESSION
        self._sessions.add(published.session)
        return None

    def lost(self, reason: str) -> None:
        """The broker is out of reach. If nobody beats there, that changes nothing."""
        self._sessions &= self._runtime.engine.state.sessions.keys()
        if self._sessions:
            self._runtime.feed(BusLost(reason))

    def back(self) -> None:
        """It is in reach again."""
        if self._runtime.engine.state.bus_lost:
            self._runtime.feed(BusBack())
