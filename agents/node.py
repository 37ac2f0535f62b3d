"""One served node: its hardware kept open, its state kept true, its commands carried out one after another.

The state is what was read, brought up to date by what the hardware reports in between. When the hardware goes away
the node falls silent (it is in no heartbeat) while the agent's other nodes go on; when it comes back, the agent says
hello anew.
"""

import asyncio
import logging
from collections.abc import Callable
from random import Random

from ringlight.agents.backoff import Backoff
from ringlight.agents.executor import ApplyCode, Command, Executor, Outcome
from ringlight.agents.messages import applied_message, closed_message, light_message, opened_message
from ringlight.agents.ports import (
    CircuitDriver,
    DriverEvent,
    FaultClosed,
    FaultOpened,
    GpuHealth,
    HardwareIdentity,
    HealthEvent,
    LightChanged,
    Readout,
)
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import CircuitTable, Fault, PortKey
from ringlight.fabric.errors import InvalidError, UnavailableError
from ringlight.protos.conversation import until_first_ends
from ringlight.protos.v1 import agent_pb2 as pb

_log = logging.getLogger(__name__)


class ServedNode:
    """One node of an agent.

    Attributes:
        identity: of the hardware, while it is open.
        circuits: as last read.
        light: by port, as last read or reported.
        faults: open faults by id, of modules and GPUs.
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
        report: Callable[[pb.AgentMessage], None],
        on_return: Callable[[], None],
    ) -> None:
        self.name = name
        self.identity: HardwareIdentity | None = None
        self.circuits: CircuitTable = ()
        self.light: dict[PortKey, bool] = {}
        self.faults: dict[str, Fault] = {}
        self.tried = asyncio.Event()
        self._driver = driver
        self._gpus = gpus
        self._fences = fences
        self._settings = settings
        self._backoff = Backoff(rng, first=settings.backoff_first, cap=settings.backoff_cap)
        self._report = report
        self._on_return = on_return
        self._executor: Executor | None = None
        self._command: Command | None = None
        self._work = asyncio.Event()
        self._fence_grew = asyncio.Event()
        self._busy = asyncio.Lock()
        self._light_news: dict[PortKey, int] = {}
        self._revert_timer: asyncio.TimerHandle | None = None

    @property
    def unconfirmed(self) -> str:
        """The transaction that still waits for its confirmation here, or an empty string."""
        pending = self._executor.unconfirmed if self._executor else None
        return pending.transaction if pending else ""

    # -- hardware ----------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Keep the hardware open and carry out commands, until cancelled. Changes nothing by opening or closing."""
        while True:
            try:
                await self._open()
                self._backoff.reset()
                await until_first_ends(
                    self._follow_driver(), self._follow_gpus(), self._carry_out(), self._keep_fence()
                )
            except UnavailableError as error:
                _log.warning("node %s: %s", self.name, error)
            finally:
                await self._close()
            self.tried.set()
            await asyncio.sleep(self._backoff.next())

    async def _open(self) -> None:
        identity = await self._driver.open()
        await self._gpus.open()
        self.identity = identity
        self._executor = Executor(self._driver, identity.inventory, self._fences, self._settings)
        await self.refresh(gpus=True)
        first_time = not self.tried.is_set()
        self.tried.set()
        if not first_time:
            self._on_return()

    async def _close(self) -> None:
        self.identity = None
        self._executor = None
        if self._revert_timer is not None:
            self._revert_timer.cancel()
        await self._driver.close()
        await self._gpus.close()

    async def refresh(self, *, gpus: bool = False) -> None:
        """Read the bundles now, and the GPUs too if asked for.

        Raises:
            UnavailableError: the hardware does not answer.
        """
        if self._busy.locked():
            return  # a command is being carried out, and reads back by itself
        async with self._busy:
            news = dict(self._light_news)
            try:
                async with asyncio.timeout(self._settings.read_timeout):
                    readout = await self._driver.read()
                    gpu_faults = await self._gpus.read() if gpus else None
            except TimeoutError:
                raise UnavailableError(
                    f"the hardware of {self.name} does not answer", hint="check its driver"
                ) from None
            former = dict(self.light)
            self._take(readout, news)
            for port in sorted(port for port, lit in self.light.items() if former.get(port) != lit):
                self._report(light_message(self.name, port, lit=self.light[port]))
            if gpu_faults is not None:
                self.faults = {fault.id: fault for fault in (*readout.faults, *gpu_faults)}

    def _take(self, readout: Readout, news: dict[PortKey, int]) -> None:
        """Take over a reading. Where light changed while it was under way, the later news stands."""
        self.circuits = readout.circuits
        for port, lit in readout.light.items():
            if self._light_news.get(port, 0) == news.get(port, 0):
                self.light[port] = lit

    async def _follow_driver(self) -> None:
        async for event in self._driver.events():
            self._notice(event)

    async def _follow_gpus(self) -> None:
        async for event in self._gpus.events():
            self._notice(event)

    def _notice(self, event: DriverEvent | HealthEvent) -> None:
        match event:
            case LightChanged():
                self._light_news[event.port] = self._light_news.get(event.port, 0) + 1
                if self.light.get(event.port) != event.lit:
                    self.light[event.port] = event.lit
                    self._report(light_message(self.name, event.port, lit=event.lit))
            case FaultOpened():
                self.faults[event.fault.id] = event.fault
                self._report(opened_message(self.name, event.fault))
            case FaultClosed():
                self.faults.pop(event.fault_id, None)
                self._report(closed_message(self.name, event.fault_id))

    # -- commands ----------------------------------------------------------------------------------------------------

    def command(self, command: Command) -> None:
        """Carry out a command as soon as the one under way is done. A later one replaces it if it has not begun."""
        self._command = command
        self._work.set()

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """A planned change is proven."""
        if self._executor is not None:
            self._executor.confirm(epoch=epoch, transaction=transaction)

    async def _carry_out(self) -> None:
        """Commands and reverts, one at a time."""
        executor = self._executor
        if executor is None:
            raise InvalidError("commands are carried out while the hardware is open")
        while True:
            await self._work.wait()
            self._work.clear()
            command, self._command = self._command, None
            async with self._busy:
                news = dict(self._light_news)
                if command is not None:
                    outcome: Outcome | None = await executor.apply(command)
                    self._arm(command, executor)
                else:
                    outcome = await executor.revert()
                if outcome is not None:
                    self._answer(outcome, news)
            self._fence_grew.set()

    async def _keep_fence(self) -> None:
        """Write the fence after commands, off their path."""
        while True:
            await self._fence_grew.wait()
            self._fence_grew.clear()
            try:
                await self._fences.save()
            except UnavailableError as error:
                _log.warning("node %s: %s (tried again after the next command)", self.name, error)

    def _arm(self, command: Command, executor: Executor) -> None:
        """Set the timer of a change that must be confirmed; stop that of one that is superseded."""
        if self._revert_timer is not None:
            self._revert_timer.cancel()
            self._revert_timer = None
        if executor.unconfirmed is command:
            loop = asyncio.get_running_loop()
            self._revert_timer = loop.call_later(command.revert_after, self._work.set)

    def _answer(self, outcome: Outcome, news: dict[PortKey, int]) -> None:
        if outcome.readout is not None:
            self._take(outcome.readout, news)
        if outcome.code in (ApplyCode.REVERTED, ApplyCode.FAILED):
            _log.warning("node %s: %s %s", self.name, outcome.command.transaction, outcome.reason or outcome.code.name)
        self._report(applied_message(outcome, self.circuits, self.light, self._fences.fence.epoch))
