"""One mistake in a fabric file. Every stage of reading a file makes them; none stops at the first."""

from dataclasses import dataclass

_LONGEST = 60  # characters of a value that a message repeats


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake.

    Attributes:
        path: where in the file: ``nodes[3].name``, or ``line 4`` of what is not YAML; empty for the file as a whole.
        message: what is wrong there, and what was expected.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def under(path: str, part: int | str) -> str:
    """The path of a list's item or of a mapping's key."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    return f"{path}.{part}" if path else part


def shown(value: object) -> str:
    """What was found, for a message: short, and in words a person wrote."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]!r}..."
        case _:
            return repr(value)
