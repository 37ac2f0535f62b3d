"""How long the oracle takes to follow all light and copper of a fabric, over touching every GPU once.

A tenth of the nodes idle in loopback; the others form rings of eight.
"""

from bench.fabrics import GPUS, RING_NODES, make_spec
from bench.figures import Figure, median_time
from ringlight.fabric.circuits import CircuitTable
from ringlight.fabric.rings import chain_tables
from ringlight.fabric.trace import trace
from ringlight.fabric.wiring import Wiring

_SIZES = (1_000, 10_000)
_BUSY = 0.9


def measure(*, quick: bool) -> list[Figure]:
    """Trace fabrics of two sizes."""
    return [_measure(nodes, times=3 if quick else 7) for nodes in _SIZES[: 1 if quick else None]]


def _measure(nodes: int, times: int) -> Figure:
    wiring = Wiring(make_spec(nodes))
    tables = _tables(wiring)
    gpus = [(position, gpu) for position in range(nodes) for gpu in range(GPUS)]
    value = median_time(lambda: trace(wiring, tables), times=times)
    floor = median_time(lambda: _touch(gpus), times=times)
    return Figure("trace", f"{nodes:,} nodes, {len(gpus):,} GPUs", value, floor, "touch every GPU once")


def _tables(wiring: Wiring) -> list[CircuitTable]:
    tables = [wiring.loopback] * wiring.size
    for first in range(0, int(wiring.size * _BUSY) - RING_NODES + 1, RING_NODES):
        for position, table in chain_tables(wiring, range(first, first + RING_NODES)).items():
            tables[position] = table
    return tables


def _touch(gpus: list[tuple[int, int]]) -> int:
    touched = 0
    for _, gpu in gpus:
        touched += gpu
    return touched
