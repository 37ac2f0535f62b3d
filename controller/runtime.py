"""Feeds events to the engine and carries its effects out: the one place where decisions meet the world.

Everything happens on one event loop, and `feed` is a plain call: an event is decided and its commands are on their
way before anything else runs. Only the store is waited for, by one writer task that takes all there is in one
transaction; while it cannot write, everything else goes on from memory.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from itertools import count

from ringlight.controller.engine.effects import (
    Admit,
    Answer,
    AuditNews,
    AuditOver,
    Close,
    Effect,
    FabricEvent,
    Persist,
    PlannedChange,
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
from ringlight.controller.engine.events import (
    BeginAudit,
    EndAudit,
    Event,
    GoAhead,
    Heartbeat,
    OperatorRequest,
    StoreBegunAnew,
    StoreTaken,
    Tick,
)
from ringlight.controller.engine.records import everything
from ringlight.controller.feed import EventFeed
from ringlight.controller.metrics.tally import Tally
from ringlight.controller.ports import (
    AgentLink,
    Batch,
    Clock,
    LoggedEvent,
    Store,
    StoreDamagedError,
    StoreError,
    StoreTakenError,
)
from ringlight.controller.unwritten import Unwritten
from ringlight.fabric.errors import RinglightError
from ringlight.fabric.protocol import SILENT_INTERVALS

_log = logging.getLogger(__name__)

_UNWRITTEN_EVENTS = 10_000  # more than these are dropped, oldest first, while the store cannot write
_STORE_RETRY = 1.0  # seconds between attempts to write to a store that failed
_STORE_CHECK = 10.0  # seconds with nothing to write after which it is tried whether it could be written

_LOUD = {
    "invariant-violation": logging.ERROR,
    "refused": logging.WARNING,
    "agent-refused": logging.WARNING,
    "ring-broken": logging.WARNING,
    "drift": logging.WARNING,
    "breaker-tripped": logging.ERROR,
    "deposed": logging.ERROR,
    "store-begun-anew": logging.ERROR,
    "gate-shut": logging.WARNING,
    "node-quarantined": logging.WARNING,
    "paused": logging.WARNING,
}


class Runtime:
    """The engine of one fabric, running."""

    def __init__(self, engine: Engine, store: Store, clock: Clock) -> None:
        self.engine = engine
        self.store = store
        self.store_trouble = ""
        self.tally = Tally()
        self.observers: list[Callable[[FabricEvent], None]] = [self.tally.note_event]
        self.feed_of_events = EventFeed(self._note_lagging)
        self.probe: Callable[[str], None] = lambda _: None
        self._clock = clock
        self._links: dict[str, AgentLink] = {}
        self._last_beats: dict[str, float] = {}
        self._answers: dict[str, asyncio.Future[PlannedChange]] = {}
        self._requests = count(1)
        self._audits: dict[str, asyncio.Queue[AuditNews]] = {}
        self._unwritten = Unwritten(_UNWRITTEN_EVENTS)
        self._answers_due: list[Answer] = []
        self._something_to_write = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def now(self) -> float:
        """Seconds of the clock that decisions are made by."""
        return self._clock.monotonic()

    @property
    def wall(self) -> float:
        """Seconds since 1970, for people."""
        return self._clock.wall()

    @property
    def events_dropped(self) -> int:
        """Events that will never be in the store, since it could not be written for too long."""
        return self._unwritten.events_dropped

    def why_not_ready(self) -> str:
        """Why this controller cannot do its job at present; empty when it can."""
        state = self.engine.state
        idle = self.now - state.now
        if not state.epoch:
            return "the store was not read yet"
        if state.deposed:
            return state.deposed
        if idle > SILENT_INTERVALS * state.settings.heartbeat.interval:
            return f"nothing was decided for {idle:.1f} s, though there is something to do in every heartbeat interval"
        return f"the store cannot be written: {self.store_trouble}" if self.store_trouble else ""

    def attach(self, session: str, link: AgentLink) -> None:
        """Make an agent reachable under its session's name, before its hello is fed."""
        self._links[session] = link

    def detach(self, session: str) -> None:
        """Forget the link of a session that ended."""
        self._links.pop(session, None)
        self._last_beats.pop(session, None)

    def feed(self, event: Event) -> None:
        """Let the engine handle an event, and carry out what follows."""
        now = self.now
        if isinstance(event, Heartbeat):
            former = self._last_beats.get(event.session)
            self.tally.note_heartbeat(None if former is None else now - former)
            self._last_beats[event.session] = now
        effects = self.engine.handle(event, now)
        if any(isinstance(effect, Publish) and effect.event.kind == "ring-switching" for effect in effects):
            self.tally.note_decision(self.now - now)
        for effect in effects:
            self._carry_out(effect)

    async def ask(self, request: OperatorRequest) -> PlannedChange:
        """Put an operator's request, under a name of its own, and wait until what it changes is on record.

        Returns:
            What follows from it.

        Raises:
            RinglightError: what the engine answers, or that it is not on record.
        """
        request = replace(request, request=f"request-{next(self._requests)}")
        answer: asyncio.Future[PlannedChange] = asyncio.get_running_loop().create_future()
        self._answers[request.request] = answer
        try:
            self.feed(request)
            return await answer
        finally:
            del self._answers[request.request]

    async def audit(self, request: BeginAudit) -> AsyncGenerator[AuditNews]:
        """Audit the cabling, and tell how it goes; the last thing that is told is `AuditOver`.

        Who stops listening breaks the audit off.

        Raises:
            RinglightError: it was refused, or that it began is not on record.
        """
        name = f"audit-{next(self._requests)}"
        news: asyncio.Queue[AuditNews] = asyncio.Queue()  # as long as an audit has rounds, and two more
        self._audits[name] = news
        over = False
        try:
            await self.ask(replace(request, audit=name))
            self.feed(GoAhead(name))
            while not over:
                told = await news.get()
                over = isinstance(told, AuditOver)
                yield told
        finally:
            del self._audits[name]
            if not over:
                self.feed(EndAudit(name, "whoever asked for it is gone"))

    async def logged_events(self, after: int, limit: int, subject: str) -> list[LoggedEvent]:
        """The newest `limit` events above a sequence number: from memory when it reaches back so far, else the store.

        What is still waiting to be written is in memory, so nothing is missing in between.

        Raises:
            StoreError: the store was needed, and cannot be read.
        """
        if after >= self.engine.state.sequence:
            return []
        recent, complete = self.feed_of_events.recent(after)
        if not complete:
            known = recent[0].event.sequence if recent else self.engine.state.sequence + 1
            older = await self.store.events(after=after, limit=limit, subject=subject)
            recent = [event for event in older if event.event.sequence < known] + recent
        return [event for event in recent if subject in ("", event.event.subject)][-limit:]

    def _carry_out(self, effect: Effect) -> None:  # noqa: C901 - one case an effect
        match effect:
            case Admit():
                self.tally.sessions_opened += 1
                self._links[effect.session].admit(effect.epoch, effect.heartbeat_interval)
            case Refuse():
                self._links.pop(effect.session).refuse(effect.error)
            case Close() if effect.session in self._links:
                self._links.pop(effect.session).close(effect.reason)
            case SendCircuits() if effect.session in self._links:
                self._links[effect.session].send(effect)
            case SendConfirm() if effect.session in self._links:
                self._links[effect.session].confirm(effect)
            case SendQuestion() if effect.session in self._links:
                self._links[effect.session].ask(effect)
            case TellAudit() if effect.audit in self._audits:
                self._audits[effect.audit].put_nowait(effect.news)
            case Persist():
                self._unwritten.keep(effect)
                self._something_to_write.set()
            case Publish():
                self._publish(effect.event)
            case Answer():
                self._answer(effect)
            case Probe():
                self.probe(effect.node)
            case WakeAt():
                self._wake_at(effect.when)

    def _note_lagging(self) -> None:
        self.tally.watch_drops += 1

    def _publish(self, event: FabricEvent) -> None:
        logged = LoggedEvent(event, self._clock.wall())
        _log.log(_LOUD.get(event.kind, logging.INFO), "%s %s: %s", event.kind, event.subject, event.text)
        self.feed_of_events.publish(logged)
        for observe in self.observers:
            observe(event)
        self._unwritten.log([logged])
        self._something_to_write.set()

    def _answer(self, answer: Answer) -> None:
        if answer.error is None and not answer.dry:
            self._answers_due.append(answer)
            self._something_to_write.set()
        else:
            self._give(answer, answer.error)

    def _give(self, answer: Answer, error: RinglightError | None) -> None:
        future = self._answers.get(answer.request)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(answer.planned)
        else:
            future.set_exception(error)

    def _wake_at(self, when: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if when is not None:
            delay = max(0.0, when - self.now)
            self._timer = asyncio.get_running_loop().call_later(delay, self._wake, when)

    def _wake(self, when: float) -> None:
        """It is time; or not yet by the clock that decisions are made by, which need not be the event loop's."""
        if self.now < when:
            self._wake_at(when)
        else:
            self.feed(Tick())

    async def write_forever(self) -> None:
        """Write records and events as they come. Runs until cancelled; owned by the daemon.

        When nothing comes it tries the store all the same: a disk that fails in a quiet night must be told of then, and
        not with the fault that would have to be recorded.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STORE_CHECK):
                    await self._something_to_write.wait()
            even_nothing = not self._something_to_write.is_set() or bool(self.store_trouble)
            self._something_to_write.clear()
            if not await self._write_once(even_nothing=even_nothing):
                await asyncio.sleep(_STORE_RETRY)
                self._something_to_write.set()

    async def stop(self) -> None:
        """Stop the timer and write what is left. Changes no circuit."""
        if self._timer is not None:
            self._timer.cancel()
        if not await self._write_once():
            _log.error("stopped with records or events that the store never took")

    async def _write_once(self, *, even_nothing: bool = False) -> bool:
        """Write everything that waits; False when the store refused, and it all waits on."""
        batch = self._unwritten.take()
        answers, self._answers_due = self._answers_due, []
        trouble: StoreError | None = None
        try:
            if batch or even_nothing:
                await self._write(batch)
        except StoreTakenError as error:
            trouble = error
            self._unwritten.give_back(batch)
            self.feed(StoreTaken(str(error)))
        except StoreError as error:
            trouble = error
            self._unwritten.give_back(batch)
        except asyncio.CancelledError:
            # Perhaps it is written, perhaps not. Once more does no harm; never would.
            self._unwritten.give_back(batch)
            self._answers_due = answers + self._answers_due
            raise
        self._note_trouble(trouble)
        self.tally.store_errors += trouble is not None
        for answer in answers:
            self._give(answer, self._unrecorded(trouble) if trouble else None)
        return trouble is None

    async def _write(self, batch: Batch) -> None:
        try:
            await self.store.write(batch)
        except StoreDamagedError as damage:
            await self._begin_anew(damage)
            await self.store.write(batch)

    async def _begin_anew(self, damage: StoreDamagedError) -> None:
        """What the store held is lost, but not to us: have a new one hold it, and the log as far as it is in memory."""
        events, _ = self.feed_of_events.recent(0)
        try:
            kept_as = await self.store.begin_anew(Batch([everything(self.engine.state)], events))
        except StoreTakenError:
            raise
        except StoreError as error:
            raise StoreError(f"{damage}, and no new one can be begun: {error}", hint=error.hint) from error
        self.feed(StoreBegunAnew(str(damage), kept_as))

    def _note_trouble(self, trouble: StoreError | None) -> None:
        if trouble is not None and not self.store_trouble:
            _log.error("the store cannot be written, going on from memory: %s", trouble)
        if trouble is None and self.store_trouble:
            _log.warning("the store can be written again")
        self.store_trouble = str(trouble) if trouble else ""

    @staticmethod
    def _unrecorded(trouble: StoreError) -> StoreError:
        return StoreError(f"done, but not on record: {trouble}", hint=trouble.hint)
