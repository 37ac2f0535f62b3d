"""How an instrument reads a line: its commands, their parameters, and the short forms of their names (SCPI-99, 6).

A name such as ``CONNect`` may be written in full or as the part in capitals, in any case, and as nothing in between. In
a line of several commands, one that does not begin with a colon continues where the one before it stood.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ringlight.emulator.polatis.errors import DATA_TYPE_ERROR, SYNTAX_ERROR, RefusedError

_HEADER = re.compile(r"\*?[A-Za-z]+(:[A-Za-z]+)*\??")
_RANGE = re.compile(r"(\d{1,9})(?::(\d{1,9}))?")
_MOST_PORTS = 100_000  # in one list
_LONGEST_SHOWN = 200  # characters of a line in a log


@dataclass(frozen=True, slots=True)
class Unit:
    """One command of a line.

    Attributes:
        names: of its header, in upper case: ``("OXC", "SWIT", "SIZE")``, or ``("*IDN",)``.
        query: it asks.
        parameters: as written.
    """

    names: tuple[str, ...]
    query: bool
    parameters: tuple[str, ...]


def units_of(line: str) -> Iterator[Unit]:
    """The commands of a line, in order.

    Raises:
        RefusedError: one of them is no command at all; those before it were given.
    """
    here: tuple[str, ...] = ()
    for text in _split(line, ";"):
        if not text.strip():
            continue
        header, rest = (*text.split(maxsplit=1), "")[:2]
        if not _HEADER.fullmatch(header.removeprefix(":")):
            raise RefusedError(SYNTAX_ERROR)
        names = tuple(header.strip(":?").upper().split(":"))
        parameters = tuple(part.strip() for part in _split(rest, ",")) if rest.strip() else ()
        if not header.startswith("*"):
            names = names if header.startswith(":") else here + names
            here = names[:-1]
        yield Unit(names, header.endswith("?"), parameters)


def _split(text: str, separator: str) -> list[str]:
    """Split at separators that stand neither in quotes nor in brackets."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == separator and not depth:
            parts.append("")
            continue
        parts[-1] += char
    if quote or depth:
        raise RefusedError(SYNTAX_ERROR)
    return parts


def matches(pattern: str, name: str) -> bool:
    """Whether a name, in upper case, is a pattern such as ``CONNect`` in its short or its long form."""
    return name in (pattern.upper(), "".join(char for char in pattern if not char.islower()))


def ports_in(parameter: str) -> list[int]:
    """``(@1,2,5:7)`` as ports; ``(@)`` has none.

    Raises:
        RefusedError: it is no such list.
    """
    text = "".join(parameter.split())
    if not (text.startswith("(@") and text.endswith(")")):
        raise RefusedError(DATA_TYPE_ERROR)
    ports: list[int] = []
    for item in text[2:-1].split(",") if text[2:-1] else []:
        found = _RANGE.fullmatch(item)
        if found is None:
            raise RefusedError(DATA_TYPE_ERROR)
        low, high = int(found[1]), int(found[2] or found[1])
        if abs(high - low) + len(ports) > _MOST_PORTS:
            raise RefusedError(DATA_TYPE_ERROR)
        ports.extend(range(low, high + 1) if low <= high else range(low, high - 1, -1))
    return ports


def list_of(ports: Iterator[int] | list[int]) -> str:
    """``(@1,2,3)``."""
    return f"(@{','.join(map(str, ports))})"


def shown(line: str) -> str:
    """A line for a log: not longer than a person reads."""
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}..."
