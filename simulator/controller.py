"""A controller process in virtual time: the real engine, its effects carried out in order, and a process around it.

It can crash between any two effects, stand still (what came meanwhile is handled all at once afterwards), have its
clock jump, and be started again over the same store, an older copy or an empty one. A paused one that is resumed goes
on with the sessions and beliefs it had.
"""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

from ringlight.controller.engine.effects import (
    Admit,
    Answer,
    AuditBegan,
    Close,
    Effect,
    FabricEvent,
    Persist,
    Probe,
    Publish,
    Refuse,
    SendCircuits,
    SendConfirm,
    SendQuestion,
    TellAudit,
    WakeAt,
)
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Event, GoAhead, ProbeAnswered, SessionLost, StoreTaken, Tick
from ringlight.controller.settings import Settings
from ringlight.controller.unwritten import Unwritten
from ringlight.emulator.plant import Plant
from ringlight.fabric.protocol import SILENT_INTERVALS
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.messages import Ended, Goodbye, ToAgent, ToController, Welcome
from ringlight.simulator.schedule import Schedule, Timer
from ringlight.simulator.store import MemoryStore
from ringlight.simulator.stream import AT_ONCE, NEVER, Stream

_WRITE_SECONDS = (1e-3, 2e-2)
_RETRY_SECONDS = 1.0
_MOST_EVENTS = 1_000

WALL = 1_700_000_000.0  # wall-clock time at the beginning of virtual time
Step = Callable[["Controller", Event, list[Effect]], None]


class Failpoint(Protocol):
    """Where a crash may be asked for: before and after each effect."""

    def __call__(self, controller: "Controller", effect: Effect, when: str) -> bool:
        """Whether the process dies here; `when` is ``before`` or ``after``."""


