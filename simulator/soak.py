"""Many seeds, on all cores; and what to say about one that fails."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from ringlight.simulator.runner import Case, Verdict, run
from ringlight.simulator.shrink import shrink


def run_all(cases: Iterable[Case], processes: int = 0) -> Iterator[Verdict]:
    """Run cases side by side, in as many processes (0: as there are cores); verdicts in the order of the cases."""
    count = processes or os.cpu_count() or 1
    if count == 1:
        yield from map(run, cases)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(run, cases, chunksize=4)
        finally:
            pool.shutdown(cancel_futures=True)


def smallest(failed: Verdict) -> Verdict:
    """The same failure with the fewest operations: one with the same first word, such as the broken invariant."""
    kind = _kind(failed)

    def fails(only: tuple[int, ...]) -> bool:
        verdict = run(replace(failed.case, only=only))
        return not verdict.good and _kind(verdict) == kind

    return run(replace(failed.case, only=shrink([operation.index for operation in failed.operations], fails)))


def _kind(verdict: Verdict) -> str:
    """Which invariant was broken; "peace" for what was not as it must be at the end."""
    first = verdict.problems[0].partition(" at ")[0] if verdict.problems else ""
    return first if first in ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "own") else "peace"
