"""Reads an agent's configuration file. Every mistake is reported, with its place and with what would be right there.

A file is judged in two steps: its form, and then what it means together with the fabric that it names. The second is
skipped while the first has something to say, since it would only repeat it.
"""

import difflib
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ringlight.agents.backends import problems_of
from ringlight.agents.configuration import ADDRESS, AGENT, AgentConfiguration, AgentFile
from ringlight.agents.state_file import AGENT_ID_FORM
from ringlight.fabric.document import read_document
from ringlight.fabric.file import load_fabric
from ringlight.fabric.problem import Problem, WrongFileError, by_path, shown, under
from ringlight.fabric.setting import limits_of
from ringlight.fabric.wiring import Wiring

_SCHEMA: dict[str, Any] = AgentFile.model_json_schema()
_LIMITS = {"enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_KEYS = ", ".join(list(_SCHEMA["properties"])[:4])
_FORMS = {ADDRESS: "expected an address such as 127.0.0.1:7400", AGENT: f"expected {AGENT_ID_FORM}"}


class AgentFileError(WrongFileError):
    """An agent's configuration file is wrong."""

    advice = "docs/agent.md explains every key, and `ringlight config show --agent` lists the settings"


def load_agent_file(path: Path) -> AgentConfiguration:
    """Read an agent's file, and the fabric file that it names.

    Raises:
        AgentFileError: unreadable, not YAML, an unknown key or a value out of range, or it does not fit the fabric;
            every mistake is listed.
        FabricFileError: the fabric file is wrong.
    """
    document, problems = read_document(AgentFileError.read(path))
    if not isinstance(document, dict):
        expected = Problem("", f"expected keys such as {_KEYS}, found {shown(document)}")
        raise AgentFileError(str(path), problems or [expected])
    found = _checked(document)
    if problems or not isinstance(found, AgentFile):
        raise AgentFileError(str(path), by_path([*problems, *(() if isinstance(found, AgentFile) else found)]))
    wiring = None if found.fabric is None else Wiring(load_fabric(found.fabric))
    if wrong := problems_of(found, wiring):
        raise AgentFileError(str(path), by_path(wrong))
    return AgentConfiguration(found, wiring)


def _checked(document: object) -> AgentFile | list[Problem]:
    try:
        return AgentFile.model_validate(document)
    except ValidationError as error:
        return [_mistake(one["loc"], one["type"], one["msg"]) for one in error.errors(include_url=False)]


def _mistake(location: Sequence[int | str], kind: str, message: str) -> Problem:
    key = reduce(under, location, "")
    schema = _schema_at(location)
    match kind:
        case "extra_forbidden" | "unexpected_keyword_argument":
            return Problem(key, f"there is no such key{_meant(location)}")
        case "missing":
            return Problem(key, f"is missing: {' '.join(schema.get('description', 'it is required').split())}")
        case "model_type" | "dataclass_type" | "dict_type":
            return Problem(key, "expected keys that stand below it, indented")
        case "string_pattern_mismatch":
            return Problem(key, _FORMS.get(schema.get("pattern", ""), message))
    text = message.removeprefix("Value error, ")
    return Problem(key, f"{text} (allowed is {limits_of(schema)})" if _LIMITS & schema.keys() else text)


def _meant(location: Sequence[int | str]) -> str:
    *within, name = location
    known = list(_schema_at(within).get("properties", {}))
    if close := difflib.get_close_matches(str(name), known, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; keys here are {', '.join(known)}" if known else ""


def _schema_at(location: Sequence[int | str]) -> Mapping[str, Any]:
    """The JSON schema of a place; empty where there is none."""
    return reduce(_below, location, _SCHEMA)


def _below(schema: Mapping[str, Any], part: int | str) -> Mapping[str, Any]:
    outer = _resolved(schema)
    if isinstance(part, int):
        inner = outer.get("items", {})
    else:
        inner = outer.get("properties", {}).get(part) or outer.get("additionalProperties") or {}
    return _resolved(inner) if isinstance(inner, Mapping) else {}


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references and without the choice of leaving it out; it keeps what is said where it is used."""
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return _resolved({**choice, **{key: value for key, value in schema.items() if key != "anyOf"}})
    if "$ref" in schema:
        return {**_SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
    return schema
