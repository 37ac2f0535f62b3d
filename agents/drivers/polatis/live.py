"""A switch while it is connected: one worker talks to it, for all nodes at once.

Whoever wants to read or to select waits for the worker. Everybody who waits when it begins a round is served by that
round: all selections go out as one command, all readings are one reading. So eight nodes cost no more than one, and
what is answered was read after it was asked for.

A connection dies once. Then everybody who waits on it gets `UnavailableError`, and it is never mended; `shared` makes
a new one.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ringlight.agents.drivers.event_stream import EventStream
from ringlight.agents.drivers.polatis.dialogue import boot_mode, look, move
from ringlight.agents.drivers.polatis.messages import PortState
from ringlight.agents.drivers.polatis.patch import Patch, Place, place_name
from ringlight.agents.drivers.polatis.readings import Reading, changes, readout_of
from ringlight.agents.drivers.polatis.selection import plan_moves, selected
from ringlight.agents.drivers.polatis.tally import Tally
from ringlight.agents.drivers.polatis.wire import Wire
from ringlight.agents.ports import Readout, SwitchOutcome
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import UnavailableError

_log = logging.getLogger(__name__)

PATIENCE = 0.3
"""Seconds to wait for a neighbour to let go of its receiver: it was told at the same time, over other ways. Shorter
than what the agent gives a bundle to switch, so that it learns why."""

GATHER = 0.005
"""Seconds without a further selection after which a move is begun. A move costs some fifty milliseconds, and those who
come during it wait for another one; the nodes of an agent are told one after another."""

MOST_GATHER = 0.02
"""Seconds after which it is begun anyhow."""

RECHECK = 0.03
"""Seconds between readings while somebody waits for a neighbour that another agent may move."""

BOOT_MODE_EVERY = 5.0
"""Seconds between questions for the boot mode, which only a person changes."""

_MOST_TRIES = 2  # of a selection that the switch does not carry out


@dataclass(frozen=True, slots=True)
class Terms:
    """How a switch is watched.

    Attributes:
        poll: seconds between readings that nobody asked for.
        light_above: dBm that count as light; None judges light by cross-connects.
    """

    poll: float
    light_above: float | None


@dataclass(slots=True)
class _Wish:
    """A selection that is asked for."""

    path: Path
    answer: "asyncio.Future[SwitchOutcome]"
    until: float
    tries: int = 0
    seconds: float = 0.0
    why_taken: str = ""
    why_barred: str = ""


class LiveSwitch:
    """One live connection.

    Attributes:
        reading: the newest.
    """

    def __init__(self, wire: Wire, patch: Patch, terms: Terms, tally: Tally, first: Reading) -> None:
        self.reading = first
        self._wire = wire
        self._patch = patch
        self._terms = terms
        self._tally = tally
        self._readers: list[asyncio.Future[Reading]] = []
        self._wishes: dict[Place, _Wish] = {}
        self._taken: dict[Place, str] = {}
        self._streams: dict[EventStream, tuple[str, Readout]] = {}
        self._asked = asyncio.Event()
        self._hurry = False  # a selection was asked for since the last round
        self._lost: str | None = None
        self._poll_at = self._now() + terms.poll
        self._boot_mode_at = self._now() + BOOT_MODE_EVERY
        self._worker = asyncio.get_running_loop().create_task(self._work(), name=f"switch {wire.name}")

    @property
    def alive(self) -> bool:
        """Whether the switch can still be asked."""
        return self._lost is None

    # -- for drivers -------------------------------------------------------------------------------------------------

    async def read(self) -> Reading:
        """Read the switch now.

        Raises:
            UnavailableError: it does not answer.
        """
        self._must_live()
        answer: asyncio.Future[Reading] = asyncio.get_running_loop().create_future()
        self._readers.append(answer)
        self._asked.set()
        return await answer

    async def select(self, place: Place, path: Path) -> SwitchOutcome:
        """Let a bundle select a path, as far as that takes nothing from others, and tell what it selects then.

        Whoever stops waiting takes the wish back, unless it was sent to the switch already.

        Raises:
            UnavailableError: the switch does not answer; nothing is known of what it did.
        """
        self._must_live()
        former = self._wishes.get(place)
        if former is not None and not former.answer.done():
            former.answer.set_exception(UnavailableError(f"{place_name(place)} was told something else meanwhile"))
        answer: asyncio.Future[SwitchOutcome] = asyncio.get_running_loop().create_future()
        self._wishes[place] = _Wish(path, answer, self._now() + PATIENCE)
        self._taken.pop(place, None)
        self._hurry = True
        self._asked.set()
        return await answer

    def readout(self, node: str, reading: Reading) -> Readout:
        """What a reading says about a node."""
        return readout_of(self._patch, node, reading, light_above=self._terms.light_above)

    def follow(self, node: str) -> EventStream:
        """Hear of everything that happens to a node from now on."""
        stream = EventStream()
        self._streams[stream] = (node, self.readout(node, self.reading))
        if self._lost is not None:
            stream.end(self._lost)
        return stream

    def unfollow(self, stream: EventStream) -> None:
        """Hear of nothing more."""
        node, _ = self._streams.pop(stream)
        stream.end(f"the switch of {node} was let go")

    async def close(self) -> None:
        """Let go. Every cross-connect stays."""
        self._lose(f"switch {self._wire.name} was let go")
        self._worker.cancel()
        try:
            await asyncio.wait([self._worker])
        finally:
            await self._wire.close()
        if not self._worker.cancelled() and (error := self._worker.exception()) is not None:
            _log.error("switch %s: its worker failed", self._wire.name, exc_info=error)

    # -- the worker --------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        reason = f"the connection to switch {self._wire.name} ended"
        try:
            while True:
                await self._until_due()
                await self._round()
        except UnavailableError as error:
            reason = str(error)
        finally:
            self._lose(reason)

    async def _until_due(self) -> None:
        """Wait until somebody asks, or it is time to look."""
        if not (self._readers or self._hurry):
            pause = RECHECK if self._wishes else max(0.0, self._poll_at - self._now())
            try:
                async with asyncio.timeout(pause):
                    await self._asked.wait()
            except TimeoutError:
                pass
        self._asked.clear()

    async def _round(self) -> None:
        """Move what is to be moved, read everything, and let everybody know."""
        if self._hurry:
            await self._gather()
        self._wishes = {place: wish for place, wish in self._wishes.items() if not wish.answer.done()}
        begun = dict(self._wishes)
        if begun:
            await self._move(begun)
        await self._tell(begun)

    async def _gather(self) -> None:
        """Let everybody come who is told something now. Agents read first: who reads may be about to select."""
        until = self._now() + MOST_GATHER
        known = -1
        while (self._readers or len(self._wishes) > known) and self._now() < until:
            known = len(self._wishes)
            if self._readers:
                await self._tell({})
            await asyncio.sleep(GATHER)
        self._hurry = False

    async def _tell(self, begun: Mapping[Place, _Wish]) -> None:
        """Read everything, and let everybody know who waits for it now: for a move, for a reading, for events."""
        readers = len(self._readers)
        reading = await self._look()
        self._settle(begun, reading)
        self.reading = reading = replace(reading, taken=dict(self._taken))
        self._poll_at = self._now() + self._terms.poll
        self._publish(reading)
        for reader in self._readers[:readers]:
            if not reader.done():
                reader.set_result(reading)
        del self._readers[:readers]

    async def _look(self) -> Reading:
        mode = self.reading.boot_mode
        if self._now() >= self._boot_mode_at and not self._wishes:
            mode = await boot_mode(self._wire)
            self._boot_mode_at = self._now() + BOOT_MODE_EVERY
        return await look(self._wire, self._patch, monitors=self._terms.light_above is not None, boot_mode=mode)

    async def _move(self, wishes: Mapping[Place, _Wish]) -> None:
        """Send everything that can be done now as one command, by what the switch is like at this moment."""
        found = await look(self._wire, self._patch, monitors=False, boot_mode="")
        unusable = {port for port, state in found.states.items() if state is not PortState.ENABLED}
        wanted = {place: wish.path for place, wish in wishes.items()}
        moves = plan_moves(self._patch, found.connections, wanted, unusable=unusable)
        began = self._now()
        for error in await move(self._wire, moves) if moves else ():
            self._tally.errors += 1
            _log.warning("switch %s: %s", self._wire.name, error)
        for place, wish in wishes.items():
            wish.why_taken, wish.why_barred = moves.taken.get(place, ""), moves.barred.get(place, "")
            if not (wish.why_taken or wish.why_barred):
                wish.tries += 1
                wish.seconds = self._now() - began
        if moves:
            text = "switch %s: disconnected %s, connected %s"
            _log.info(text, self._wire.name, dict(moves.disconnect), dict(moves.connect))

    def _settle(self, wishes: Mapping[Place, _Wish], reading: Reading) -> None:
        """Answer those whose bundle selects what it should, and those who have waited or tried enough."""
        for place, wish in wishes.items():
            path = selected(self._patch, place, reading.connections)
            if path is not wish.path and self._goes_on(wish):
                continue
            if path is wish.path:
                self._tally.moves[place[0]] += 1
                self._tally.move_seconds[place[0]] = wish.seconds
            else:
                self._refuse(place, wish, path)
            if self._wishes.get(place) is wish:
                del self._wishes[place]
            if not wish.answer.done():
                wish.answer.set_result(SwitchOutcome(path, wish.seconds))

    def _goes_on(self, wish: _Wish) -> bool:
        """Whether there is hope in another round."""
        if wish.why_barred:
            return False
        return self._now() < wish.until if wish.why_taken else wish.tries < _MOST_TRIES

    def _refuse(self, place: Place, wish: _Wish, path: Path) -> None:
        self._tally.refused[place[0]] += 1
        if wish.why_taken:
            self._taken[place] = wish.why_taken
        why = wish.why_barred or wish.why_taken or "the switch does not do it"
        text = "%s was told to select %s and selects %s: %s"
        _log.warning(text, place_name(place), wish.path.name, path.name, why)

    def _publish(self, reading: Reading) -> None:
        for stream, (node, before) in self._streams.items():
            after = self.readout(node, reading)
            stream.put(changes(before, after))
            self._streams[stream] = (node, after)

    def _lose(self, reason: str) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        for reader in self._readers:
            if not reader.done():
                reader.set_exception(UnavailableError(reason))
        for wish in self._wishes.values():
            if not wish.answer.done():
                wish.answer.set_exception(UnavailableError(reason))
        for stream in self._streams:
            stream.end(reason)

    def _must_live(self) -> None:
        if self._lost is not None:
            raise UnavailableError(self._lost)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
