"""What the controller tells over MQTT: events as they come, and how each job is, retained for schedulers.

Only a controller that is in charge tells how a job is. A state that was told is told again after each new connection,
for a broker may have forgotten it; what stands there of a job that is over is cleared, unless a later term said it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.engine.view import JobView, RingView, view_job, view_rings
from ringlight.controller.runtime import Runtime
from ringlight.fabric.errors import InvalidError
from ringlight.protos.bus.bus import Message
from ringlight.protos.bus.topics import Topics

_log = logging.getLogger(__name__)

_GATHER = 0.05  # seconds in which changes of a job become one message


class Speaker(Protocol):
    """What says things: a `Bus`."""

    def note(self, message: Message) -> None:
        """Say something once."""

    def state(self, message: Message, on_acknowledged: Callable[[], None] = ...) -> None:
        """Say how something is."""

    def withdraw(self) -> None:
        """Say no state that was not said yet."""


def event_document(fabric: str, event: FabricEvent, time: float) -> dict[str, Any]:
    """An event as it is told; `time` in seconds since 1970."""
    return {
        "fabric": fabric,
        "sequence": event.sequence,
        "time": round(time, 3),
        "kind": event.kind,
        "subject": event.subject,
        "text": event.text,
        "data": dict(event.data),
    }


def job_document(fabric: str, epoch: int, job: JobView, rings: tuple[RingView, ...]) -> dict[str, Any]:
    """A job as it is told. Nodes and GPUs are in rank order; a ring without them waits."""
    return {
        "fabric": fabric,
        "job": job.name,
        "epoch": epoch,
        "generation": job.generation,
        "state": job.state,
        "tp": job.tp,
        "rings_wanted": job.rings,
        "rings_active": job.active,
        "rings": [
            {
                "name": ring.name,
                "state": ring.state.value,
                "generation": ring.generation,
                "nodes": list(ring.nodes),
                "gpus": list(ring.gpus),
            }
            for ring in rings
        ],
    }


class Announcer:
    """Tells what happens in one fabric.

    Args:
        runtime: of the fabric.
        topics: where.
        speaker: by whom.
    """

    def __init__(self, runtime: Runtime, topics: Topics, speaker: Speaker) -> None:
        self._runtime = runtime
        self._topics = topics
        self._speaker = speaker
        self._changed: set[str] = set()
        self._gathering: asyncio.TimerHandle | None = None

    def take_event(self, event: FabricEvent) -> None:
        """Something happened."""
        document = event_document(self._topics.fabric, event, self._runtime.wall)
        self._speaker.note(Message(self._topics.events, _encoded(document)))
        if event.kind == "deposed":  # what waits for a connection is another's to tell by now
            self._speaker.withdraw()
            self._tell_presence()
        if event.kind.startswith(("job-", "ring-")):
            self._change(event.subject.rpartition("/")[0] or event.subject)

    def connected(self) -> None:
        """There is a new connection: everything that is retained may be forgotten."""
        self._tell_presence()
        for job in self._runtime.engine.state.jobs:
            self._change(job)

    def take_message(self, message: Message) -> None:
        """What stands in the broker of a job that we do not know is of the past, unless a later term said it."""
        job = self._topics.job_of(message.topic)
        state = self._runtime.engine.state
        if job is None or not message.retained or not message.payload or job in state.jobs or not self._in_charge:
            return
        epoch = _epoch_of(message.payload)
        if epoch > state.epoch:
            _log.warning("%s was told in epoch %d, and this controller has %d", message.topic, epoch, state.epoch)
            return
        self._speaker.state(Message(message.topic, b""))

    def stop(self) -> None:
        """Gather nothing any more."""
        if self._gathering is not None:
            self._gathering.cancel()

    @property
    def _in_charge(self) -> bool:
        state = self._runtime.engine.state
        return state.epoch > 0 and not state.deposed

    def _tell_presence(self) -> None:
        self._speaker.state(Message(self._topics.controller, b"online"))

    def _change(self, job: str) -> None:
        self._changed.add(job)
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER, self._tell_jobs)

    def _tell_jobs(self) -> None:
        self._gathering = None
        changed, self._changed = self._changed, set()
        if not self._in_charge:
            return
        for name in sorted(changed):
            try:
                self._tell_job(name, self._topics.job(name))
            except InvalidError as error:
                _log.warning("%s (%s)", error, error.hint)

    def _tell_job(self, name: str, topic: str) -> None:
        state = self._runtime.engine.state
        job = state.jobs.get(name)
        if job is None or job.released:
            self._speaker.state(Message(topic, b""))
            return
        view = view_job(job)
        document = job_document(self._topics.fabric, state.epoch, view, view_rings(state, name))

        def acknowledged() -> None:
            if name in state.jobs:
                self._runtime.tally.exported[name] = view.generation

        self._speaker.state(Message(topic, _encoded(document)), acknowledged)


def _encoded(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _epoch_of(payload: bytes) -> int:
    """The term in which a state was told; 0 for what is no such state."""
    try:
        epoch = json.loads(payload)["epoch"]
    except (ValueError, KeyError, TypeError, RecursionError):  # the last by brackets without end
        return 0
    return epoch if isinstance(epoch, int) and not isinstance(epoch, bool) else 0
