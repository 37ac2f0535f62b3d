"""Reads a fabric file: YAML, checked as a whole, to a `FabricSpec`.

Every mistake is reported, not only the first, each with its path in the file and what was expected there. A file that
passes describes a fabric that can be built: ports exist and are used once, ends of fibres agree, bundles sit on edges
of their own, and a closed order is long enough for its hops to be distinct.
"""

import difflib
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.schema import BundleEntry, FabricEntry, NodeEntry, NodeRange, is_tag
from ringlight.fabric.spec import (
    BundleSpec,
    FabricSpec,
    Fibre,
    NodeSpec,
    Port,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
)

_PORT_KEY = re.compile(r"b(\d+)\.p([12])")
_PORT_NAME = re.compile(r"([^/]+)/b(\d+)\.p([12])")
_PATHS = {"1": Path.PATH_1, "2": Path.PATH_2}
_FABRIC_KEYS = tuple(FabricEntry.model_fields)
_KEYS_UNDER = {
    "<range>": tuple(NodeRange.model_fields),
    "<node>": tuple(NodeEntry.model_fields),
    "<bundles>": tuple(BundleEntry.model_fields),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where in the file, and what is wrong there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class FabricFileError(InvalidError):
    """A fabric file is wrong.

    Attributes:
        source: the file.
        problems: every mistake that was found.
    """

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = f"{len(problems)} mistakes" if len(problems) > 1 else "a mistake"
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(
            f"{source} has {count}:\n{lines}", hint="correct the file; docs/fabric-file.md explains its keys"
        )


def load_fabric(path: FilePath) -> FabricSpec:
    """Read a fabric file.

    Raises:
        FabricFileError: unreadable or wrong; lists every mistake.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FabricFileError(str(path), [Problem("", f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise FabricFileError(str(path), [Problem("", "is not UTF-8 text")]) from error
    return parse_fabric(text, source=str(path))


def parse_fabric(text: str, *, source: str) -> FabricSpec:
    """Read the text of a fabric file; `source` names it in errors.

    Raises:
        FabricFileError: wrong; lists every mistake.
    """
    document = _read_yaml(text, source)
    try:
        entry = FabricEntry.model_validate(document)
    except ValidationError as error:
        raise FabricFileError(source, _form_problems(error)) from error
    builder = _Builder(entry)
    spec = builder.build()
    if spec is None or builder.problems:
        raise FabricFileError(source, builder.problems)
    return spec


# -- the form ----------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key written twice, which plain YAML silently lets win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys differ."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is written twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _read_yaml(text: str, source: str) -> dict[str, Any]:
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise FabricFileError(source, [Problem(line, error.problem or "is not YAML")]) from error
    except yaml.YAMLError as error:
        raise FabricFileError(source, [Problem("", f"is not YAML: {error}")]) from error
    if not isinstance(document, dict):
        expected = f"expected keys such as {', '.join(_FABRIC_KEYS[:4])}"
        raise FabricFileError(source, [Problem("", f"{expected}, found {_shown(document)}")])
    return document


def _form_problems(error: ValidationError) -> list[Problem]:
    """Mistakes of form, in our words."""
    return [
        Problem(_path_of([part for part in details["loc"] if not is_tag(part)]), _in_words(details))
        for details in error.errors(include_url=False)
    ]


def _path_of(location: list[int | str]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _in_words(details: ErrorDetails) -> str:
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(details)
    expected = {
        "int_type": "a whole number",
        "string_type": "text",
        "bool_type": "true or false",
        "greater_than_equal": f"at least {context.get('ge')}",
        "less_than_equal": f"at most {context.get('le')}",
        "string_pattern_mismatch": "a name of letters, digits, '.', '_' and '-', beginning with a letter or digit",
        "string_too_long": f"at most {context.get('max_length')} characters",
        "too_short": "both ends of the fibre, [port, port]",
        "too_long": "both ends of the fibre, [port, port]",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "model_attributes_type": "a mapping",
    }.get(kind)
    return f"expected {expected}, found {_shown(value)}" if expected else f"{details['msg']}, found {_shown(value)}"


def _unknown_key(details: ErrorDetails) -> str:
    key, tags = str(details["loc"][-1]), [part for part in details["loc"] if is_tag(part)]
    known = _KEYS_UNDER[str(tags[-1])] if tags else _FABRIC_KEYS
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"unknown key; did you mean {nearest[0]!r}?" if nearest else f"unknown key; known are {', '.join(known)}"


def _shown(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return repr(value)


# -- the sense ---------------------------------------------------------------------------------------------------------


class _Builder:
    """Builds the fabric, and collects what makes no sense."""

    def __init__(self, entry: FabricEntry) -> None:
        self.problems: list[Problem] = []
        self._entry = entry

    def build(self) -> FabricSpec | None:
        """The fabric, or None when it cannot be built; see `problems`."""
        entry = self._entry
        nodes = self._nodes()
        bundles = self._bundles()
        self._check_size(len(nodes))
        if self.problems:
            return None
        fibres = tuple(self._fibres(nodes, bundles))
        return FabricSpec(entry.name, entry.k, entry.closed, entry.gpus, bundles, nodes, fibres)

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def _nodes(self) -> tuple[NodeSpec, ...]:
        match self._entry.nodes:
            case NodeRange() as numbers:
                names = (f"{numbers.prefix}{numbers.first + number}" for number in range(numbers.count))
                racks = numbers.racks
                return tuple(NodeSpec(name, f"rack{p % racks}" if racks else "") for p, name in enumerate(names))
            case entries:
                nodes = [NodeSpec(e) if isinstance(e, str) else NodeSpec(e.name, e.rack) for e in entries]
        first_at: dict[str, int] = {}
        for position, node in enumerate(nodes):
            if first_at.setdefault(node.name, position) != position:
                self._problem(f"nodes[{position}]", f"{node.name!r} is nodes[{first_at[node.name]}] already")
        if not nodes:
            self._problem("nodes", "expected at least one node")
        return tuple(nodes)

    def _bundles(self) -> tuple[BundleSpec, ...]:
        entry, needed = self._entry, max(2, self._entry.k)
        if entry.k > entry.gpus:
            self._problem("k", f"expected at most the {entry.gpus} GPUs of a node, found {entry.k}")
            return ()
        count = entry.bundles if isinstance(entry.bundles, int) else len(entry.bundles or range(needed))
        if count != needed:
            self._problem("bundles", f"expected max(2, k) = {needed} bundles, found {count}")
            return ()
        if not isinstance(entry.bundles, list):
            return default_bundles(entry.k, entry.gpus)
        on_edge: dict[int, int] = {}
        for number, bundle in enumerate(entry.bundles):
            if bundle.edge >= entry.gpus:
                expected = f"an edge from 0 to {entry.gpus - 1}"
                self._problem(f"bundles[{number}].edge", f"expected {expected}, found {bundle.edge}")
            elif on_edge.setdefault(bundle.edge, number) != number:
                taken = f"edge {bundle.edge} holds bundles[{on_edge[bundle.edge]}] already"
                self._problem(f"bundles[{number}].edge", taken)
        return tuple(BundleSpec(bundle.edge, bundle.modules) for bundle in entry.bundles)

    def _check_size(self, nodes: int) -> None:
        least = 2 * self._entry.k + 1
        if self._entry.closed and nodes < least:
            message = f"a closed order with k = {self._entry.k} needs at least 2k+1 = {least} nodes, found {nodes}"
            self._problem("nodes", f"{message}; add nodes, or say closed: false")
        if self._entry.ports is not None and self._entry.fibres is not None:
            self._problem("fibres", "give a port map or a list of fibres, not both")

    def _fibres(self, nodes: tuple[NodeSpec, ...], bundles: tuple[BundleSpec, ...]) -> Iterator[Fibre]:
        entry = self._entry
        if entry.fibres is None:
            offsets = default_port_map(entry.k) if entry.ports is None else self._port_map(entry.ports, len(bundles))
            yield from fibres_of_port_map(offsets, len(nodes), closed=entry.closed)
            return
        position_of = {node.name: position for position, node in enumerate(nodes)}
        used: dict[Port, str] = {}
        hops: dict[tuple[int, int], str] = {}
        for number, pair in enumerate(entry.fibres):
            path = f"fibres[{number}]"
            ends = [self._port(f"{path}[{i}]", name, position_of, len(bundles)) for i, name in enumerate(pair)]
            for i, end in enumerate(ends):
                if end is not None and used.setdefault(end, f"{path}[{i}]") != f"{path}[{i}]":
                    self._problem(f"{path}[{i}]", f"port {pair[i]} is used by {used[end]} already")
            fibre = self._fibre(path, ends, len(nodes))
            if fibre is None:
                continue
            key = fibre.a.position, (fibre.b.position - fibre.a.position) % len(nodes)
            if hops.setdefault(key, path) != path:
                self._problem(path, f"joins the same two nodes as {hops[key]}; one fibre a hop")
            yield fibre

    def _port_map(self, ports: dict[str, int], bundles: int) -> dict[tuple[int, Path], int]:
        """Offsets by port, with a way back for each way forward."""
        offsets: dict[tuple[int, Path], int] = {}
        at: dict[int, str] = {}
        for key, offset in ports.items():
            match = _PORT_KEY.fullmatch(key)
            if match is None or int(match[1]) >= bundles:
                self._problem(f"ports.{key}", f"expected a port b0.p1 .. b{bundles - 1}.p2")
            elif offset == 0 or abs(offset) > self._entry.k:
                self._problem(f"ports.{key}", f"expected an offset from 1 to {self._entry.k} or back, found {offset}")
            elif at.setdefault(offset, key) != key:
                self._problem(f"ports.{key}", f"offset {offset:+d} is at ports.{at[offset]} already")
            else:
                offsets[int(match[1]), _PATHS[match[2]]] = offset
        for offset, key in at.items():
            if -offset not in at:
                self._problem(f"ports.{key}", f"no port leads back: offset {-offset:+d} is missing")
        return {} if self.problems else offsets

    def _port(self, path: str, name: str, position_of: dict[str, int], bundles: int) -> Port | None:
        match = _PORT_NAME.fullmatch(name)
        if match is None:
            self._problem(path, f"expected a port such as n0/b0.p1, found {name!r}")
        elif match[1] not in position_of:
            nearest = difflib.get_close_matches(match[1], position_of, n=1)
            self._problem(path, f"no node {match[1]!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else ""))
        elif int(match[2]) >= bundles:
            self._problem(path, f"no bundle b{match[2]}: a node has b0 .. b{bundles - 1}")
        else:
            return Port(position_of[match[1]], int(match[2]), _PATHS[match[3]])
        return None

    def _fibre(self, path: str, ends: list[Port | None], nodes: int) -> Fibre | None:
        """A fibre from its lower to its higher end, along the order."""
        one, other = ends
        if one is None or other is None:
            return None
        forward = other.position - one.position
        for low, high, distance in ((one, other, forward), (other, one, -forward)):
            steps = distance % nodes if self._entry.closed else distance
            if 1 <= steps <= self._entry.k:
                return Fibre(low, high)
        where = "the same node" if forward == 0 else f"nodes {abs(forward)} positions apart"
        self._problem(path, f"its ends disagree: it joins {where}, and k = {self._entry.k} allows 1 to {self._entry.k}")
        return None
