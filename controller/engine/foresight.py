"""What a request would do, worked out before anything is done: the plans of its jobs, and what they mean in words.

Everything is as before when a forecast is made; only then is it decided whether to carry it out.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ringlight.controller.engine.effects import PlannedChange, RingChange
from ringlight.controller.engine.proposals import plan_job, put_back, take_up
from ringlight.controller.engine.repair import new_chains
from ringlight.controller.engine.state import JobRecord, RingRecord, State
from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.planner import RingPlan

_Chains = Sequence[tuple[RingRecord, Chain]]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The plan of one job, and what becomes of its rings.

    Attributes:
        chains: the rings that do not stay as they are, and what they would get; an empty chain means to wait.
    """

    job: JobRecord
    plan: RingPlan
    chains: tuple[tuple[RingRecord, Chain], ...]

    @property
    def lost(self) -> list[RingRecord]:
        """Rings that have a chain now and would have none."""
        return [ring for ring, chain in self.chains if ring.chain and not chain]


def foresee(
    state: State,
    jobs: Sequence[JobRecord],
    now: float,
    plan_of: Callable[[State, JobRecord, float], RingPlan] = plan_job,
) -> list[Forecast]:
    """The plans of several jobs: their damaged rings are taken up, then each is planned given those before it."""
    forecasts = []
    with _tentative(state, jobs, now) as lay:
        for job in jobs:
            take_up(state, job)
        for job in jobs:
            plan = plan_of(state, job, now)
            chains = tuple((ring, chain) for ring, chain in new_chains(state, job, plan) if ring.chain or chain)
            # Taken at once: the rings that `lay` changes are the same records.
            forecasts.append(Forecast(job, plan, chains))
            lay(chains)
    return forecasts


@contextmanager
def _tentative(state: State, jobs: Sequence[JobRecord], now: float) -> Iterator[Callable[[_Chains], None]]:
    """Rings that are laid here get their former chains back at the end."""
    former: dict[str, tuple[RingRecord, Chain]] = {}

    def lay(chains: _Chains) -> None:
        for ring, _ in chains:
            former.setdefault(ring.name, (ring, ring.chain))
            state.lift(ring)
        for ring, chain in chains:
            state.lay(ring, chain)

    try:
        yield lay
    finally:
        lay(list(former.values()))
        for job in jobs:
            put_back(state, job, now)


def described(state: State, forecasts: Sequence[Forecast]) -> PlannedChange:
    """Forecasts for whoever asked, before they are carried out."""
    rings = [ring_change(state, ring, chain) for forecast in forecasts for ring, chain in forecast.chains]
    reasons = [reason for forecast in forecasts for reason in forecast.plan.every_reason]
    return PlannedChange(tuple(rings), tuple(reasons))


def ring_change(state: State, ring: RingRecord, chain: Chain) -> RingChange:
    """What becomes of one ring that has its former chain still."""
    return RingChange(ring.name, names(state, ring.chain), names(state, chain))


def names(state: State, chain: Chain) -> tuple[str, ...]:
    """The nodes of a chain by name."""
    return tuple(state.wiring.name(position) for position in chain)
