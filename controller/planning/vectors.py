"""Placement cases: a small fabric, its rings, faults, and the best there is. Runs one through the planner and judges.

Judged is what the planner answered (rings in all, survivors kept), and whether its plan could be carried out at all:
that is worked out from the wiring alone, and shares no code with the planner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ringlight.controller.planning.cabling import Cabling
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import Planner, RingPlan, RingRequest
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_hops
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import HopKey, Wiring

_JOB = "job"
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Score:
    """How good a placement is.

    Attributes:
        rings: of the job, in all.
        kept: rings from before the event that stay exactly as they were.
    """

    rings: int
    kept: int


@dataclass(frozen=True, slots=True)
class Case:
    """One case. Positions are 0..N-1.

    Attributes:
        name: for people.
        spec: the fabric.
        down: positions that may not be used.
        dead_hops: fibres without light; one that was never laid has none either.
        nodes_per_ring: nodes of a ring, m.
        existing: rings of the one job before the event, disjoint in span.
        others: rings of other jobs, which stay where they are.
        rings_wanted: by the job; None for as many as fit.
        expected: the best there is.
    """

    name: str
    spec: FabricSpec
    down: frozenset[int]
    dead_hops: frozenset[HopKey]
    nodes_per_ring: int
    existing: tuple[Chain, ...]
    others: tuple[Chain, ...]
    rings_wanted: int | None
    expected: Score

    @property
    def wanted(self) -> int:
        """Rings the planner is asked for: no more than nodes can fit."""
        return len(self.spec.nodes) if self.rings_wanted is None else self.rings_wanted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the planner made of a case.

    Attributes:
        flaws: why the plan could not be carried out; empty for a sound one.
    """

    rings: int
    kept: int
    flaws: tuple[str, ...] = ()

    def is_wrong(self, case: Case) -> bool:
        """Whether it differs from what the case expects, or is not sound."""
        return bool(self.flaws) or Score(self.rings, self.kept) != case.expected


def run_case(case: Case) -> Outcome:
    """Let the faults of a case happen, and plan its job anew."""
    wiring = Wiring(case.spec)
    planner = Planner(Cabling.of_wiring(wiring), wiring.name)
    order = planner.order
    for number, chain in enumerate(case.others):
        order.lay(f"{_OTHER}/{number}", _OTHER, chain)
    for number, chain in enumerate(case.existing):
        order.lay(f"{_JOB}/{number}", _JOB, chain)
    for position in sorted(case.down):
        order.set_usable(position, usable=False)
    for hop in sorted(case.dead_hops):
        if wiring.hop(hop.position, hop.distance) is not None:
            order.set_live(hop, live=False)
    ground = _Ground(case, wiring)
    survivors = {f"{_JOB}/{number}": chain for number, chain in enumerate(case.existing) if ground.carries(chain)}
    broken = [f"{_JOB}/{number}" for number in range(len(case.existing)) if f"{_JOB}/{number}" not in survivors]
    former = tuple(order.lift(name).chain for name in broken)
    plan = planner.plan(RingRequest(_JOB, case.nodes_per_ring, case.wanted, former))
    return Outcome(plan.rings, plan.kept, tuple(ground.flaws(plan, survivors)))


def chain_span(wiring: Wiring, chain: Sequence[int]) -> frozenset[int]:
    """Every position that a chain covers or passes over, counted step by step.

    Raises:
        InvalidError: as `chain_hops`; or the chain turns round, or runs once around the order into itself.
    """
    hops = chain_hops(wiring, chain)
    ahead = [hop.low.position == node for hop, node in zip(hops, chain, strict=False)]
    if len(set(ahead)) > 1:
        raise InvalidError("it turns round; each hop of a ring goes the same way along the order")
    forward = list(chain) if all(ahead) else list(reversed(chain))
    covered = [forward[0]]
    for here, there in pairwise(forward):
        covered.extend((here + step) % wiring.size for step in range(1, (there - here) % wiring.size + 1))
    if len(set(covered)) < len(covered):
        raise InvalidError("it runs once around the order, into itself")
    return frozenset(covered)


class _Ground:
    """Where chains may lie in a case, without the planner's help."""

    def __init__(self, case: Case, wiring: Wiring) -> None:
        self._case = case
        self._wiring = wiring

    def carries(self, chain: Chain) -> bool:
        """Whether no node of a legal chain is down, and no hop dark."""
        dark = any(hop.key in self._case.dead_hops for hop in chain_hops(self._wiring, chain))
        return not dark and self._case.down.isdisjoint(chain)

    def flaws(self, plan: RingPlan, survivors: dict[str, Chain]) -> Iterator[str]:
        """Why a plan could not be carried out."""
        moved = {ring.name for ring in plan.moved}
        if strange := sorted(moved - survivors.keys()):
            yield f"moves {' '.join(strange)}, which did not survive or is of another job"
        kept = [chain for name, chain in sorted(survivors.items()) if name not in moved]
        if plan.kept != len(kept):
            yield f"says that it keeps {plan.kept} rings, and keeps {len(kept)}"
        if plan.placed and plan.rings > self._case.wanted:
            yield f"lays {plan.rings} rings of {self._case.wanted}"
        taken = {p for chain in (*kept, *self._case.others) for p in chain_span(self._wiring, chain)}
        for chain in (placement.chain for placement in plan.placed):
            yield from (f"{list(chain)}: {flaw}" for flaw in self._chain_flaws(chain, taken))

    def _chain_flaws(self, chain: Chain, taken: set[int]) -> Iterator[str]:
        """Why a chain cannot be laid beside what is taken; takes its place."""
        if len(chain) != self._case.nodes_per_ring:
            yield f"has {len(chain)} nodes instead of {self._case.nodes_per_ring}"
        try:
            span = chain_span(self._wiring, chain)
        except InvalidError as error:
            yield str(error)
            return
        if not self.carries(chain):
            yield "takes a node that is down, or a dark hop"
        if span & taken:
            yield f"lies over another ring at {', '.join(map(str, sorted(span & taken)))}"
        taken |= span
