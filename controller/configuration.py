"""The controller's configuration as a person sees it.

Every setting with its unit, its default and the reason for it; and what is wrong with a file, mistake by mistake, with
what would be right. Read from the settings' own definitions, so that nothing here has to be kept up to date.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ringlight.controller.settings import Settings
from ringlight.fabric.problem import Problem, under
from ringlight.fabric.setting import Setting, limits_of, setting_from

_DEFAULTS = Settings()
_SCHEMA: dict[str, Any] = TypeAdapter(Settings).json_schema()
_NO_SECTIONS = f"expected sections such as {', '.join(list(_SCHEMA['properties'])[:4])}"


def settings_of(settings: Settings) -> tuple[Setting, ...]:
    """Every setting, in the order of the file."""
    return tuple(
        setting_from(f"{section}.{name}", schema, _value(settings, section, name), _value(_DEFAULTS, section, name))
        for section, name, schema in _leaves()
    )


def _value(settings: Settings, section: str, name: str) -> Any:
    return getattr(getattr(settings, section), name)


def _leaves() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for section, reference in _SCHEMA["properties"].items():
        for name, schema in _resolved(reference)["properties"].items():
            yield section, name, schema


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref", "")
    resolved: Mapping[str, Any] = _SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else schema
    return resolved


def as_document(settings: Settings) -> dict[str, Any]:
    """The settings in the form of a configuration file."""
    document: dict[str, Any] = {}
    for setting in settings_of(settings):
        section, _, name = setting.key.partition(".")
        document.setdefault(section, {})[name] = setting.value
    return document


def mistakes(error: ValidationError) -> list[Problem]:
    """Every mistake of a file: its key, what is wrong there, and what would be right."""
    return [_mistake(problem["loc"], problem["type"], problem["msg"]) for problem in error.errors(include_url=False)]


def _mistake(location: Sequence[int | str], kind: str, message: str) -> Problem:
    key = reduce(under, location, "")
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return Problem(key, f"there is no such key{_meant(location)}")
    if kind == "dataclass_type":
        return Problem(key, "expected a section: its keys stand below it, indented" if key else _NO_SECTIONS)
    text = message.removeprefix("Value error, ")
    known = _leaf(location)
    return Problem(key, text if known is None else f"{text} (allowed is {limits_of(known)})")


def _meant(location: Sequence[int | str]) -> str:
    *within, name = map(str, location)
    if within:
        near, kind = [key for section, key, _ in _leaves() if section == within[0]], "keys of this section"
    else:
        near, kind = list(_SCHEMA["properties"]), "sections"
    if close := difflib.get_close_matches(name, near, n=1):
        return f"; did you mean {close[0]!r}?"
    if elsewhere := difflib.get_close_matches(name, [key for _, key, _ in _leaves()], n=1):
        homes = [f"{section}.{key}" for section, key, _ in _leaves() if key == elsewhere[0]]
        return f"; did you mean {' or '.join(homes)}?"
    return f"; {kind} are {', '.join(near)}"


def _leaf(location: Sequence[int | str]) -> Mapping[str, Any] | None:
    return next((schema for section, name, schema in _leaves() if [section, name] == list(location[:2])), None)
