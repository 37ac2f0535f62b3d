"""docs/polatis.md explains every command that only the emulator has."""

import re
from pathlib import Path

from ringlight.emulator.polatis.commands import COMMANDS

PAGE = (Path(__file__).parents[3] / "docs" / "polatis.md").read_text(encoding="utf-8")


def test_every_command_of_the_emulator_is_explained():
    own = {":".join(command.names) + "?" * command.query for command in COMMANDS if command.names[0] == "EMULator"}
    assert own == set(re.findall(r"`:(EMULator:[\w:]+\??)", PAGE))
