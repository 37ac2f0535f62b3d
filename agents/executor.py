"""Carries out the commands of one node: the steps of `obedience`, on real hardware and with time limits.

The memory of whom was obeyed is on disk before anything is switched. What does not answer in time is not waited for.
"""

import asyncio
import logging
from collections.abc import Mapping

from ringlight.agents.obedience import (
    Command,
    Obedience,
    Outcome,
    Read,
    Reading,
    Remember,
    Remembered,
    Request,
    Result,
    Steps,
    Switch,
    Switched,
)
from ringlight.agents.ports import CircuitDriver, Readout, SwitchOutcome
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import RinglightError, UnavailableError
from ringlight.fabric.inventory import Inventory

_log = logging.getLogger(__name__)


class Executor:
    """Carries out commands on one node. Calls of `apply` and `revert` must not overlap."""

    def __init__(self, driver: CircuitDriver, inventory: Inventory, fences: FenceFile, settings: AgentSettings) -> None:
        self._obedience = Obedience(inventory, fences)
        self._driver = driver
        self._fences = fences
        self._settings = settings

    @property
    def unconfirmed(self) -> Command | None:
        """The planned change that still waits for its confirmation, if any."""
        return self._obedience.unconfirmed

    async def apply(self, command: Command) -> Outcome:
        """Carry out a command from the controller, or refuse it."""
        return await self._carry_out(self._obedience.apply(command))

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """The planned change is proven and stands. A confirmation of anything else means nothing."""
        self._obedience.confirm(epoch=epoch, transaction=transaction)

    async def revert(self) -> Outcome | None:
        """Undo the planned change that nobody confirmed; None when there is none.

        It stays unconfirmed, to be tried again, when this is cancelled or the hardware cannot be read.
        """
        pending = self._obedience.unconfirmed
        return None if pending is None else await self._carry_out(self._obedience.revert(pending))

    async def _carry_out(self, steps: Steps) -> Outcome:
        try:
            request = next(steps)
            while True:
                request = steps.send(await self._perform(request))
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        finally:
            steps.close()

    async def _perform(self, request: Request) -> Result:
        match request:
            case Remember():
                return await self._remember(request.epoch)
            case Read():
                return Reading(await self._read())
            case Switch():
                return await self._switch_all(request.paths)

    async def _remember(self, epoch: int) -> Remembered:
        try:
            await self._fences.see(epoch)
        except UnavailableError as error:
            return Remembered(str(error))
        return Remembered()

    async def _switch_all(self, paths: Mapping[int, Path]) -> Switched:
        began = self._now()
        async with asyncio.TaskGroup() as switching:
            tasks = {bundle: switching.create_task(self._switch(bundle, path)) for bundle, path in paths.items()}
        return Switched({bundle: task.result() for bundle, task in tasks.items()}, self._now() - began)

    async def _switch(self, bundle: int, path: Path) -> SwitchOutcome | None:
        """Switch one bundle; None when it did not answer in time, or would not."""
        try:
            async with asyncio.timeout(self._settings.switch_timeout):
                return await self._driver.switch(bundle, path)
        except TimeoutError:
            _log.warning("bundle %d did not answer within %g s", bundle, self._settings.switch_timeout)
        except RinglightError as error:
            _log.warning("bundle %d: %s", bundle, error)
        return None

    async def _read(self) -> Readout | None:
        try:
            async with asyncio.timeout(self._settings.read_timeout):
                return await self._driver.read()
        except (TimeoutError, UnavailableError):
            return None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
