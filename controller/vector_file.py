"""Reads a file of placement cases: JSON, checked as a whole, to the cases of `planning.vectors`.

A file is a list of cases, or ``{"cases": [...]}``. Every mistake is reported, each with its case, its field and what
was expected there. Fabrics are judged by the rules of fabric files.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ringlight.controller.planning.order import Chain
from ringlight.controller.planning.vectors import Case, Score, chain_span
from ringlight.fabric.assembly import assemble
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.form import read_form
from ringlight.fabric.problem import Problem, WrongFileError, shown, under
from ringlight.fabric.schema import MAX_K, MAX_NODES
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import HopKey, Wiring

_FORM = (
    "a case such as {'nodes': 8, 'k': 2, 'closed': true, 'nodes_per_ring': 4, 'expect': {'rings': 2, 'kept': 0}, ...}"
)
_EXPECTED = {
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
}

Position = Annotated[int, Field(ge=0, lt=MAX_NODES)]
Count = Annotated[int, Field(ge=1, le=MAX_NODES)]
FromZero = Annotated[int, Field(ge=0, le=MAX_NODES)]
ChainEntry = Annotated[list[Position], Field(min_length=1)]
HopEntry = Annotated[list[Position], Field(min_length=2, max_length=2)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _ScoreEntry(_Entry):
    """The best there is."""

    rings: FromZero
    kept: FromZero


class _CaseEntry(_Entry):
    """One case, as it is written. Its fabric is judged later, by the rules of fabric files."""

    name: str | None = None
    nodes: Count
    k: Annotated[int, Field(ge=1, le=MAX_K)] | None = None
    closed: bool
    distances: list[Any] | None = None
    ports: dict[str, Any] | None = None
    down: list[Position] = []
    dead_hops: list[HopEntry] = []
    nodes_per_ring: Count
    existing: list[ChainEntry] = []
    others: list[ChainEntry] = []
    rings_wanted: FromZero | None = None
    expect: _ScoreEntry


class VectorFileError(WrongFileError):
    """A file of placement cases is wrong."""

    advice = "docs/operations.md tells what a case holds"
    most_shown = 20  # a file made by a program has the same one in every case


def load_cases(path: Path) -> tuple[Case, ...]:
    """Read a file of placement cases.

    Raises:
        VectorFileError: unreadable or wrong; lists every mistake.
    """
    return parse_cases(VectorFileError.read(path), source=str(path))


def parse_cases(text: str, *, source: str) -> tuple[Case, ...]:
    """Read the text of a file of placement cases; `source` names it in errors.

    Raises:
        VectorFileError: wrong; lists every mistake.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise VectorFileError(source, [Problem(f"line {error.lineno}", f"is not JSON: {error.msg}")]) from error
    except RecursionError as error:
        raise VectorFileError(source, [Problem("", "is nested too deeply")]) from error
    entries = document.get("cases") if isinstance(document, dict) else document
    if not isinstance(entries, list) or not entries:
        wanted = "expected a list of cases, or {'cases': [...]}, with at least one case"
        raise VectorFileError(source, [Problem("", f"{wanted}; found {shown(document)}")])
    cases: list[Case] = []
    problems: list[Problem] = []
    for number, entry in enumerate(entries):
        reader = _Reader(number, entry)
        case = reader.case()
        if case is not None:
            cases.append(case)
        problems += reader.problems
    if problems:
        raise VectorFileError(source, problems)
    return tuple(cases)


