"""One audit, round by round: who is told to select what, whom that was asked of, and who is out.

A round has three steps. Tables are *laid*: told to every node whose table changes, and awaited. Then light has a
moment to *settle*. Then every node is *asked* where light is, so that what it says was read after all had switched. A
node that does not answer in time, or that something else needs, leaves the audit; the others go on. Ports of a node
that left may or may not be selected from then on, and no conclusion is drawn from them.

Pure: steps come out, answers go in, and `deadline` says when `tick` has something to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ringlight.controller.audit.evidence import Evidence
from ringlight.controller.audit.findings import Report, report
from ringlight.controller.audit.rounds import plan_rounds
from ringlight.fabric.circuits import CircuitTable, OpticalPower, PortKey
from ringlight.fabric.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the steps of a round may take, in seconds.

    Attributes:
        answer: a node may take to switch and to say so.
        settle: light may take to show after everybody switched.
        look: a node may take to say where light is.
        told_node: more for each, for every node that is told or asked at the same time.
    """

    answer: float
    settle: float
    look: float
    told_node: float


@dataclass(frozen=True, slots=True)
class Lay:
    """Bring these nodes to these tables, by position."""

    tables: Mapping[int, CircuitTable]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask these nodes what they select, where light is, and how much."""

    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What a node said when it was asked."""

    circuits: CircuitTable
    light: Mapping[PortKey, bool]
    powers: Mapping[PortKey, OpticalPower]


Step = Lay | Ask


class _Stage(Enum):
    BEFORE = auto()
    LAYING = auto()
    SETTLING = auto()
    ASKING = auto()
    OVER = auto()


class Audit:
    """The audit of some nodes of a fabric.

    Attributes:
        members: positions of the nodes that are in it still.
        left: why others are not any more, by position.
        rounds: how many there are.
        done: how many are over.
        deadline: when `tick` is due (monotonic seconds); None before it begins and when it is over.
    """

    def __init__(self, wiring: Wiring, members: Sequence[int], pace: Pace) -> None:
        self.members = set(members)
        self.left: dict[int, str] = {}
        self.done = 0
        self.deadline: float | None = None
        self._wiring = wiring
        self._pace = pace
        self._tables = plan_rounds(wiring, sorted(members))
        self._evidence = Evidence([port for position in members for port in wiring.ports(position)])
        self._stage = _Stage.BEFORE
        self._laid: dict[int, CircuitTable] = dict.fromkeys(members, wiring.loopback)
        self._waiting: set[int] = set()
        self._looks: dict[int, Look] = {}
        self._steps: list[Step] = []

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self._tables)

    @property
    def is_over(self) -> bool:
        """Every round is over, or nobody is left."""
        return self._stage is _Stage.OVER

    @property
    def waiting(self) -> frozenset[int]:
        """The nodes whose answer the present step waits for."""
        return frozenset(self._waiting)

    def wanted(self, position: int) -> CircuitTable:
        """What a node is to select at present."""
        return self._laid.get(position, self._wiring.loopback)

    def begin(self, now: float) -> list[Step]:
        """Begin with the first round."""
        if self._stage is _Stage.BEFORE:
            self._lay(now)
        return self._take_steps()

    def answered(self, position: int, now: float) -> list[Step]:
        """A node was read as it was told to be."""
        if self._stage is _Stage.LAYING:
            self._waiting.discard(position)
            self._go_on(now)
        return self._take_steps()

    def seen(self, position: int, look: Look, now: float) -> list[Step]:
        """A node said where light is; one that selects something else than it was told is out."""
        if self._stage is not _Stage.ASKING or position not in self._waiting:
            return []
        if look.circuits != self._laid[position]:
            why = "it does not select what it was told" if look.circuits else "it cannot be read"
            return self.leave({position: why}, now)
        self._looks[position] = look
        self._waiting.discard(position)
        self._go_on(now)
        return self._take_steps()

    def leave(self, leaving: Mapping[int, str], now: float) -> list[Step]:
        """Nodes are in the audit no more, and why. All at once: the next step must be for nobody who leaves."""
        here = [position for position in sorted(leaving) if position in self.members]
        if here and not self.is_over:
            for position in here:
                self._drop(position, leaving[position])
            self._go_on(now)
        return self._take_steps()

    def tick(self, now: float) -> list[Step]:
        """Time passed: whoever did not answer is out, and light that should have come by now has."""
        if self.deadline is None or now < self.deadline:
            return []
        if self._stage is _Stage.SETTLING:
            self._ask(now)
        else:
            why = (
                "it did not switch in time" if self._stage is _Stage.LAYING else "it did not say in time where light is"
            )
            for position in sorted(self._waiting):
                self._drop(position, why)
            self._go_on(now)
        return self._take_steps()

    def report(self, highest_loss: float) -> Report:
        """What was found; only an audit whose rounds are all over has seen everything."""
        audited = [port for position in self.members for port in self._wiring.ports(position)]
        return report(self._wiring, self._evidence, audited, highest_loss)

    def _take_steps(self) -> list[Step]:
        steps, self._steps = self._steps, []
        return steps

    def _drop(self, position: int, why: str) -> None:
        self.members.discard(position)
        self.left[position] = why
        self._waiting.discard(position)
        self._laid.pop(position, None)
        self._looks.pop(position, None)

    def _go_on(self, now: float) -> None:
        """Take the next step, if nobody is waited for."""
        if not self.members:
            self._end()
        if self._waiting:
            return
        if self._stage is _Stage.LAYING:
            self._stage = _Stage.SETTLING
            self.deadline = now + self._pace.settle
        elif self._stage is _Stage.ASKING:
            self._conclude()
            self._lay(now)

    def _lay(self, now: float) -> None:
        if self.done == len(self._tables) or not self.members:
            self._end()
            return
        tables = self._tables[self.done]
        changed = {at: tables[at] for at in sorted(self.members) if tables[at] != self._laid[at]}
        self._laid.update(changed)
        self._stage = _Stage.LAYING
        self._wait_for(changed, self._pace.answer, now)
        if changed:
            self._steps.append(Lay(changed))
        self._go_on(now)

    def _ask(self, now: float) -> None:
        self._stage = _Stage.ASKING
        self._looks.clear()
        self._wait_for(self.members, self._pace.look, now)
        self._steps.append(Ask(tuple(sorted(self.members))))

    def _wait_for(self, positions: Mapping[int, CircuitTable] | set[int], seconds: float, now: float) -> None:
        self._waiting = set(positions)
        self.deadline = now + seconds + self._pace.told_node * len(self._waiting)

    def _conclude(self) -> None:
        """A round is over: take in what everybody saw."""
        selected, lit, powers = [], set(), {}
        for position, look in self._looks.items():
            for port in self._wiring.ports(position):
                if look.circuits[port.bundle] is not port.path:
                    continue
                selected.append(port)
                key = (port.bundle, port.path)
                if look.light.get(key, False):
                    lit.add(port)
                    if key in look.powers:
                        powers[port] = look.powers[key]
        unknown = [port for position in self.left for port in self._wiring.ports(position)]
        self._evidence.take(selected, lit, unknown)
        self._evidence.measure(powers)
        self.done += 1

    def _end(self) -> None:
        self._stage = _Stage.OVER
        self.deadline = None
        self._waiting.clear()
