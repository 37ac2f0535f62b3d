"""Mistakes in a file. Every stage of reading one makes them; none stops at the first."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import ClassVar

from ringlight.fabric.errors import InvalidError

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


class WrongFileError(InvalidError):
    """A file is wrong, or cannot be read. Each kind of file has its own.

    Attributes:
        source: the file.
        problems: every mistake that was found.
    """

    advice: ClassVar[str]  # where to read what such a file holds
    most_shown: ClassVar[int | None] = None  # mistakes that the message lists; None for all

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = "a mistake" if len(self.problems) == 1 else f"{len(self.problems)} mistakes"
        shown_problems = self.problems[: self.most_shown]
        lines = [f"  {problem}" for problem in shown_problems]
        if more := len(self.problems) - len(shown_problems):
            lines.append(f"  and {more} more")
        super().__init__("\n".join([f"{source} has {count}:", *lines]), hint=f"correct the file; {self.advice}")

    @classmethod
    def read(cls, path: FilePath) -> str:
        """The text of a file of this kind.

        Raises:
            WrongFileError: of the kind; it cannot be read.
        """
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise cls(str(path), [Problem("", f"cannot be read: {error.strerror}")]) from error
        except UnicodeDecodeError as error:
            raise cls(str(path), [Problem("", "is not UTF-8 text")]) from error


def by_path(problems: Iterable[Problem]) -> list[Problem]:
    """One line a place: that a key has no value, and which it may have, is one mistake."""
    messages: dict[str, list[str]] = {}
    for problem in problems:
        messages.setdefault(problem.path, []).append(problem.message)
    return [Problem(path, "; ".join(said)) for path, said in messages.items()]


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