class _Reader:
    """Reads one case, and collects its mistakes."""

    def __init__(self, number: int, document: Any) -> None:
        self.problems: list[Problem] = []
        self._document = document
        name = document.get("name") if isinstance(document, dict) else None
        self._name = f"{number} ({name})" if isinstance(name, str) and name else str(number)

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(f"case {self._name}{': ' if path else ''}{path}", message))

    def case(self) -> Case | None:
        """The case, or None; see `problems`."""
        if not isinstance(self._document, dict):
            self._problem("", f"expected {_FORM}, found {shown(self._document)}")
            return None
        try:
            entry = _CaseEntry.model_validate(self._document)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                self._problem(_path_of(details), _in_words(details))
            return None
        spec = self._spec(entry)
        if spec is None:
            return None
        wiring = Wiring(spec)
        self._check_faults(entry, wiring)
        self._check_rings(entry, wiring)
        if self.problems:
            return None
        return Case(
            name=self._name,
            spec=spec,
            down=frozenset(entry.down),
            dead_hops=frozenset(HopKey(*hop) for hop in entry.dead_hops),
            nodes_per_ring=entry.nodes_per_ring,
            existing=tuple(map(tuple, entry.existing)),
            others=tuple(map(tuple, entry.others)),
            rings_wanted=entry.rings_wanted,
            expected=Score(entry.expect.rings, entry.expect.kept),
        )

    def _spec(self, entry: _CaseEntry) -> FabricSpec | None:
        """The fabric of a case, as a fabric file would describe it."""
        parts = {"k": entry.k, "distances": entry.distances, "ports": entry.ports}
        given = {key: value for key, value in parts.items() if value is not None}
        document = {"name": "case", "closed": entry.closed, "gpus": MAX_K, "nodes": {"count": entry.nodes}, **given}
        form, problems = read_form(document)
        spec, problems = assemble(form, problems)
        for problem in problems:
            self._problem(problem.path, problem.message)
        return spec

    def _check_faults(self, entry: _CaseEntry, wiring: Wiring) -> None:
        for number, position in enumerate(entry.down):
            self._check_position(f"down[{number}]", position, wiring)
        for number, (position, distance) in enumerate(entry.dead_hops):
            self._check_position(f"dead_hops[{number}][0]", position, wiring)
            if distance not in wiring.spec.distances:
                known = ", ".join(map(str, wiring.spec.distances))
                self._problem(f"dead_hops[{number}][1]", f"expected one of the distances {known}, found {distance}")

    def _check_position(self, path: str, position: int, wiring: Wiring) -> None:
        if position >= wiring.size:
            self._problem(path, f"expected a position from 0 to {wiring.size - 1}, found {position}")

    def _check_rings(self, entry: _CaseEntry, wiring: Wiring) -> None:
        taken: dict[int, str] = {}
        for path, chain in _chains(entry):
            before = len(self.problems)
            for number, position in enumerate(chain):
                self._check_position(under(path, number), position, wiring)
            if len(self.problems) > before:
                continue
            if path.startswith("existing") and len(chain) != entry.nodes_per_ring:
                self._problem(path, f"expected nodes_per_ring = {entry.nodes_per_ring} nodes, found {len(chain)}")
                continue
            try:
                span = chain_span(wiring, chain)
            except InvalidError as error:
                self._problem(path, f"expected a chain that can be laid: {error}")
                continue
            if rivals := sorted({taken[position] for position in span if position in taken}):
                self._problem(path, f"expected a ring beside the others; it lies over {' and '.join(rivals)}")
            taken.update(dict.fromkeys(span, path))


def _chains(entry: _CaseEntry) -> Iterator[tuple[str, Chain]]:
    for field, chains in (("existing", entry.existing), ("others", entry.others)):
        for number, chain in enumerate(chains):
            yield f"{field}[{number}]", tuple(chain)


def _path_of(details: ErrorDetails) -> str:
    path = ""
    for part in details["loc"]:
        path = under(path, part)
    return path


def _in_words(details: ErrorDetails) -> str:
    kind, found = details["type"], shown(details["input"])
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        form = _ScoreEntry if details["loc"][0] == "expect" and len(details["loc"]) > 1 else _CaseEntry
        return f"unknown field; known are {', '.join(form.model_fields)}"
    limits = details.get("ctx", {})
    match kind:
        case "greater_than_equal":
            return f"expected a whole number of at least {limits['ge']}, found {found}"
        case "less_than" | "less_than_equal":
            return f"expected a whole number below {limits.get('lt', limits.get('le', 0) + 1)}, found {found}"
        case "too_short" | "too_long":
            field = details["loc"][0]
            return "expected [position, distance]" if field == "dead_hops" else "expected at least one node"
        case _:
            return f"expected {_EXPECTED[kind]}, found {found}" if kind in _EXPECTED else details["msg"]
