"""What a fabric is made of, once its file was read and found right.

Positions 0..N-1 number the nodes in the fabric's order. A *port* is one external end of a bundle, a *fibre* joins
two ports. These records hold no behaviour beyond names; `ringlight.fabric.file` makes them from a file and
`ringlight.fabric.wiring` answers questions about them.
"""

from dataclasses import dataclass

from ringlight.fabric.circuits import Path

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
    """A server of the fabric; its position is its index in `FabricSpec.nodes`."""

    name: str
    rack: str = ""


@dataclass(frozen=True, slots=True)
class FabricSpec:
    """A whole fabric: nodes in order, parts of a node, and every fibre.

    Attributes:
        name: of the fabric; agents must agree on it.
        k: longest hop distance.
        closed: the order wraps around.
        gpus: GPUs a node, R.
        bundles: bundles a node, index = bundle number; the same on every node.
        nodes: in fabric order.
        fibres: all of them.
    """

    name: str
    k: int
    closed: bool
    gpus: int
    bundles: tuple[BundleSpec, ...]
    nodes: tuple[NodeSpec, ...]
    fibres: tuple[Fibre, ...]


def default_bundles(k: int, gpus: int) -> tuple[BundleSpec, ...]:
    """max(2, K) bundles, spread as evenly over the R edges as they go."""
    count = max(2, k)
    return tuple(BundleSpec(edge=bundle * gpus // count) for bundle in range(count))


def default_port_map(k: int) -> dict[tuple[int, Path], int]:
    """Where each port of a node leads: (bundle, path) to a signed offset in positions.

    K=1 has one direction a bundle. For K ≥ 2, bundle 0 looks forward and bundle 1 backward, over one and two
    positions; each further distance has a bundle of its own that looks both ways.
    """
    if k == 1:
        return {(0, Path.PATH_1): +1, (1, Path.PATH_1): -1}
    offsets = {
        (0, Path.PATH_1): +1,
        (0, Path.PATH_2): +2,
        (1, Path.PATH_1): -1,
        (1, Path.PATH_2): -2,
    }
    for distance in range(3, k + 1):
        offsets[distance - 1, Path.PATH_1] = +distance
        offsets[distance - 1, Path.PATH_2] = -distance
    return offsets


def fibres_of_port_map(offsets: dict[tuple[int, Path], int], nodes: int, *, closed: bool) -> tuple[Fibre, ...]:
    """Cable a fabric by a port map: each +d port of a position to the -d port of the position d further on.

    On an open order the ports that would lead past an end stay empty. The map must hold a -d port for each +d port.
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
