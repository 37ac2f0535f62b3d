"""Questions about a fabric's fixed cabling: who is at the other end, which hop is this, what is its name.

Built once from a `FabricSpec` and never changed. A *hop* (i, d) is the fibre from position i to i+d; on a closed
order positions wrap. Names for people are made and read here and nowhere else: node ``n17``, port ``n17/b0.p1``,
hop ``n3+2``, GPU ``n17/g2``.
"""

from collections.abc import Collection
from dataclasses import dataclass

from ringlight.fabric.circuits import EXTERNAL_PATHS, CircuitTable, Path, all_loopback
from ringlight.fabric.errors import NotFoundError
from ringlight.fabric.spec import FabricSpec, Port


@dataclass(frozen=True, slots=True, order=True)
class HopKey:
    """A hop by where it starts and how far it reaches."""

    position: int
    distance: int


@dataclass(frozen=True, slots=True)
class Hop:
    """A fibre seen as a step along the order: from `low` (position i) to `high` (position i+d)."""

    key: HopKey
    low: Port
    high: Port

    def far(self, position: int) -> Port:
        """The end that is not at `position`."""
        return self.high if position == self.low.position else self.low

    def near(self, position: int) -> Port:
        """The end at `position`."""
        return self.low if position == self.low.position else self.high


class Wiring:
    """The cabling of one fabric, indexed by port, hop and name."""

    def __init__(self, spec: FabricSpec) -> None:
        self.spec = spec
        self.size = len(spec.nodes)
        self.bundles = len(spec.bundles)
        self.loopback: CircuitTable = all_loopback(self.bundles)
        self._position = {node.name: position for position, node in enumerate(spec.nodes)}
        self._hops: dict[HopKey, Hop] = {}
        self._hop_at: dict[Port, Hop] = {}
        for fibre in spec.fibres:
            distance = (fibre.b.position - fibre.a.position) % self.size
            hop = Hop(HopKey(fibre.a.position, distance), fibre.a, fibre.b)
            self._hops[hop.key] = self._hop_at[fibre.a] = self._hop_at[fibre.b] = hop
        self._ports: tuple[tuple[Port, ...], ...] = self._collect_ports()

    def _collect_ports(self) -> tuple[tuple[Port, ...], ...]:
        ports: list[list[Port]] = [[] for _ in range(self.size)]
        for port in self._hop_at:
            ports[port.position].append(port)
        return tuple(tuple(sorted(of_node)) for of_node in ports)

    @property
    def hops(self) -> Collection[Hop]:
        """Every hop, in the order of the fabric's fibre list."""
        return self._hops.values()

    def hop(self, position: int, distance: int) -> Hop | None:
        """The hop from `position` over `distance`, or None when no such fibre was laid."""
        return self._hops.get(HopKey(position, distance))

    def hop_between(self, first: int, second: int) -> Hop | None:
        """The hop that joins two positions, in whichever direction it was laid."""
        forward = self.hop(first, (second - first) % self.size)
        return forward if forward is not None else self.hop(second, (first - second) % self.size)

    def hop_at(self, port: Port) -> Hop | None:
        """The hop whose fibre is plugged in at `port`."""
        return self._hop_at.get(port)

    def peer(self, port: Port) -> Port | None:
        """The port at the other end of the fibre."""
        hop = self._hop_at.get(port)
        if hop is None:
            return None
        return hop.high if hop.low == port else hop.low

    def ports(self, position: int) -> tuple[Port, ...]:
        """The cabled external ports of a node, in order of bundle and path."""
        return self._ports[position]

    def accepts(self, position: int, table: CircuitTable) -> bool:
        """Whether a node can be told to take this table: right length, and only paths that are cabled."""
        return len(table) == self.bundles and all(
            path is Path.LOOPBACK or (path in EXTERNAL_PATHS and Port(position, bundle, path) in self._hop_at)
            for bundle, path in enumerate(table)
        )

    def position(self, node: str) -> int:
        """The position of a node by its name.

        Raises:
            NotFoundError: the fabric has no such node.
        """
        try:
            return self._position[node]
        except KeyError:
            raise NotFoundError(
                f"fabric {self.spec.name!r} has no node {node!r}",
                hint=f"its {self.size} nodes are {self.name(0)} .. {self.name(self.size - 1)}",
            ) from None

    def has_node(self, node: str) -> bool:
        """Whether the fabric has a node of this name."""
        return node in self._position

    def name(self, position: int) -> str:
        """The name of the node at a position."""
        return self.spec.nodes[position].name

    def port_name(self, port: Port) -> str:
        """``n17/b0.p1``."""
        return f"{self.name(port.position)}/b{port.bundle}.p{1 if port.path is Path.PATH_1 else 2}"

    def hop_name(self, key: HopKey) -> str:
        """``n3+2``."""
        return f"{self.name(key.position)}+{key.distance}"

    def gpu_name(self, position: int, gpu: int) -> str:
        """``n17/g2``."""
        return f"{self.name(position)}/g{gpu}"

    def parse_hop(self, text: str) -> HopKey:
        """Read ``n3+2``.

        Raises:
            NotFoundError: no such node, or no such fibre.
        """
        node, plus, distance = text.rpartition("+")
        if plus and distance.isdecimal():
            key = HopKey(self.position(node), int(distance))
            if key in self._hops:
                return key
        distances = self.spec.distances
        raise NotFoundError(
            f"fabric {self.spec.name!r} has no hop {text!r}",
            hint=f"a hop is a node and a distance, such as {self.hop_name(HopKey(0, distances[0]))}; "
            f"distances are {', '.join(map(str, distances))}",
        )
