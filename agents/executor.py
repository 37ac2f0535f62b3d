"""One command at a time: check it, switch only what differs, read back, and say what the hardware says.

What is answered was read after the change. Equal tables cause no hardware write (I5). A planned change remembers the
last confirmed table and goes back to it when nobody confirms in time: the only thing an agent ever does by itself
(I4). The memory of an unconfirmed change is not kept over a restart: a restarted agent writes nothing.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from ringlight.agents.fencing import Refusal
from ringlight.agents.ports import CircuitDriver, Readout, SwitchOutcome
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.errors import RinglightError, UnavailableError
from ringlight.fabric.inventory import Inventory
from ringlight.fabric.outcomes import WRONG, ApplyCode, BundleCode

_log = logging.getLogger(__name__)

_UNREADABLE = "the hardware does not answer when it is read"


@dataclass(frozen=True, slots=True)
class Command:
    """Bring a node to a table.

    Attributes:
        revert_after: seconds until the change is undone unless confirmed; 0 for a change that stands by itself.
    """

    node: str
    epoch: int
    generation: int
    transaction: str
    table: CircuitTable
    revert_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a command.

    Attributes:
        readout: of the hardware after it; None when it could not be read.
        switch_seconds: from the first write to the last read back.
    """

    command: Command
    code: ApplyCode
    bundles: Mapping[int, BundleCode]
    readout: Readout | None
    switch_seconds: float = 0.0
    reason: str = ""


class Executor:
    """Carries out commands on one node. Calls of `apply` and `revert` must not overlap.

    Attributes:
        unconfirmed: the planned change that still waits for its confirmation, if any.
    """

    def __init__(self, driver: CircuitDriver, inventory: Inventory, fences: FenceFile, settings: AgentSettings) -> None:
        self.unconfirmed: Command | None = None
        self._driver = driver
        self._inventory = inventory
        self._fences = fences
        self._settings = settings
        self._confirmed: CircuitTable = ()

    async def apply(self, command: Command) -> Outcome:
        """Carry out a command from the controller, or refuse it; even a refused one shows which epoch there is."""
        try:
            await self._fences.see(command.epoch)
        except UnavailableError as error:
            return self._not_tried(command, ApplyCode.FAILED, await self._try_read(), str(error))
        refusal = self._refusal(command)
        if refusal is not None:
            return await self._refused(command, refusal)
        if not self._fits(command.table):
            text = f"this node takes {len(self._inventory.bundles)} bundles, and only paths that are cabled"
            return self._not_tried(command, ApplyCode.BAD_TABLE, await self._try_read(), text)
        before = await self._try_read()
        if before is None:
            return self._unreadable(command)
        refusal = self._refusal(command)  # another controller may have been heard while we waited
        if refusal is not None:
            return await self._refused(command, refusal)
        planned = command.revert_after > 0
        if planned and self.unconfirmed is None:
            self._confirmed = before.circuits
        self.unconfirmed = command if planned else None
        self._fences.note_applied(command.node, command.generation)
        return await self._bring_to(command, command.table, before, done=ApplyCode.APPLIED)

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """The planned change is proven and stands. A confirmation of anything else means nothing."""
        pending = self.unconfirmed
        if pending is not None and pending.transaction == transaction and epoch >= self._fences.fence.epoch:
            self.unconfirmed = None

    async def revert(self) -> Outcome | None:
        """Undo the planned change that nobody confirmed; None when there is none.

        It stays unconfirmed, to be tried again, when this is cancelled or the hardware cannot be read.
        """
        pending = self.unconfirmed
        if pending is None:
            return None
        before = await self._try_read()
        if before is None:
            return self._unreadable(pending)
        outcome = await self._bring_to(pending, self._confirmed, before, done=ApplyCode.REVERTED)
        if outcome.readout is not None:
            self.unconfirmed = None
        return outcome

    def _refusal(self, command: Command) -> Refusal | None:
        return self._fences.fence.refusal(node=command.node, epoch=command.epoch, generation=command.generation)

    async def _refused(self, command: Command, refusal: Refusal) -> Outcome:
        fence = self._fences.fence
        if refusal is Refusal.STALE_EPOCH:
            reason = f"epoch {fence.epoch} was seen, {command.epoch} is not obeyed any more"
            return self._not_tried(command, ApplyCode.STALE_EPOCH, await self._try_read(), reason)
        reason = f"generation {fence.generations[command.node]} was applied before {command.generation}"
        return self._not_tried(command, ApplyCode.STALE_GENERATION, await self._try_read(), reason)

    def _not_tried(self, command: Command, code: ApplyCode, readout: Readout | None, reason: str) -> Outcome:
        return Outcome(command, code, self._all(BundleCode.NOT_TRIED), readout, reason=reason)

    def _unreadable(self, command: Command) -> Outcome:
        """Nothing is written to hardware that cannot be read: it may be as wanted already."""
        return Outcome(command, ApplyCode.FAILED, self._all(BundleCode.TIMEOUT), None, reason=_UNREADABLE)

    def _all(self, code: BundleCode) -> dict[int, BundleCode]:
        return dict.fromkeys(range(len(self._inventory.bundles)), code)

    def _fits(self, table: CircuitTable) -> bool:
        bundles = self._inventory.bundles
        return len(table) == len(bundles) and all(
            path is Path.LOOPBACK or (path.is_external and bundle.peers.get(path))
            for path, bundle in zip(table, bundles, strict=True)
        )

    async def _bring_to(self, command: Command, table: CircuitTable, before: Readout, *, done: ApplyCode) -> Outcome:
        """Switch what differs, all bundles at once, and read everything back."""
        differing = [bundle for bundle, path in enumerate(table) if before.circuits[bundle] is not path]
        if not differing:
            code = ApplyCode.UNCHANGED if done is ApplyCode.APPLIED else done
            return Outcome(command, code, self._all(BundleCode.UNCHANGED), before)
        began = self._now()
        async with asyncio.TaskGroup() as switching:
            tasks = [switching.create_task(self._switch(bundle, table[bundle])) for bundle in differing]
        outcomes = [task.result() for task in tasks]
        seconds = self._now() - began
        after = await self._try_read()
        switched = dict(zip(differing, outcomes, strict=True))
        bundles = {
            bundle: _judge(path, switched.get(bundle), after.circuits[bundle] if after else None, bundle in switched)
            for bundle, path in enumerate(table)
        }
        wrong = [f"b{bundle} {code.name.lower()}" for bundle, code in bundles.items() if code in WRONG]
        reason = f"not as told: {', '.join(wrong)}" if wrong else "" if after else _UNREADABLE
        return Outcome(command, ApplyCode.FAILED if reason else done, bundles, after, seconds, reason)

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

    async def _try_read(self) -> Readout | None:
        try:
            async with asyncio.timeout(self._settings.read_timeout):
                return await self._driver.read()
        except (TimeoutError, UnavailableError):
            return None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _judge(wanted: Path, outcome: SwitchOutcome | None, found: Path | None, tried: bool) -> BundleCode:
    """What became of a bundle, by what was read after the change; else by its own read-back."""
    if tried and found is None and outcome is not None:
        found = outcome.path
    if found is wanted:
        return BundleCode.SWITCHED if tried else BundleCode.UNCHANGED
    if tried and outcome is None:
        return BundleCode.TIMEOUT
    return BundleCode.UNCHANGED if found is None else BundleCode.STUCK
