"""A reader of systemd's unit files, as far as the tests need one: settings in order, and commands with their arguments.

What systemd itself thinks of a file is asked of `systemd-analyze`; this here finds out what would be executed.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SPECIFIERS = {"%E": "/etc", "%S": "/var/lib"}  # of units of the system


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit file: every assignment, with its section."""

    assignments: tuple[tuple[str, str, str], ...]

    def values(self, key: str, section: str = "Service") -> list[str]:
        return [value for where, name, value in self.assignments if (where, name) == (section, key)]

    def value(self, key: str, section: str = "Service") -> str:
        """The only value of a key."""
        (value,) = self.values(key, section)
        return value

    def environment(self) -> dict[str, str]:
        pairs = (pair for value in self.values("Environment") for pair in shlex.split(value))
        return dict(pair.split("=", 1) for pair in pairs)

    def commands(self, key: str, environment: Mapping[str, str]) -> list[list[str]]:
        """The arguments of each command of `key`, as systemd would make them."""
        return [_arguments(value, environment) for value in self.values(key)]


def read_unit(path: Path) -> Unit:
    assignments, section = [], ""
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if heading := re.fullmatch(r"\[(\w+)\]", stripped):
            section = heading[1]
            continue
        assigned = re.fullmatch(r"(\w+)=(.*)", stripped)
        if assigned is None or not section:
            raise AssertionError(f"{path.name}, line {number}: {line}")
        assignments.append((section, assigned[1], assigned[2]))
    return Unit(tuple(assignments))


def _arguments(value: str, environment: Mapping[str, str]) -> list[str]:
    for specifier, directory in SPECIFIERS.items():
        value = value.replace(specifier, directory)
    assert "%" not in value, value
    arguments: list[str] = []
    for word in shlex.split(value):
        if alone := re.fullmatch(r"\$(\w+)", word):  # one word in the file, any number of arguments
            arguments += environment[alone[1]].split()
        else:
            arguments.append(re.sub(r"\$\{(\w+)\}", lambda name: environment[name[1]], word))
    return arguments
