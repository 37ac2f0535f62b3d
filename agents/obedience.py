"""What an agent does about one command, step by step: pure decisions, with the hardware and the disk left to others.

`Obedience.apply` and `.revert` are generators. They yield a request (`Remember`, `Read`, `Switch`), are sent what came
of it, and return an `Outcome`. The real agent's shell (`executor`) waits for hardware in between; a simulation lets
virtual time pass, and whatever it likes happen meanwhile.

What is answered was read after the change. Equal tables cause no hardware write (I5). A planned change remembers the
last confirmed table and goes back to it when nobody confirms in time: the only thing an agent ever does by itself
(I4). The memory of an unconfirmed change is not kept over a restart: a restarted agent writes nothing.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ringlight.agents.fencing import Fence, Refusal
from ringlight.agents.ports import Readout, SwitchOutcome
from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.inventory import Inventory
from ringlight.fabric.outcomes import WRONG, ApplyCode, BundleCode

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
        switch_seconds: from the first write until every bundle answered.
    """

    command: Command
    code: ApplyCode
    bundles: Mapping[int, BundleCode]
    readout: Readout | None
    switch_seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """Make an epoch durable. Answered by a `Remembered`."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """The epoch is durable, or why it is not."""

    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Read the whole node. Answered by a `Reading`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read; None when the hardware did not answer in time."""

    readout: Readout | None


@dataclass(frozen=True, slots=True)
class Switch:
    """Select these paths, by bundle, all at once. Answered by a `Switched`."""

    paths: Mapping[int, Path]


@dataclass(frozen=True, slots=True)
class Switched:
    """What came of each bundle, None for one that did not answer in time or would not; and how long it all took."""

    outcomes: Mapping[int, SwitchOutcome | None]
    seconds: float


Request = Remember | Read | Switch
Result = Remembered | Reading | Switched
Steps = Generator[Request, Result, Outcome]


class FenceKeeper(Protocol):
    """Who keeps the fence of an agent."""

    fence: Fence

    def note_applied(self, node: str, generation: int) -> None:
        """Remember that a generation was applied; it may become durable later."""


class Obedience:
    """How one node's commands are carried out. At most one of `apply` and `revert` may be under way.

    Attributes:
        unconfirmed: the planned change that still waits for its confirmation, if any.
    """

    def __init__(self, inventory: Inventory, fences: FenceKeeper) -> None:
        self.unconfirmed: Command | None = None
        self._inventory = inventory
        self._fences = fences
        self._confirmed: CircuitTable = ()

    def apply(self, command: Command) -> Steps:
        """Carry out a command from the controller, or refuse it; even a refused one shows which epoch there is."""
        remembered = yield Remember(command.epoch)
        if isinstance(remembered, Remembered) and remembered.trouble:
            return self._not_tried(command, ApplyCode.FAILED, (yield from _read()), remembered.trouble)
        refused = yield from self._refused(command)
        if refused is not None:
            return refused
        if not self._fits(command.table):
            text = f"this node takes {len(self._inventory.bundles)} bundles, and only paths that are cabled"
            return self._not_tried(command, ApplyCode.BAD_TABLE, (yield from _read()), text)
        before = yield from _read()
        if before is None:
            return self._unreadable(command)
        refused = yield from self._refused(command)  # another controller may have been heard while we waited
        if refused is not None:
            return refused
        planned = command.revert_after > 0
        if planned and self.unconfirmed is None:
            self._confirmed = before.circuits
        self.unconfirmed = command if planned else None
        self._fences.note_applied(command.node, command.generation)
        return (yield from self._bring_to(command, command.table, before, done=ApplyCode.APPLIED))

    def confirm(self, *, epoch: int, transaction: str) -> None:
        """The planned change is proven and stands. A confirmation of anything else means nothing."""
        pending = self.unconfirmed
        if pending is not None and pending.transaction == transaction and epoch >= self._fences.fence.epoch:
            self.unconfirmed = None

    def revert(self, pending: Command) -> Steps:
        """Undo the planned change that nobody confirmed.

        It stays unconfirmed, to be tried again, when this is broken off or the hardware cannot be read.
        """
        before = yield from _read()
        if before is None:
            return self._unreadable(pending)
        outcome = yield from self._bring_to(pending, self._confirmed, before, done=ApplyCode.REVERTED)
        if outcome.readout is not None:
            self.unconfirmed = None
        return outcome

    def _refused(self, command: Command) -> Generator[Request, Result, Outcome | None]:
        fence = self._fences.fence
        refusal = fence.refusal(node=command.node, epoch=command.epoch, generation=command.generation)
        if refusal is Refusal.STALE_EPOCH:
            reason = f"epoch {fence.epoch} was seen, {command.epoch} is not obeyed any more"
            return self._not_tried(command, ApplyCode.STALE_EPOCH, (yield from _read()), reason)
        if refusal is Refusal.STALE_GENERATION:
            reason = f"generation {fence.generations[command.node]} was applied before {command.generation}"
            return self._not_tried(command, ApplyCode.STALE_GENERATION, (yield from _read()), reason)
        return None

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

    def _bring_to(self, command: Command, table: CircuitTable, before: Readout, *, done: ApplyCode) -> Steps:
        """Switch what differs, all bundles at once, and read everything back."""
        differing = {bundle: path for bundle, path in enumerate(table) if before.circuits[bundle] is not path}
        if not differing:
            code = ApplyCode.UNCHANGED if done is ApplyCode.APPLIED else done
            return Outcome(command, code, self._all(BundleCode.UNCHANGED), before)
        switched = yield Switch(differing)
        outcomes = switched.outcomes if isinstance(switched, Switched) else {}
        seconds = switched.seconds if isinstance(switched, Switched) else 0.0
        after = yield from _read()
        bundles = {
            bundle: _judge(
                path, outcomes.get(bundle), after.circuits[bundle] if after else None, tried=bundle in differing
            )
            for bundle, path in enumerate(table)
        }
        wrong = [f"b{bundle} {code.name.lower()}" for bundle, code in bundles.items() if code in WRONG]
        reason = f"not as told: {', '.join(wrong)}" if wrong else "" if after else _UNREADABLE
        return Outcome(command, ApplyCode.FAILED if reason else done, bundles, after, seconds, reason)


def _read() -> Generator[Request, Result, Readout | None]:
    reading = yield Read()
    return reading.readout if isinstance(reading, Reading) else None


def _judge(wanted: Path, outcome: SwitchOutcome | None, found: Path | None, *, tried: bool) -> BundleCode:
    """What became of a bundle, by what was read after the change; else by its own read-back."""
    if tried and found is None and outcome is not None:
        found = outcome.path
    if found is wanted:
        return BundleCode.SWITCHED if tried else BundleCode.UNCHANGED
    if tried and outcome is None:
        return BundleCode.TIMEOUT
    return BundleCode.UNCHANGED if found is None else BundleCode.STUCK