class Controller:
    """One controller process, over one life.

    Attributes:
        alive: it has not crashed.
        engine: the real one.
        told: what it published.
        answers: to operators' requests, by name.
    """

    def __init__(
        self,
        schedule: Schedule,
        wiring: Wiring,
        settings: Settings,
        store: MemoryStore,
        plant: Plant,
        *,
        rng: Random,
        observe: Step,
        failpoint: Failpoint | None = None,
        engine: type[Engine] = Engine,
    ) -> None:
        self.alive = False
        self.engine = engine(wiring, settings)
        self.told: list[FabricEvent] = []
        self.answers: dict[str, Answer] = {}
        self._schedule = schedule
        self._store = store
        self._plant = plant
        self._rng = rng
        self._observe = observe
        self._failpoint = failpoint
        self._skew = rng.uniform(0.0, 1e6)  # its monotonic clock minus ours
        self._streams: dict[str, Stream] = {}
        self._backlog: deque[Callable[[], None]] = deque()
        self._stalled = False
        self._unwritten = Unwritten(_MOST_EVENTS)
        self._writing = False
        self._audits_to_begin: list[str] = []
        self._timer: Timer | None = None

    @property
    def now(self) -> float:
        """Its monotonic clock."""
        return self._schedule.now + self._skew

    @property
    def answering(self) -> bool:
        """It is alive and does not stand still."""
        return self.alive and not self._stalled

    def start(self) -> None:
        """Read the store and begin."""
        self.alive = True
        self._feed(self._store.open(self, WALL + self._schedule.now))
        self._watch()

    def crash(self) -> None:
        """Memory, timers and sessions are gone; what was not written is lost."""
        if not self.alive:
            return
        self.alive = False
        if self._timer is not None:
            self._timer.cancel()
        for stream in list(self._streams.values()):
            stream.close()
            self._notice_end(stream, self._rng.choice([AT_ONCE, 0.5, NEVER]))
        self._streams.clear()

    def stall(self) -> None:
        """Stand still: time passes, and nothing is handled."""
        self._stalled = True
        for stream in self._streams.values():
            stream.down.hold()

    def resume(self) -> None:
        """Go on, with everything that came meanwhile."""
        self._stalled = False
        while self._backlog and self.answering:
            self._backlog.popleft()()
        for stream in list(self._streams.values()):
            stream.down.release()

    def jump(self, seconds: float) -> None:
        """Its clock jumps."""
        self._skew += seconds

    # -- sessions ----------------------------------------------------------------------------------------------------

    def accept(self, stream: Stream) -> None:
        """An agent dialled."""
        self._streams[stream.session] = stream

    def hear(self, stream: Stream, message: ToController) -> None:
        """A message of an agent arrived."""
        self._soon(lambda: self._take(stream, message))

    def lost(self, stream: Stream, reason: str) -> None:
        """A session ended."""
        self._soon(lambda: self._end(stream, reason))

    def _take(self, stream: Stream, message: ToController) -> None:
        if stream.session not in self._streams:
            return
        stream.last_heard = self._schedule.now
        if isinstance(message, Goodbye):
            self._end(stream, "goodbye")
        else:
            self._feed(message)

    def _end(self, stream: Stream, reason: str) -> None:
        if self._streams.pop(stream.session, None) is not None:
            self._feed(SessionLost(stream.session, reason))

    def _notice_end(self, stream: Stream, seconds: float) -> None:
        self._schedule.after(seconds, lambda: stream.agent.lost(stream))

    def _watch(self) -> None:
        """Put an end to sessions that are silent, once an interval."""
        if not self.alive:
            return
        interval = self.engine.state.settings.heartbeat.interval
        self._schedule.after(interval, self._watch)
        if self._stalled:
            return
        for stream in list(self._streams.values()):
            if self._schedule.now - stream.last_heard > SILENT_INTERVALS * interval:
                self._close(stream)

    def _close(self, stream: Stream) -> None:
        stream.down.send(Ended())
        stream.up.cut()
        self._end(stream, "nothing was heard for three heartbeat intervals")

    def _soon(self, action: Callable[[], None]) -> None:
        if self.answering:
            action()
        elif self.alive:
            self._backlog.append(action)

    # -- the engine --------------------------------------------------------------------------------------------------

    def ask(self, event: Event) -> None:
        """An operator, scheduler or probe says something."""
        self._soon(lambda: self._feed(event))

    def _feed(self, event: Event) -> None:
        if not self.alive:
            return
        effects = self.engine.handle(event, self.now)
        self._observe(self, event, effects)
        for effect in effects:
            if self._dies(effect, "before"):
                return
            self._carry_out(effect)
            if self._dies(effect, "after"):
                return

    def _dies(self, effect: Effect, when: str) -> bool:
        if self._failpoint is not None and self.alive and self._failpoint(self, effect, when):
            self.crash()
        return not self.alive

    def _carry_out(self, effect: Effect) -> None:  # noqa: C901 - one case an effect
        match effect:
            case Admit():
                self._send(effect.session, Welcome(effect.epoch))
            case Refuse() | Close():
                stream = self._streams.pop(effect.session, None)
                if stream is not None:
                    stream.down.send(Ended())
                    stream.up.cut()
            case SendCircuits() | SendConfirm() | SendQuestion():
                self._send(effect.session, effect)
            case Persist():
                self._unwritten.keep(effect)
                self._write_soon()
            case Publish():
                self.told.append(effect.event)
            case Answer():
                self.answers[effect.request] = effect
            case TellAudit() if isinstance(effect.news, AuditBegan):
                self._audits_to_begin.append(effect.audit)
            case WakeAt():
                self._wake_at(effect.when)
            case Probe():
                self._schedule.after(self._rng.uniform(0.1, 4.0), lambda: self._probe(effect.node))

    def _send(self, session: str, message: ToAgent) -> None:
        stream = self._streams.get(session)
        if stream is not None:
            stream.down.send(message)

    def _wake_at(self, when: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if when is not None:
            self._timer = self._schedule.after(when - self.now, lambda: self._soon(lambda: self._wake(when)))

    def _wake(self, when: float) -> None:
        if self.now < when:
            self._wake_at(when)
        else:
            self._feed(Tick())

    def _probe(self, node: str) -> None:
        """The site's probe knows whether a machine has power."""
        up = self._plant.powered(self.engine.state.wiring.position(node))
        self.ask(ProbeAnswered(node, None if self._rng.random() < 0.2 else up))  # noqa: PLR2004 - some do not know

    # -- the store ---------------------------------------------------------------------------------------------------

    def _write_soon(self) -> None:
        if not self._writing:
            self._writing = True
            self._schedule.after(self._rng.uniform(*_WRITE_SECONDS), lambda: self._soon(self._write))

    def _write(self) -> None:
        self._writing = False
        batch = self._unwritten.take()
        if batch and not self._store.write(self, batch.persist):
            self._unwritten.give_back(batch)
            if self._store.is_taken_from(self):
                self._feed(StoreTaken("another controller began a term on its store"))
                return
            self._writing = True
            self._schedule.after(_RETRY_SECONDS, lambda: self._soon(self._write))
            return
        audits, self._audits_to_begin = self._audits_to_begin, []
        for audit in audits:
            self._feed(GoAhead(audit))
