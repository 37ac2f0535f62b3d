"""Judges whether the parts of a fabric file make sense together, and assembles the fabric.

Every check is made that the parts at hand allow: a part that is None was wrong in form and was reported, so what
depends on it is not judged.
"""

import difflib
import re
from collections.abc import Iterable

from ringlight.fabric.circuits import Path
from ringlight.fabric.hop_distances import HopDistances
from ringlight.fabric.problem import Problem
from ringlight.fabric.roster import check_range, names_of, size_of, specs_of
from ringlight.fabric.schema import MAX_NAME, BundleEntry, FabricEntry, FibreEntry, NodeRange
from ringlight.fabric.spec import (
    BundleSpec,
    FabricSpec,
    Fibre,
    Port,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
)

_NUMBER = "(0|[1-9][0-9]{0,3})"
_PORT_KEY = re.compile(rf"b{_NUMBER}\.p([12])")
_PORT_NAME = re.compile(rf"([^/]+)/b{_NUMBER}\.p([12])")
_PATHS = {"1": Path.PATH_1, "2": Path.PATH_2}


def assemble(entry: FabricEntry, problems: Iterable[Problem]) -> tuple[FabricSpec | None, list[Problem]]:
    """The fabric, or None when there are mistakes, and all of them: `problems`, found so far, and those of sense."""
    assembly = _Assembly(entry, problems)
    return assembly.fabric(), assembly.problems


