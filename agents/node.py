"""One served node: its hardware kept open, its state kept true, its commands carried out one after another.

Its circuits are served whether or not anything is heard about its GPUs. When the hardware does not answer any more, the
node falls silent (it is in no heartbeat) while the agent's other nodes go on; when it comes back, the agent says hello
anew. Commands that had not begun by then are forgotten. A planned change that waits for its confirmation is not: it is
undone when its time is over, or as soon after that as the hardware is back, unless that lost power meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from random import Random

from ringlight.agents.executor import Executor
from ringlight.agents.health_feed import HealthFeed
from ringlight.agents.messages import (
    applied_message,
    closed_message,
    light_message,
    measured_message,
    opened_message,
)
from ringlight.agents.obedience import Command, Outcome
from ringlight.agents.observation import Observation
from ringlight.agents.ports import (
    CircuitDriver,
    DriverEvent,
    FaultClosed,
    FaultOpened,
    GpuHealth,
    HardwareIdentity,
    HealthEvent,
    LightChanged,
    Measurement,
    OpticalPower,
)
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.agents.tally import NodeTally
from ringlight.fabric.circuits import PortKey
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.outcomes import ApplyCode
from ringlight.protos.backoff import Backoff
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.v1 import agent_pb2 as pb

_log = logging.getLogger(__name__)


class ServedNode:
    """One node of an agent.

    Attributes:
        identity: of the hardware, while it is open and was read.
        seen: what is known of it.
        answers: whether the last reading succeeded; otherwise no heartbeat speaks of it.
        feed: its GPU health, which may be away.
        tally: what is counted of it.
        tried: set once the hardware was opened, or could not be, for the first time.
    """

    def __init__(
        self,
        name: str,
        driver: CircuitDriver,
        gpus: GpuHealth,
        *,
        fences: FenceFile,
        settings: AgentSettings,
        rng: Random,
        report: Callable[[str, pb.AgentMessage], None],
        on_change: Callable[[str], None],
    ) -> None:
        self.name = name
        self.identity: HardwareIdentity | None = None
        self.seen = Observation()
        self.answers = False
        self.tally = NodeTally()
        self.tried = asyncio.Event()
        self._driver = driver
        self._gpus = gpus
        feed_backoff = Backoff(rng, first=settings.backoff_first, cap=settings.backoff_cap)
        self.feed = HealthFeed(name, gpus, settings, feed_backoff, self._notice)
        self._fences = fences
        self._settings = settings
        self._backoff = Backoff(rng, first=settings.backoff_first, cap=settings.backoff_cap)
        self._report = report
        self._on_change = on_change
        self._lost = asyncio.Event()
        self._opened_at = 0.0
        self._executor: Executor | None = None
        self._executor_for: HardwareIdentity | None = None
        self._command: Command | None = None
        self._question: int | None = None
        self._work = asyncio.Event()
        self._fence_grew = asyncio.Event()
        self._busy = asyncio.Lock()
        self._revert_timer: asyncio.TimerHandle | None = None
        self._revert_due = False

    @property
    def unconfirmed(self) -> str:
        """The transaction that still waits for its confirmation here, or an empty string."""
        pending = self._executor.unconfirmed if self._executor else None
        return pending.transaction if pending else ""

    def measurements(self) -> list[Measurement]:
        """What was last measured of its hardware and GPUs. Touches neither."""
        return [*self._driver.measurements(), *self._gpus.measurements()]

    # -- hardware ----------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Keep the hardware open and carry out commands, until cancelled. Changes nothing by opening or closing."""
        await until_first_ends(self._keep_hardware(), self.feed.run())

    async def _keep_hardware(self) -> None:
        try:
            while True:
                try:
                    executor = await self._open()
                    await until_first_ends(
                        self._until_lost(),
                        self._follow_driver(),
                        self._carry_out(executor),
                        self._keep_fence(),
                    )
                except UnavailableError as error:
                    _log.warning("node %s: %s", self.name, error)
                finally:
                    await self._close()
                self.tried.set()
                await asyncio.sleep(self._backoff.next())
        finally:
            self._disarm()

    async def _open(self) -> Executor:
        try:
            async with asyncio.timeout(self._settings.open_timeout):
                identity = await self._driver.open()
        except TimeoutError:
            raise self._no_answer() from None
        await self.feed.settle()
        executor = self._executor
        if executor is None or identity != self._executor_for:
            # Other hardware, or the same after it lost power: there is no change to go back from.
            self._disarm()
            self._executor = executor = Executor(self._driver, identity.inventory, self._fences, self._settings)
            self._executor_for = identity
        self.seen = Observation()
        self._lost.clear()
        async with self._busy:
            await self._read(within=self._settings.read_timeout, gpus=True)
        self.identity = identity
        self.tally.openings += 1
        self._opened_at = asyncio.get_running_loop().time()
        if self._revert_due:
            self._work.set()
        self.tried.set()
        self._on_change(self.name)
        return executor

    async def _close(self) -> None:
        lasted = asyncio.get_running_loop().time() - self._opened_at
        if self.identity is not None and lasted > self._settings.backoff_cap:
            self._backoff.reset()  # not for hardware that comes and goes: each return costs a hello of all nodes
        self._lose()
        self.forget_command()
        try:
            async with asyncio.timeout(self._settings.open_timeout):
                await self._driver.close()
        except (TimeoutError, UnavailableError):
            _log.warning("node %s: its hardware did not answer while it was closed", self.name)

    def _lose(self) -> None:
        """The hardware does not answer: say so at once; `serve` closes it and tries again."""
        was_open, self.identity = self.identity is not None, None
        self.answers = False
        self._lost.set()
        if was_open:
            self.tally.losses += 1
            self._on_change(self.name)

    async def _until_lost(self) -> None:
        await self._lost.wait()
        raise self._no_answer()

    async def refresh(self, *, within: float) -> None:
        """Read the bundles now, in this many seconds; not while a command is under way, which reads back by itself.

        Raises:
            UnavailableError: the hardware does not answer so soon, and is in no heartbeat until it does.
        """
        if not self._busy.locked():
            async with self._busy:
                await self._read(within=min(within, self._settings.read_timeout), gpus=False)

    async def refresh_all(self) -> None:
        """Read GPUs and bundles now, the bundles after the command under way. GPUs that do not answer are no obstacle.

        Raises:
            UnavailableError: the hardware does not answer; it is closed and opened again.
        """
        await self.feed.refresh()  # before `_busy` is taken: no command waits for GPUs
        try:
            # A command reads twice and switches once; after that the bundles are read.
            async with asyncio.timeout(3 * self._settings.read_timeout + self._settings.switch_timeout):
                async with self._busy:
                    await self._read(within=self._settings.read_timeout, gpus=True)
        except TimeoutError:
            self._lose()
            raise self._no_answer() from None
        except UnavailableError:
            self._lose()
            raise

    async def _read(self, *, within: float, gpus: bool) -> None:
        self.seen.begin_reading()
        try:
            async with asyncio.timeout(within):
                readout = await self._driver.read()
        except TimeoutError:
            self.answers = False
            raise self._no_answer() from None
        except UnavailableError:
            self.answers = False
            raise
        self.answers = True
        differing = self.seen.take(readout, self.feed.faults if gpus else None)
        for port in differing if self.identity is not None else ():  # what is found while opening is in the hello
            self._report(self.name, light_message(self.name, port, lit=self.seen.light[port]))

    def _no_answer(self) -> UnavailableError:
        return UnavailableError(f"the hardware of {self.name} does not answer", hint="check its driver")

    async def _follow_driver(self) -> None:
        async for event in self._driver.events():
            self._notice(event)

    def _notice(self, event: DriverEvent | HealthEvent) -> None:
        if not self.seen.notice(event) or self.identity is None:  # what is found while opening is in the hello
            return
        match event:
            case LightChanged():
                self._report(self.name, light_message(self.name, event.port, lit=event.lit))
            case FaultOpened():
                self._report(self.name, opened_message(self.name, event.fault))
            case FaultClosed():
                self._report(self.name, closed_message(self.name, event.fault_id))

    # -- commands ----------------------------------------------------------------------------------------------------

    def command(self, command: Command) -> None:
        """Carry out a command as soon as the one under way is done. A later one replaces it if it has not begun."""
        self._command = command
        self._work.set()

    def forget_command(self) -> None:
        """Leave out what was not begun: it came on a session that is over, and the hello must be true."""
        self._command = self._question = None

    def measure(self, question: int) -> None:
        """Read and measure as soon as the command under way is done. A later question replaces one not begun."""
        self._question = question
        self._work.set()

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """A planned change is proven."""
        if self._executor is not None:
            self._executor.confirm(epoch=epoch, transaction=transaction)

    async def _carry_out(self, executor: Executor) -> None:
        """Commands, reverts and measurements, one at a time."""
        while True:
            await self._work.wait()
            self._work.clear()
            command, self._command = self._command, None
            if command is not None:
                await self._apply(command, executor)
            if self._revert_due:  # still, if the command did not supersede the change that waits
                await self._revert(executor)
            question, self._question = self._question, None
            if question is not None:
                await self._measure(question)

    async def _measure(self, question: int) -> None:
        """Answer with what is read and measured from now on, and with less where hardware does not answer in time."""
        powers: Mapping[PortKey, OpticalPower] = {}
        reason = ""
        async with self._busy:
            try:
                async with asyncio.timeout(self._settings.measure_timeout):
                    powers = await self._driver.powers()
            except (TimeoutError, UnavailableError) as error:
                reason = f"the light of {self.name} could not be measured: {str(error) or 'no answer in time'}"
            try:
                await self._read(within=self._settings.read_timeout, gpus=False)
            except UnavailableError as error:
                reason = str(error)
            seen = self.seen if self.answers else Observation()
            message = measured_message(
                self.name, question, circuits=seen.circuits, light=seen.light, powers=powers, reason=reason
            )
            self._report(self.name, message)

    async def _apply(self, command: Command, executor: Executor) -> None:
        async with self._busy:
            self.seen.begin_reading()
            try:
                self._answer(await executor.apply(command))
            finally:
                self._arm(command, executor)
        self._fence_grew.set()

    async def _revert(self, executor: Executor) -> None:
        async with self._busy:
            self.seen.begin_reading()
            outcome = await executor.revert()
            self._revert_due = False
            if outcome is not None:
                self._answer(outcome)
            if executor.unconfirmed is not None:  # the hardware could not be read
                self._revert_in(self._settings.backoff_cap)

    async def _keep_fence(self) -> None:
        """Write the fence after commands, off their path."""
        while True:
            await self._fence_grew.wait()
            await asyncio.sleep(self._settings.fence_interval)
            self._fence_grew.clear()
            try:
                await self._fences.save()
            except UnavailableError as error:
                _log.warning("node %s: %s (tried again after the next command)", self.name, error)

    def _arm(self, command: Command, executor: Executor) -> None:
        """Time a change that must be confirmed. One that was refused leaves the time of a former one running."""
        if executor.unconfirmed is None:
            self._disarm()
        elif executor.unconfirmed is command:
            self._revert_in(command.revert_after)

    def _disarm(self) -> None:
        self._revert_due = False
        if self._revert_timer is not None:
            self._revert_timer.cancel()
            self._revert_timer = None

    def _revert_in(self, seconds: float) -> None:
        self._disarm()
        self._revert_timer = asyncio.get_running_loop().call_later(seconds, self._time_is_over)

    def _time_is_over(self) -> None:
        self._revert_due = True
        self._work.set()

    def _answer(self, outcome: Outcome) -> None:
        self.tally.commands[outcome.code] += 1
        if outcome.switch_seconds > 0:
            self.tally.switches.note(outcome.switch_seconds)
        self.answers = outcome.readout is not None
        if outcome.readout is not None:
            self.seen.take(outcome.readout)
        if outcome.code in (ApplyCode.REVERTED, ApplyCode.FAILED):
            _log.warning("node %s: %s %s", self.name, outcome.command.transaction, outcome.reason or outcome.code.name)
        message = applied_message(outcome, self.seen.circuits, self.seen.light, self._fences.fence.epoch)
        self._report(self.name, message)
