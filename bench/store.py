"""How long it takes until one batch, as a repair writes it, is durable, over writing and syncing the same bytes.

The files are where temporary files go: set TMPDIR to measure another disk.
"""

import asyncio
import json
import os
import tempfile
import time
from dataclasses import asdict
from functools import partial
from io import FileIO
from pathlib import Path

from bench.fabrics import RING_NODES
from bench.figures import Figure, median, percentile, timed
from ringlight.controller.adapters.clock import SystemClock
from ringlight.controller.adapters.sqlite import SqliteStore
from ringlight.controller.engine.effects import FabricEvent, Persist, StoredRing
from ringlight.controller.ports import Batch, LoggedEvent

_EVENTS = 4  # that a healed fault tells: fault-opened, verdict, ring-switching, ring-active


def measure(*, quick: bool) -> list[Figure]:
    """Write batches one after another, each followed by its floor, so that both meet the same state of the disk."""
    with tempfile.TemporaryDirectory(prefix="ringlight-bench-") as directory:
        values, floors = asyncio.run(_write_all(Path(directory), times=30 if quick else 300))
    floor_name = "write and fsync the same bytes"
    return [
        Figure("store", "batch of a repair durable, p50", median(values), median(floors), floor_name),
        Figure(
            "store", "batch of a repair durable, p99", percentile(values, 0.99), percentile(floors, 0.99), floor_name
        ),
    ]


async def _write_all(directory: Path, times: int) -> tuple[list[float], list[float]]:
    store = SqliteStore(directory, SystemClock(), events_kept=100_000, block=1_000)
    await store.open()
    values, floors = [], []
    try:
        with FileIO(directory / "plain", "ab") as plain:
            for turn in range(times):
                batch = _batch(turn)
                began = time.perf_counter()
                await store.write(batch)
                values.append(time.perf_counter() - began)
                floors.append(timed(partial(_write_plain, plain, _bytes_of(batch))))
    finally:
        await store.close()
    return values, floors


def _write_plain(file: FileIO, content: bytes) -> None:
    file.write(content)
    os.fsync(file.fileno())


def _batch(turn: int) -> Batch:
    chain = tuple(f"n{position}" for position in range(RING_NODES))
    rings = tuple(
        StoredRing("train/3", "train", chain, state, "n5 failed: gpu0 reports xid:79", turn)
        for state in ("SWITCHING", "ACTIVE")
    )
    first = turn * _EVENTS + 1
    events = [
        LoggedEvent(
            FabricEvent(
                sequence, "ring-switching", "train/3", f"new chain: {' '.join(chain)}", {"generation": str(turn)}
            ),
            1.7e9 + turn,
        )
        for sequence in range(first, first + _EVENTS)
    ]
    return Batch([Persist(rings=rings[:1]), Persist(rings=rings[1:])], events)


def _bytes_of(batch: Batch) -> bytes:
    return json.dumps(asdict(batch)).encode()
