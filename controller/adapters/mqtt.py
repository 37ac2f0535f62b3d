"""The controller's side of MQTT, put together: one client that hears heartbeats and tells events and states."""

import logging
import uuid
from random import Random

from ringlight.controller.adapters.announcer import Announcer
from ringlight.controller.adapters.intake import Intake
from ringlight.controller.adapters.southbound import AgentService
from ringlight.controller.metrics.samples import BusReport
from ringlight.controller.runtime import Runtime
from ringlight.protos.bus.broker import Broker
from ringlight.protos.bus.bus import Bus, Message
from ringlight.protos.bus.topics import Topics

_log = logging.getLogger(__name__)


class ControllerOnMqtt:
    """One client.

    Args:
        broker: where.
        runtime: of the fabric.
        service: has the sessions that heartbeats are for.
        rng: of pauses.

    Raises:
        InvalidError: the name of the fabric cannot be part of a topic.
    """

    def __init__(self, broker: Broker, runtime: Runtime, service: AgentService, rng: Random) -> None:
        topics = Topics(runtime.engine.state.wiring.spec.name)
        self.bus = Bus(
            broker,
            identifier=f"ringlight-controller-{uuid.uuid4()}",
            topics=(topics.every_heartbeat, topics.every_job),
            on_message=self._take,
            on_change=self._change,
            rng=rng,
            will=Message(topics.controller, b"offline"),
        )
        self._intake = Intake(runtime, service, topics)
        self._announcer = Announcer(runtime, topics, self.bus)
        runtime.observers.append(self._announcer.take_event)

    async def run_forever(self) -> None:
        """Keep the connection. Runs until cancelled; owned by the daemon."""
        try:
            await self.bus.run_forever()
        finally:
            self._announcer.stop()

    def report(self) -> BusReport:
        """How it fares."""
        tally = self.bus.tally
        return BusReport(
            self.bus.connected,
            tally.losses,
            tally.received,
            tally.sent,
            tally.dropped_in,
            tally.dropped_out,
            dict(self._intake.rejected),
        )

    def _take(self, message: Message) -> None:
        self._intake.take(message)
        self._announcer.take_message(message)

    def _change(self, lost: str | None) -> None:
        if lost is None:
            self._intake.back()
            self._announcer.connected()
        else:
            self._intake.lost(lost)
