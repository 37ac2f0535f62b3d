"""What is said to a matrix switch, and what its answers mean: SCPI as text, both ways, and nothing else.

Pure functions. A set command has no answer, so everything here that changes something is a `str` to be followed by a
query. Answers are read leniently where the manuals of several releases differ (blanks, quotes, case, ranges in lists),
and refused as a whole where they make no sense: half an answer says nothing about a switch.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ringlight.fabric.errors import UnavailableError

IDENTIFY = "*idn?"
SIZE = ":oxc:swit:size?"
CONNECTIONS = ":oxc:swit:conn:stat?"
BOOT_MODE = ":oxc:boot:mode?"
NEXT_ERROR = ":syst:err?"
COMPLETE = "*opc?"
MOST_POWERS = 256
"""Ports that one query of powers may name."""

_SIZE_IN_MODEL = re.compile(r"-(\d+)x(\d+)-", re.IGNORECASE)
_LISTS = re.compile(r"\(@([^()]*)\),\(@([^()]*)\)")
_MOST_PORTS = 100_000  # of a range in a list: more than any switch has


class NotUnderstoodError(UnavailableError):
    """A switch answered with something that makes no sense as an answer to what it was asked."""


class PortState(Enum):
    """State of a port, in the letter the switch uses."""

    DISABLED = "D"
    ENABLED = "E"
    FAILED = "F"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a switch says it is.

    Attributes:
        maker: of the switch.
        model: such as ``N-OST-24x24-LA1-DMHNS``.
        serial: number.
        firmware: release.
    """

    maker: str
    model: str
    serial: str
    firmware: str

    @property
    def size(self) -> tuple[int, int] | None:
        """Ingresses and egresses by the model's name; None when it does not tell."""
        found = _SIZE_IN_MODEL.search(self.model)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class DeviceError:
    """An entry of the switch's error queue. Negative codes are SCPI's own."""

    code: int
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.text!r}"


# -- what is said ------------------------------------------------------------------------------------------------------


def connect(pairs: Mapping[int, int]) -> str:
    """Add cross-connects, ingress to egress. Has no answer."""
    return f":oxc:swit:conn:add {port_list(pairs)},{port_list(pairs.values())}"


def disconnect(pairs: Mapping[int, int]) -> str:
    """Remove cross-connects. Has no answer."""
    return f":oxc:swit:conn:sub {port_list(pairs)},{port_list(pairs.values())}"


def port_states(ports: Iterable[int]) -> str:
    """Ask for the states of ports."""
    return f":oxc:swit:port:stat? {port_list(ports)}"


def powers(ports: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Ask for the powers at ports: as many queries as it takes, each with the ports it names."""
    for first in range(0, len(ports), MOST_POWERS):
        some = ports[first : first + MOST_POWERS]
        yield f":pmon:pow? {port_list(some)}", some


def port_list(ports: Iterable[int]) -> str:
    """``(@1,2,3)``."""
    return f"(@{','.join(map(str, ports))})"


# -- what is answered --------------------------------------------------------------------------------------------------


def identity_from(answer: str) -> Identity:
    """Read the answer to ``*idn?``.

    Raises:
        NotUnderstoodError: it is no identity.
    """
    fields = [field.strip() for field in answer.split(",")]
    if len(fields) != 4 or not all(fields):  # noqa: PLR2004 - IEEE 488.2 prescribes four fields
        raise _not_understood(IDENTIFY, answer)
    return Identity(*fields)


def size_from(answer: str) -> tuple[int, int]:
    """Read how many ingresses and egresses there are.

    Raises:
        NotUnderstoodError: that is not what it says.
    """
    numbers = [part.strip() for part in answer.split(",")]
    if len(numbers) != 2 or not all(map(_is_number, numbers)):  # noqa: PLR2004 - two sides
        raise _not_understood(SIZE, answer)
    return int(numbers[0]), int(numbers[1])


def connections_from(answer: str) -> dict[int, int]:
    """Read every cross-connect, egress by ingress.

    Raises:
        NotUnderstoodError: the lists cannot be read, differ in length, or name a port twice.
    """
    found = _LISTS.fullmatch("".join(answer.split()))
    if found is None:
        raise _not_understood(CONNECTIONS, answer)
    ingresses, egresses = (_ports_from(part, CONNECTIONS, answer) for part in found.groups())
    pairs = dict(zip(ingresses, egresses, strict=False))
    if not len(ingresses) == len(egresses) == len(pairs) == len(set(egresses)):
        raise _not_understood(CONNECTIONS, answer)
    return pairs


def port_states_from(answer: str, ports: Sequence[int]) -> dict[int, PortState]:
    """Read the states of the ports that were asked for.

    Raises:
        NotUnderstoodError: other than one known letter a port.
    """
    try:
        states = [PortState(letter.upper()) for letter in _items(answer)]
        return dict(zip(ports, states, strict=True))
    except ValueError:
        raise _not_understood(":oxc:swit:port:stat?", answer) from None


def powers_from(answer: str, ports: Sequence[int]) -> dict[int, float | None]:
    """Read the powers at the ports that were asked for, in dBm; -inf where it is dark, None where it is not measured.

    Raises:
        NotUnderstoodError: other than one number a port.
    """
    try:
        values = [float(item) for item in _items(answer)]
        return {port: None if math.isnan(value) else value for port, value in zip(ports, values, strict=True)}
    except ValueError:
        raise _not_understood(":pmon:pow?", answer) from None


def boot_mode_from(answer: str) -> str:
    """Read what the switch does when its power comes back, in upper case: ``DARK``, ``REST`` or ``AUT``, or longer."""
    return answer.strip().strip("\"'").upper()


def error_from(answer: str) -> DeviceError | None:
    """Read an entry of the error queue; None when it is empty.

    Raises:
        NotUnderstoodError: it is no entry.
    """
    code, _, text = answer.partition(",")
    try:
        number = int(code)
    except ValueError:
        raise _not_understood(NEXT_ERROR, answer) from None
    return DeviceError(number, text.strip().strip('"')) if number else None


def _items(answer: str) -> list[str]:
    """``(a,b)`` as its items; ``()`` has none."""
    inner = answer.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        raise ValueError(answer)
    inner = inner[1:-1].strip()
    return [item.strip() for item in inner.split(",")] if inner else []


def _ports_from(text: str, question: str, answer: str) -> list[int]:
    """``1,2,5:7`` as ports."""
    ports: list[int] = []
    for item in text.split(",") if text else []:
        first, colon, last = item.partition(":")
        if not _is_number(first) or not _is_number(last if colon else first):
            raise _not_understood(question, answer)
        low, high = int(first), int(last or first)
        if abs(high - low) > _MOST_PORTS:
            raise _not_understood(question, answer)
        ports.extend(range(low, high + 1) if low <= high else range(low, high - 1, -1))
    return ports


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10  # noqa: PLR2004 - digits: longer is no port


def _not_understood(question: str, answer: str) -> NotUnderstoodError:
    shown = answer if len(answer) < 80 else f"{answer[:80]}..."  # noqa: PLR2004 - as much as a line of a log takes
    return NotUnderstoodError(
        f"the switch answered {question!r} with {shown!r}", hint="is this the address of a Polatis switch's SCPI port?"
    )
