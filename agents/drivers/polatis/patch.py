"""What is plugged in where: which ports of a matrix switch belong to which bundle, and which bundle a path leads to.

A transceiver sends into an *ingress* of the switch and listens at an *egress* of it, so a bundle of m modules has m of
each. Every bundle may be joined with its own egresses, which is its loopback, and with those of its two neighbours,
which are its paths. Both follow from the fabric's fibres: the switch takes the place of the glass, and nothing has to
be said about paths in any file. No two fibres of a fabric join the same nodes, so no two paths are one and the same
light path here.

The table names every node on the switch whose light ours may meet, also those that another agent serves.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringlight.fabric.circuits import EXTERNAL_PATHS, Path
from ringlight.fabric.problem import Problem, under
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Wiring

Place = tuple[str, int]
"""A bundle on the switch: name of its node, and its number."""


@dataclass(frozen=True, slots=True)
class Plugs:
    """Where one bundle is plugged in, module by module.

    Attributes:
        ingresses: of the switch, that its modules send into.
        egresses: of the switch, that its modules listen at.
    """

    ingresses: tuple[int, ...]
    egresses: tuple[int, ...]


class Patch:
    """Every bundle on one switch, and what its paths are there.

    Args:
        plugs: by bundle.
        peers: the bundle at the other end of each path that is cabled and on this switch.
    """

    def __init__(self, plugs: Mapping[Place, Plugs], peers: Mapping[Place, Mapping[Path, Place]]) -> None:
        self.plugs = plugs
        self.peers = peers
        self.places = tuple(sorted(plugs))
        self.ingresses = {port: place for place, at in plugs.items() for port in at.ingresses}
        self.egresses = {port: place for place, at in plugs.items() for port in at.egresses}
        self.ports = tuple(sorted((*self.ingresses, *self.egresses)))

    def of_node(self, node: str) -> tuple[Place, ...]:
        """The bundles of a node, in order."""
        return tuple(place for place in self.places if place[0] == node)

    def peer(self, place: Place, path: Path) -> Place | None:
        """The bundle that a path leads to, which for the loopback is the bundle itself; None when it leads nowhere."""
        return place if path is Path.LOOPBACK else self.peers.get(place, {}).get(path)

    def outward(self, place: Place, path: Path) -> dict[int, int]:
        """The cross-connects that carry a bundle's own light over a path, egress by ingress; it is the bundle's part.

        Empty when the path leads nowhere.
        """
        peer = self.peer(place, path)
        return {} if peer is None else dict(zip(self.plugs[place].ingresses, self.plugs[peer].egresses, strict=True))

    def inward(self, place: Place, path: Path) -> dict[int, int]:
        """The cross-connects that bring a path's light to a bundle: the part of whoever is at its other end."""
        peer = self.peer(place, path)
        return {} if peer is None else dict(zip(self.plugs[peer].ingresses, self.plugs[place].egresses, strict=True))


def place_name(place: Place) -> str:
    """``n17/b0``."""
    return f"{place[0]}/b{place[1]}"


def patch_of(
    ports: Mapping[str, Sequence[Plugs]], *, served: Collection[str], wiring: Wiring, path: str
) -> tuple[Patch, list[Problem]]:
    """The table of a switch, and what is wrong with it. Only one without problems is good for anything.

    Args:
        ports: bundles of each node, in order.
        served: nodes that this agent drives through the switch: their paths must lead somewhere.
        wiring: the fabric's fibres.
        path: of the table in the file, for the problems.
    """
    problems = [*_wrong_nodes(ports, served, wiring, path), *_taken_twice(ports, path)]
    known = {node: bundles for node, bundles in ports.items() if wiring.has_node(node)}
    plugs = {(node, number): plug for node, bundles in known.items() for number, plug in enumerate(bundles)}
    peers: dict[Place, dict[Path, Place]] = {}
    for place in sorted(plugs):
        peers[place], of_place = _peers_of(place, plugs, wiring, path, must_lead=place[0] in served)
        problems += of_place
    return Patch(plugs, peers), problems


def _wrong_nodes(
    ports: Mapping[str, Sequence[Plugs]], served: Collection[str], wiring: Wiring, path: str
) -> Iterator[Problem]:
    for node in sorted(set(served) - ports.keys()):
        yield Problem(path, f"{node} is served through this switch, but not plugged in anywhere")
    for node, bundles in ports.items():
        at = under(path, node)
        if not wiring.has_node(node):
            yield Problem(at, f"the fabric {wiring.spec.name!r} has no such node")
            continue
        if len(bundles) != wiring.bundles:
            yield Problem(at, f"expected {wiring.bundles} bundles as in the fabric, found {len(bundles)}")
        for number, (plug, spec) in enumerate(zip(bundles, wiring.spec.bundles, strict=False)):
            for side, there in (("in", plug.ingresses), ("out", plug.egresses)):
                if len(there) != spec.modules:
                    found = f"expected {spec.modules} ports, one for each module of the bundle, found {len(there)}"
                    yield Problem(under(under(at, number), side), found)


def _taken_twice(ports: Mapping[str, Sequence[Plugs]], path: str) -> Iterator[Problem]:
    uses = Counter(port for bundles in ports.values() for plug in bundles for port in (*plug.ingresses, *plug.egresses))
    for node, bundles in ports.items():
        for number, plug in enumerate(bundles):
            for side, there in (("in", plug.ingresses), ("out", plug.egresses)):
                for port in sorted({port for port in there if uses[port] > 1}):
                    yield Problem(under(under(under(path, node), number), side), f"port {port} is given more than once")


def _peers_of(
    place: Place, plugs: Mapping[Place, Plugs], wiring: Wiring, path: str, *, must_lead: bool
) -> tuple[dict[Path, Place], list[Problem]]:
    """Where the paths of a bundle lead, by the fibres."""
    node, number = place
    peers: dict[Path, Place] = {}
    problems = []
    for which in EXTERNAL_PATHS:
        port = Port(wiring.position(node), number, which)
        far = wiring.peer(port)
        if far is None:
            continue
        peer = (wiring.name(far.position), far.bundle)
        leads = f"{wiring.port_name(port)} leads to {place_name(peer)}"
        if peer in plugs and len(plugs[peer].ingresses) == len(plugs[place].ingresses):
            peers[which] = peer
        elif peer in plugs:
            problems.append(Problem(under(path, node), f"{leads}, which has another number of modules"))
        elif must_lead:
            problems.append(Problem(path, f"{leads}, which is not plugged in: also name nodes that other agents serve"))
    return peers, problems
