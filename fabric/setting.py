"""One setting of a daemon as a person sees it: its value, unit, default and reason, read from its own definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: as it is written in the file, ``section.name``.
        unit: of its value; empty when it has none.
        reason: what it is, and why its default is what it is.
        limits: what values are allowed, in words.
    """

    key: str
    value: Any
    default: Any
    unit: str
    reason: str
    limits: str


def setting_from(key: str, schema: Mapping[str, Any], value: Any, default: Any) -> Setting:
    """A setting by the JSON schema of its value."""
    reason = " ".join(schema.get("description", "").split())
    return Setting(key, _plain(value), _plain(default), schema.get("unit", ""), reason, limits_of(schema))


def limits_of(schema: Mapping[str, Any]) -> str:
    """What values a JSON schema allows, in words."""
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    bounds = (
        ("exclusiveMinimum", "more than"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
    )
    words = [f"{word} {schema[bound]}" for bound, word in bounds if bound in schema]
    kind = {"integer": "a whole number", "number": "a number", "array": "a list", "object": "a table"}
    return ", ".join([kind.get(schema.get("type", ""), "a value"), *words])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
