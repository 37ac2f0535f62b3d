"""Judges the form of a document: known keys, and values of the kind each key wants, in words for a person.

What is wrong is reported and taken out, item by item, so that what is right can still be judged as a whole.
"""

import difflib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ringlight.fabric.problem import Problem, shown, under
from ringlight.fabric.schema import EXPECTED, FABRIC_KEYS, KEYS_UNDER, FabricEntry, is_tag

_CONTAINERS = {
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "too_short": "both ends of the fibre, [port, port]",
    "too_long": "both ends of the fibre, [port, port]",
}


def read_form(document: dict[str, Any]) -> tuple[FabricEntry, list[Problem]]:
    """The file's entry, with None where it was wrong, and the mistakes of form.

    A None in the document is a mistake that was reported by whoever put it there.
    """
    try:
        return FabricEntry.model_validate(document), []
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    problems: list[Problem] = []
    wrong: list[list[int | str]] = []
    pruned = _copy(document)
    for details in mistakes:
        keys, _ = _split_location(details)
        if details["type"] == "extra_forbidden":
            _remove(pruned, keys)
        else:
            wrong.append(keys)
            if details["input"] is None:
                continue
        problems.append(Problem(_path_of(keys), _in_words(details)))
    for keys in wrong:
        _blank(pruned, keys)
    return FabricEntry.model_validate(pruned), problems


def _split_location(details: ErrorDetails) -> tuple[list[int | str], list[str]]:
    """The keys that lead to a mistake, and the tags of the forms on the way. An unknown key may look like a tag."""
    location = list(details["loc"])
    if location[0] == "ports":  # a plain mapping: its keys are the file's own, whatever they look like
        return list(location), []
    unknown = [location.pop()] if details["type"] == "extra_forbidden" else []
    tags = [str(part) for part in location if is_tag(part)]
    return [*(part for part in location if not is_tag(part)), *unknown], tags


def _copy(value: Any, depth: int = 3) -> Any:
    """A document of which parts can be taken out. No form is deeper than a key of an item of a list."""
    if depth and isinstance(value, list):
        return [_copy(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {key: _copy(item, depth - 1) for key, item in value.items()}
    return value


def _remove(document: Any, keys: list[int | str]) -> None:
    """Take out a key that should not be there; what holds it may still be right."""
    for key in keys[:-1]:
        document = document[key]
    del document[keys[-1]]


def _blank(document: dict[str, Any], keys: list[int | str]) -> None:
    """Take out the smallest part of the file that the rest can be judged without: an item, or a key's whole value."""
    field = str(keys[0])
    if document.get(field) is not None and len(keys) > 1 and (field == "ports" or isinstance(document[field], list)):
        document[field][keys[1]] = None
    else:
        document[field] = None


def _path_of(keys: list[int | str]) -> str:
    path = ""
    for key in keys:
        path = under(path, key)
    return path


def _in_words(details: ErrorDetails) -> str:
    kind = details["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(details)
    expected = details["msg"] if kind == EXPECTED else _CONTAINERS.get(kind)
    found = shown(details["input"])
    if expected is None:
        return f"{details['msg']}, found {found}"
    # YAML reads names such as 7, on and no as numbers and booleans.
    quoted = "; put it in quotes" if expected.startswith(("a name", "text")) else ""
    is_plain = isinstance(details["input"], (int, float))
    return f"expected {expected}, found {found}{quoted if is_plain else ''}"


def _unknown_key(details: ErrorDetails) -> str:
    keys, tags = _split_location(details)
    key = str(keys[-1])
    known = KEYS_UNDER[tags[-1]] if tags else FABRIC_KEYS
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"unknown key; did you mean {nearest[0]!r}?" if nearest else f"unknown key; known are {', '.join(known)}"
