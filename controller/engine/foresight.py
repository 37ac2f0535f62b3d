"""What a request would do, worked out before anything is done: the plans of its jobs, and what they mean in words.

Everything is as before when a forecast is made; only then is it decided whether to carry it out.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ringlight.controller.engine.effects import PlannedChange, RingChange
from ringlight.controller.engine.repair import new_chains, plan_job
from ringlight.controller.engine.state import JobRecord, RingRecord, State
from ringlight.controller.planning.planner import RingPlan
from ringlight.controller.planning.terrain import Chain


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


def foresee(state: State, jobs: Iterable[JobRecord], now: float) -> list[Forecast]:
    """The plans of several jobs, each on the terrain that those before it would leave."""
    forecasts = []
    with _tentative(state) as lay:
        for job in jobs:
            plan = plan_job(state, job, now)
            chains = tuple((ring, chain) for ring, chain in new_chains(job, plan) if ring.chain or chain)
            # Taken at once: the rings that `lay` changes are the same records.
            forecasts.append(Forecast(job, plan, chains))
            lay(chains)
    return forecasts


@contextmanager
def _tentative(state: State) -> Iterator["_Lay"]:
    """Rings that are laid here get their former chains back at the end."""
    lay = _Lay(state)
    try:
        yield lay
    finally:
        lay.undo()


class _Lay:
    def __init__(self, state: State) -> None:
        self._state = state
        self._former: list[tuple[RingRecord, Chain]] = []

    def __call__(self, chains: Sequence[tuple[RingRecord, Chain]]) -> None:
        for ring, chain in chains:
            self._former.append((ring, ring.chain))
            self._state.lay(ring, chain)

    def undo(self) -> None:
        while self._former:
            self._state.lay(*self._former.pop())


def described(state: State, forecasts: Sequence[Forecast]) -> PlannedChange:
    """Forecasts for whoever asked, before they are carried out."""
    rings = [ring_change(state, ring, chain) for forecast in forecasts for ring, chain in forecast.chains]
    reasons = [reason for forecast in forecasts for reason in forecast.plan.reasons]
    return PlannedChange(tuple(rings), tuple(reasons))


def ring_change(state: State, ring: RingRecord, chain: Chain) -> RingChange:
    """What becomes of one ring that has its former chain still."""
    return RingChange(ring.name, names(state, ring.chain), names(state, chain))


def names(state: State, chain: Chain) -> tuple[str, ...]:
    """The nodes of a chain by name."""
    return tuple(state.wiring.name(position) for position in chain)
