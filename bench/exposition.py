"""What a scrape of the controller's metrics costs: how long it takes, and how late it makes the event loop.

Two cases for each size: every node is well, and, the worst, none is, so that each has a series of its own. The look is
taken on the event loop and keeps everything else waiting; the rest is done in a thread, and the two take turns.
"""

import asyncio
import gc
import time
from dataclasses import dataclass

from bench.engine import IdealFabric
from bench.figures import Figure, median
from ringlight.controller.adapters.prometheus import Metrics
from ringlight.controller.metrics.census import take_census
from ringlight.controller.metrics.samples import Process
from ringlight.controller.metrics.tally import Tally
from ringlight.fabric.errors import RinglightError

_SIZES = (1_000, 10_000)
_MOST_SERIES = 30_000
_SILENCE = 10.0  # seconds after which every node is at least SUSPECT


def measure(*, quick: bool) -> list[Figure]:
    """Measure on fabrics of two sizes; of the smaller one when quick."""
    figures = []
    for nodes in _SIZES[: 1 if quick else None]:
        fabric = IdealFabric(nodes)
        gc.freeze()  # as the controller does, once everybody was heard
        now = fabric.fall_silent(0.0)
        for case in ("all well", "none well"):
            scrapes = [asyncio.run(_scrape(fabric, now)) for _ in range(3 if quick else 9)]
            title = f"{nodes:,} nodes, {case}, {scrapes[0].series:,} series"
            floor = median([_floor(scrapes[0].text) for _ in range(9)])
            least = "lines formatted ahead"
            figures += [
                Figure("exposition", f"scrape p50, {title}", median([s.seconds for s in scrapes]), floor, least),
                Figure("exposition", f"look p50, {title}", median([s.look for s in scrapes]), floor, least),
                Figure("exposition", f"event loop late, max, {title}", max(s.late for s in scrapes), floor, least),
            ]
            now = fabric.fall_silent(_SILENCE)
    return figures


@dataclass(frozen=True, slots=True)
class _Scrape:
    """One scrape: seconds in all, of the look on the event loop, and that the loop was late meanwhile."""

    text: bytes
    seconds: float
    look: float
    late: float

    @property
    def series(self) -> int:
        return sum(not line.startswith(b"#") for line in self.text.splitlines())


async def _scrape(fabric: IdealFabric, now: float) -> _Scrape:
    process = Process(store_ok=True, events_dropped=0, loop_lag=0.0)
    metrics = Metrics(lambda: take_census(fabric.state, now), Tally(), lambda: process)
    late: list[float] = []
    watching = asyncio.create_task(_watch(late))
    await asyncio.sleep(0)
    began = time.perf_counter()
    text = await metrics.render()
    seconds = time.perf_counter() - began
    watching.cancel()
    began = time.perf_counter()
    take_census(fabric.state, now)
    scrape = _Scrape(text, seconds, time.perf_counter() - began, max(late, default=0.0))
    if scrape.series > _MOST_SERIES:
        raise RinglightError(f"{scrape.series:,} series are more than {_MOST_SERIES:,}", hint="which family grew?")
    return scrape


async def _watch(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + 0.001
        await asyncio.sleep(0.001)
        late.append(max(0.0, time.perf_counter() - due))


def _floor(text: bytes) -> float:
    """Seconds to write the same series, had every line been formatted ahead but for its value."""
    ahead = [line.rpartition(b" ")[0] for line in text.splitlines()]
    began = time.perf_counter()
    b"\n".join([line + b" %d" % 1 for line in ahead])
    return time.perf_counter() - began
