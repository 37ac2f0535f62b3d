"""docs/emulator.md names every way in which a module can misbehave, and no other."""

import re
from pathlib import Path

from ringlight.emulator.module.faults import ModuleFaultKind

PAGE = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text(encoding="utf-8")


def test_every_way_to_misbehave_is_in_the_table() -> None:
    table = PAGE[PAGE.index("| `--how` |") :]
    rows = [line.split("|")[1] for line in table[: table.index("\n\n")].splitlines()[2:]]
    named = {way for row in rows for way in re.findall(r"`([a-z0-9-]+)`", row)}

    assert named == {kind.value for kind in ModuleFaultKind} - {"dead", "stuck", "slow"}