class _Assembly:
    """Assembles one fabric, and collects what makes no sense.

    Attributes:
        problems: so far.
        distances: what is known of the hop distances.
        needed: bundles a node must have, or None when the number of distances is not known.
        size: nodes, or None when they are not known.
        all_named: whether the name of every node is known.
    """

    def __init__(self, entry: FabricEntry, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        self.distances = HopDistances(entry)
        self.needed = None if self.distances.k is None else max(2, self.distances.k)
        self.size = size_of(entry.nodes)
        self.all_named = False
        self._entry = entry

    def fabric(self) -> FabricSpec | None:
        """The fabric, or None; see `problems`."""
        entry = self._entry
        self.problems += self.distances.problems
        if entry.gpus is not None:
            self.problems += self.distances.check_gpus(entry.gpus)
        bundles = self._bundles()
        names = self._names()
        self._check_size()
        if entry.ports is not None and entry.fibres is not None:
            self._problem("fibres", "give a port map or a list of fibres, not both")
        offsets = None if entry.ports is None else self._port_map(entry.ports)
        fibres = None if entry.fibres is None else self._fibres(entry.fibres, names)
        distances = self.distances.values
        if self.problems or entry.name is None or distances is None or entry.gpus is None or entry.closed is None:
            return None
        nodes = specs_of(entry.nodes)
        if fibres is None:
            offsets = default_port_map(distances) if offsets is None else offsets
            fibres = fibres_of_port_map(offsets, len(nodes), closed=entry.closed)
        bundles = default_bundles(len(distances), entry.gpus) if bundles is None else bundles
        return FabricSpec(entry.name, distances, entry.closed, entry.gpus, bundles, nodes, fibres)

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _names(self) -> dict[str, int]:
        """Positions by name, of the nodes whose names are known."""
        nodes = self._entry.nodes
        names = names_of(nodes)
        if isinstance(nodes, NodeRange):
            self.problems += check_range(nodes)
            longest = names[-1] if names else None
            if longest is not None and len(longest) > MAX_NAME:
                self._problem("nodes.prefix", f"makes names of more than {MAX_NAME} characters, such as {longest!r}")
        position_of: dict[str, int] = {}
        for position, name in enumerate(names):
            if name is not None and position_of.setdefault(name, position) != position:
                self._problem(f"nodes[{position}]", f"{name!r} is nodes[{position_of[name]}] already")
        self.all_named = self.size is not None and None not in names
        return position_of

    def _check_size(self) -> None:
        if self.size == 0:
            self._problem("nodes", "expected at least one node")
        elif self.size is not None and self._entry.closed is not None:
            self.problems += self.distances.check_order(self.size, closed=self._entry.closed)

    # -- bundles ---------------------------------------------------------------------------------------------------

    def _bundles(self) -> tuple[BundleSpec, ...] | None:
        """The bundles that are listed, or None when they are not."""
        bundles = self._entry.bundles
        if bundles is None:
            return None
        count = bundles if isinstance(bundles, int) else len(bundles)
        if self.needed is not None and count != self.needed:
            self._problem("bundles", f"expected max(2, k) = {self.needed} bundles, found {count}")
        if isinstance(bundles, int):
            return None
        on_edge: dict[int, int] = {}
        for number, bundle in enumerate(bundles):
            if bundle is not None:
                self._check_edge(number, bundle, on_edge)
        return tuple(BundleSpec(bundle.edge, bundle.modules) for bundle in bundles if bundle is not None)

    def _check_edge(self, number: int, bundle: BundleEntry, on_edge: dict[int, int]) -> None:
        path, gpus = f"bundles[{number}].edge", self._entry.gpus
        if gpus is not None and bundle.edge >= gpus:
            self._problem(path, f"expected an edge from 0 to {gpus - 1}, found {bundle.edge}")
        elif on_edge.setdefault(bundle.edge, number) != number:
            self._problem(path, f"edge {bundle.edge} holds bundles[{on_edge[bundle.edge]}] already")

    # -- cabling ---------------------------------------------------------------------------------------------------

    def _port_map(self, ports: dict[str, int | None]) -> dict[tuple[int, Path], int]:
        """Offsets by port, with a way back for each way forward."""
        offsets: dict[tuple[int, Path], int] = {}
        at: dict[int, str] = {}
        before = len(self.problems)
        for key, offset in ports.items():
            match, path = _PORT_KEY.fullmatch(key), f"ports.{key}"
            if match is None or (self.needed is not None and int(match[1]) >= self.needed):
                last = "" if self.needed is None else f" .. b{self.needed - 1}.p2"
                self._problem(path, f"expected a port b0.p1{last}")
            elif offset is None:
                continue
            elif offset == 0 or not self.distances.allows(abs(offset)):
                self._problem(path, f"expected an offset {self.distances.offset_in_words} or back, found {offset}")
            elif at.setdefault(offset, key) != key:
                self._problem(path, f"offset {offset:+d} is at ports.{at[offset]} already")
            else:
                offsets[int(match[1]), _PATHS[match[2]]] = offset
        if len(self.problems) == before and None not in ports.values():
            for offset, key in at.items():
                if -offset not in at:
                    self._problem(f"ports.{key}", f"no port leads back: offset {-offset:+d} is missing")
        return offsets

    def _fibres(self, entries: list[list[str] | FibreEntry | None], position_of: dict[str, int]) -> tuple[Fibre, ...]:
        """The fibres that are listed. Where a node may be one whose name is wrong, a fibre is not judged."""
        used: dict[Port, str] = {}
        hops: dict[tuple[int, int], str] = {}
        fibres: list[Fibre] = []
        for number, entry in enumerate(entries):
            if entry is None:
                continue
            path = f"fibres[{number}]"
            ends = _ends(path, entry)
            ports = [self._port(end, name, position_of) for end, name in ends]
            for (end, name), port in zip(ends, ports, strict=True):
                if port is not None and used.setdefault(port, end) != end:
                    self._problem(end, f"port {name} is used by {used[port]} already")
            fibre = self._fibre(path, *ports)
            if fibre is None or self.size is None:
                continue
            key = fibre.a.position, (fibre.b.position - fibre.a.position) % self.size
            if hops.setdefault(key, path) != path:
                self._problem(path, f"joins the same two nodes as {hops[key]}; one fibre a hop")
            fibres.append(fibre)
        return tuple(fibres)

    def _port(self, path: str, name: str, position_of: dict[str, int]) -> Port | None:
        match = _PORT_NAME.fullmatch(name)
        if match is None:
            self._problem(path, f"expected a port such as n0/b0.p1, found {name!r}")
            return None
        bundle = int(match[2])
        if self.needed is not None and bundle >= self.needed:
            self._problem(path, f"no bundle b{bundle}: a node has b0 .. b{self.needed - 1}")
            return None
        if match[1] not in position_of:
            if not self.all_named:
                return None
            nearest = difflib.get_close_matches(match[1], position_of, n=1)
            self._problem(path, f"no node {match[1]!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else ""))
            return None
        return Port(position_of[match[1]], bundle, _PATHS[match[3]])

    def _fibre(self, path: str, one: Port | None, other: Port | None) -> Fibre | None:
        """A fibre from its lower to its higher end, along the order."""
        closed = self._entry.closed
        if one is None or other is None or self.size is None:
            return None
        forward = other.position - one.position
        if forward == 0:
            self._problem(path, "its ends disagree: both are on the same node")
            return None
        if self.distances.values is None or closed is None:
            return None
        for low, high, steps in ((one, other, forward), (other, one, -forward)):
            if self.distances.allows(steps % self.size if closed else steps):
                return Fibre(low, high)
        apart = min(abs(forward), self.size - abs(forward)) if closed else abs(forward)
        joins = f"its ends disagree: it joins nodes {apart} positions apart"
        self._problem(path, f"{joins}, and {self.distances.in_words}")
        return None


def _ends(path: str, entry: list[str] | FibreEntry) -> list[tuple[str, str]]:
    """Both ends of a fibre: the path in the file, and the name of the port."""
    if isinstance(entry, FibreEntry):
        return [(f"{path}.from", entry.start), (f"{path}.to", entry.end)]
    return [(f"{path}[{number}]", name) for number, name in enumerate(entry)]
