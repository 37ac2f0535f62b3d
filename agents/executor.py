"""One command at a time: check it, switch only what differs, read back, and say what the hardware says.

What is answered was read after the change. Equal tables cause no hardware write (I5). A planned change remembers the
last confirmed table and goes back to it when nobody confirms in time: the only thing an agent ever does by itself
(I4). The memory of an unconfirmed change is not kept over a restart: a restarted agent writes nothing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from ringlight.agents.fencing import Refusal
from ringlight.agents.ports import CircuitDriver, Readout, SwitchOutcome
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import Inventory


class ApplyCode(IntEnum):
    """What became of a command. The numbers are those of the wire protocol."""

    APPLIED = 1
    UNCHANGED = 2
    REVERTED = 3
    FAILED = 4
    STALE_EPOCH = 5
    STALE_GENERATION = 6
    UNKNOWN_NODE = 7
    BAD_TABLE = 8


class BundleCode(IntEnum):
    """What became of one bundle. The numbers are those of the wire protocol."""

    SWITCHED = 1
    UNCHANGED = 2
    STUCK = 3
    TIMEOUT = 4
    NOT_TRIED = 5


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
        switch_seconds: the slowest optical switch among the bundles.
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
        """Carry out a command from the controller.

        Raises:
            UnavailableError: the fence cannot be written, so the command must not be obeyed.
        """
        refusal = self._fences.fence.refusal(node=command.node, epoch=command.epoch, generation=command.generation)
        if refusal is not None:
            return await self._refused(command, refusal)
        if not self._fits(command.table):
            text = f"this node takes {len(self._inventory.bundles)} bundles, and only paths that are cabled"
            return Outcome(command, ApplyCode.BAD_TABLE, {}, await self._try_read(), reason=text)
        await self._fences.see(command.epoch)
        before = await self._try_read()
        if command.revert_after > 0:
            if self.unconfirmed is None and before is not None:
                self._confirmed = before.circuits
            self.unconfirmed = command
        else:
            self.unconfirmed = None
        self._fences.note_applied(command.node, command.generation)
        return await self._bring_to(command, command.table, before, done=ApplyCode.APPLIED)

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """The planned change is proven and stands. A confirmation of anything else means nothing."""
        pending = self.unconfirmed
        if pending is not None and pending.transaction == transaction and epoch >= self._fences.fence.epoch:
            self.unconfirmed = None

    async def revert(self) -> Outcome | None:
        """Undo the planned change that nobody confirmed; None when there is none."""
        pending = self.unconfirmed
        if pending is None:
            return None
        self.unconfirmed = None
        return await self._bring_to(pending, self._confirmed, await self._try_read(), done=ApplyCode.REVERTED)

    async def _refused(self, command: Command, refusal: Refusal) -> Outcome:
        fence = self._fences.fence
        if refusal is Refusal.STALE_EPOCH:
            reason = f"epoch {fence.epoch} was seen, {command.epoch} is not obeyed any more"
            return Outcome(command, ApplyCode.STALE_EPOCH, {}, await self._try_read(), reason=reason)
        reason = f"generation {fence.generations[command.node]} was applied before {command.generation}"
        return Outcome(command, ApplyCode.STALE_GENERATION, {}, await self._try_read(), reason=reason)

    def _fits(self, table: CircuitTable) -> bool:
        bundles = self._inventory.bundles
        return len(table) == len(bundles) and all(
            path is Path.LOOPBACK or path in bundle.peers for path, bundle in zip(table, bundles, strict=True)
        )

    async def _bring_to(
        self, command: Command, table: CircuitTable, before: Readout | None, *, done: ApplyCode
    ) -> Outcome:
        """Switch what differs, all bundles at once, and read everything back."""
        differing = [
            bundle for bundle, path in enumerate(table) if before is None or before.circuits[bundle] is not path
        ]
        if not differing:
            unchanged = dict.fromkeys(range(len(table)), BundleCode.UNCHANGED)
            code = ApplyCode.UNCHANGED if done is ApplyCode.APPLIED else done
            return Outcome(command, code, unchanged, before)
        outcomes = await asyncio.gather(*(self._switch(bundle, table[bundle]) for bundle in differing))
        after = await self._try_read()
        switched = dict(zip(differing, outcomes, strict=True))
        bundles = {
            bundle: _judge(path, switched.get(bundle), after.circuits[bundle] if after else None, bundle in switched)
            for bundle, path in enumerate(table)
        }
        wrong = [bundle for bundle, code in bundles.items() if code in (BundleCode.STUCK, BundleCode.TIMEOUT)]
        return Outcome(
            command,
            ApplyCode.FAILED if wrong else done,
            bundles,
            after,
            max((outcome.seconds for outcome in outcomes if outcome is not None), default=0.0),
            f"not as told: {', '.join(f'b{bundle} {bundles[bundle].name.lower()}' for bundle in wrong)}"
            if wrong
            else "",
        )

    async def _switch(self, bundle: int, path: Path) -> SwitchOutcome | None:
        """Switch one bundle; None when it did not answer in time."""
        try:
            async with asyncio.timeout(self._settings.switch_timeout):
                return await self._driver.switch(bundle, path)
        except (TimeoutError, UnavailableError):
            return None

    async def _try_read(self) -> Readout | None:
        try:
            async with asyncio.timeout(self._settings.read_timeout):
                return await self._driver.read()
        except (TimeoutError, UnavailableError):
            return None


def _judge(wanted: Path, outcome: SwitchOutcome | None, found: Path | None, tried: bool) -> BundleCode:
    """What became of a bundle, by what was read after the change."""
    if found is wanted:
        return BundleCode.SWITCHED if tried else BundleCode.UNCHANGED
    if found is None or (tried and outcome is None):
        return BundleCode.TIMEOUT
    return BundleCode.STUCK
