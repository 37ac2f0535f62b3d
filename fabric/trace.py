"""The oracle: which GPU cycles really exist, found by following light and copper through the states of all bundles.

It takes the physical model literally and shares no code with ring geometry or planning, so that it can judge them.

Every GPU g of a node has two terminals: one on edge g-1 and one on edge g of the intra-node ring. An edge joins the
terminal of GPU j with that of GPU j+1: always when it is copper, and when its bundle is in loopback. A bundle that
selects a path opens its edge and carries both halves over the fibre, u to u' and v to v', if the other end selects
the same fibre and everything in between works. Anything else leaves terminals that lead nowhere.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.spec import Fibre
from ringlight.fabric.wiring import HopKey, Wiring

_Gpu = TypeVar("_Gpu", tuple[int, int], str)  # a GPU by number or by name

GpuPath = tuple[tuple[int, int], ...]  # (position, GPU number), in the order of the light


@dataclass(frozen=True, slots=True)
class Trace:
    """What light and copper form.

    Attributes:
        cycles: closed: each is a ring, or a node on its own. Begins at its lowest GPU.
        dangling: open chains of GPUs, from one loose end to the other.
    """

    cycles: tuple[GpuPath, ...]
    dangling: tuple[GpuPath, ...]


def trace(
    wiring: Wiring,
    tables: Sequence[CircuitTable],
    *,
    dead_nodes: Collection[int] = (),
    dead_fibres: Collection[HopKey] = (),
    dead_bundles: Collection[tuple[int, int]] = (),
    fibres: Iterable[Fibre] | None = None,
) -> Trace:
    """Follow light and copper.

    Args:
        wiring: the cabling.
        tables: by position, what each bundle selects.
        dead_nodes: positions without power: their GPUs do not exist.
        dead_fibres: hops whose fibre is cut.
        dead_bundles: (position, bundle) with a dead module: carries nothing on any path, loopback included.
        fibres: those that lie and are whole, where they lie otherwise than the wiring says.
    """
    without_power = frozenset(dead_nodes)
    if fibres is None:
        fibres = (Fibre(hop.low, hop.high) for hop in wiring.hops if hop.key not in dead_fibres)
    links = _links(wiring, tables, without_power, fibres, frozenset(dead_bundles))
    gpus = wiring.spec.gpus
    alive = [
        (position * gpus + gpu) * 2
        for position in range(wiring.size)
        if position not in without_power
        for gpu in range(gpus)
    ]
    seen: set[int] = set()
    cycles: list[GpuPath] = []
    dangling: list[GpuPath] = []
    for start in alive:
        if start // 2 in seen:
            continue
        ahead, closed = _walk(links, start + 1)
        behind = [] if closed else _walk(links, start)[0]
        chain = [*reversed(behind), start // 2, *ahead]
        seen.update(chain)
        path = tuple(divmod(gpu, gpus) for gpu in chain)
        (cycles if closed else dangling).append(path)
    return Trace(tuple(cycles), tuple(dangling))


def _walk(links: dict[int, int], terminal: int) -> tuple[list[int], bool]:
    """GPUs met from a terminal on, and whether the way leads back to where it began.

    Terminals 2g and 2g+1 are the two of GPU g; arriving at one, light leaves by the other.
    """
    home = terminal // 2
    visited: list[int] = []
    while (far := links.get(terminal)) is not None:
        if far // 2 == home:
            return visited, True
        visited.append(far // 2)
        terminal = far ^ 1
    return visited, False


def _links(
    wiring: Wiring,
    tables: Sequence[CircuitTable],
    dead_nodes: frozenset[int],
    fibres: Iterable[Fibre],
    dead_bundles: frozenset[tuple[int, int]],
) -> dict[int, int]:
    """Which terminal is joined to which."""
    gpus = wiring.spec.gpus
    links: dict[int, int] = {}

    def join(one: int, other: int) -> None:
        links[one], links[other] = other, one

    def ends(position: int, edge: int) -> tuple[int, int]:
        """The terminals u and v that an edge of a node's ring joins."""
        first = position * gpus
        return (first + edge) * 2 + 1, (first + (edge + 1) % gpus) * 2

    for position, edge in _closed_edges(wiring, tables, dead_nodes, dead_bundles):
        join(*ends(position, edge))
    for fibre in fibres:
        sides = (fibre.a, fibre.b)
        if any(
            side.position in dead_nodes
            or (side.position, side.bundle) in dead_bundles
            or tables[side.position][side.bundle] is not side.path
            for side in sides
        ):
            continue
        (u, v), (far_u, far_v) = (ends(side.position, wiring.spec.bundles[side.bundle].edge) for side in sides)
        join(u, far_u)
        join(v, far_v)
    return links


def _closed_edges(
    wiring: Wiring,
    tables: Sequence[CircuitTable],
    dead_nodes: frozenset[int],
    dead_bundles: frozenset[tuple[int, int]],
) -> Iterator[tuple[int, int]]:
    """Every (position, edge) that is closed inside its node: copper, or a working bundle in loopback."""
    bundle_on = {bundle.edge: number for number, bundle in enumerate(wiring.spec.bundles)}
    for position in range(wiring.size):
        if position in dead_nodes:
            continue
        for edge in range(wiring.spec.gpus):
            bundle = bundle_on.get(edge)
            if bundle is None or (tables[position][bundle] is Path.LOOPBACK and (position, bundle) not in dead_bundles):
                yield position, edge


def canonical_cycle(cycle: tuple[_Gpu, ...]) -> tuple[_Gpu, ...]:
    """A cycle written from its lowest GPU towards the lower of the two neighbours, so that equal cycles are equal."""
    start = cycle.index(min(cycle))
    turned = cycle[start:] + cycle[:start]
    return min(turned, turned[:1] + turned[:0:-1])
