"""What a fabric is made of, once its file was read and found right.

Positions 0..N-1 number the nodes in the fabric's order. A *port* is one external end of a bundle, a *fibre* joins
two ports. These records hold no behaviour beyond names; `ringlight.fabric.file` makes them from a file and
`ringlight.fabric.wiring` answers questions about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.fabric.circuits import EXTERNAL_PATHS, Path

MODULES_PER_BUNDLE = 8


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """One external end of a bundle."""

    position: int
    bundle: int
    path: Path  # PATH_1 or PATH_2


@dataclass(frozen=True, slots=True)
class Fibre:
    """Glass between two ports, fixed at cabling time. `a` is the end at which the hop starts (position i of i+d)."""

    a: Port
    b: Port


@dataclass(frozen=True, slots=True)
class BundleSpec:
    """A group of transceivers that switch together.

    Attributes:
        edge: edge j of the intra-node ring it sits on, joining GPU j and GPU j+1 mod R.
        modules: transceivers in it.
    """

    edge: int
    modules: int = MODULES_PER_BUNDLE


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A server of the fabric; its position is its index in `FabricSpec.nodes`.

    Attributes:
        name: unique in the fabric.
        rack: whose top-of-rack switch it is under; empty when not given.
        domain: the aggregation domain its rack belongs to; empty when not given.
    """

    name: str
    rack: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class FabricSpec:
    """A whole fabric: nodes in order, parts of a node, and every fibre.

    Attributes:
        name: of the fabric; agents must agree on it.
        distances: of the hops, from the shortest to the longest, each once; 1..K unless the file says otherwise.
        closed: the order wraps around.
        gpus: GPUs a node, R.
        bundles: bundles a node, index = bundle number; the same on every node.
        nodes: in fabric order.
        fibres: all of them.
    """

    name: str
    distances: tuple[int, ...]
    closed: bool
    gpus: int
    bundles: tuple[BundleSpec, ...]
    nodes: tuple[NodeSpec, ...]
    fibres: tuple[Fibre, ...]

    @property
    def k(self) -> int:
        """How many hop distances there are, K."""
        return len(self.distances)

    @property
    def reach(self) -> int:
        """The longest hop distance: how many positions away a node's farthest fibres end."""
        return self.distances[-1]


def nearest_distances(k: int) -> tuple[int, ...]:
    """The hop distances of a fabric file that gives only K: 1..K."""
    return tuple(range(1, k + 1))


def default_bundles(k: int, gpus: int) -> tuple[BundleSpec, ...]:
    """max(2, K) bundles, spread as evenly over the R edges as they go."""
    count = max(2, k)
    return tuple(BundleSpec(edge=bundle * gpus // count) for bundle in range(count))


def default_port_map(distances: Sequence[int]) -> dict[tuple[int, Path], int]:
    """Where each port of a node leads: (bundle, path) to a signed offset in positions.

    A single distance has one direction a bundle. Of several, the two shortest share bundle 0, which looks forward, and
    bundle 1, which looks backward; each further distance has a bundle of its own that looks both ways.
    """
    offsets: dict[tuple[int, Path], int] = {}
    for path, distance in zip(EXTERNAL_PATHS, distances[:2], strict=False):
        offsets[0, path] = +distance
        offsets[1, path] = -distance
    for bundle, distance in enumerate(distances[2:], start=2):
        offsets[bundle, Path.PATH_1] = +distance
        offsets[bundle, Path.PATH_2] = -distance
    return offsets


def fibres_of_port_map(offsets: dict[tuple[int, Path], int], nodes: int, *, closed: bool) -> tuple[Fibre, ...]:
    """Cable a fabric by a port map: each +d port of a position to the -d port of the position d further on.

    On an open order the ports that would lead past an end stay empty. The map must hold a -d port for each +d port; a
    distance that the map leaves out is not cabled.
    """
    port_of_offset = {offset: port for port, offset in offsets.items()}
    fibres = []
    for position in range(nodes):
        for distance in sorted(offset for offset in port_of_offset if offset > 0):
            far = position + distance
            if far >= nodes and not closed:
                continue
            near_end = Port(position, *port_of_offset[distance])
            far_end = Port(far % nodes, *port_of_offset[-distance])
            fibres.append(Fibre(near_end, far_end))
    return tuple(fibres)
