"""docs/emulator.md names every way in which a module can misbehave, and its light is that of the emulator."""

import re
from pathlib import Path

from ringlight.emulator.cabling import CLEAN_LOSS
from ringlight.emulator.module import optics, thresholds
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.plant import LOWEST_RECEIVED, SENT_POWER

PAGE = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text(encoding="utf-8")


def test_every_way_to_misbehave_is_in_the_table() -> None:
    table = PAGE[PAGE.index("| `--how` |") :]
    rows = [line.split("|")[1] for line in table[: table.index("\n\n")].splitlines()[2:]]
    named = {way for row in rows for way in re.findall(r"`([a-z0-9-]+)`", row)}

    assert named == {kind.value for kind in ModuleFaultKind} - {"dead", "stuck", "slow"}


def test_the_light_in_the_table_adds_up() -> None:
    """What is said of it follows from the numbers that the emulator uses."""
    least, most = optics._LASER - optics._LASER_SPREAD, optics._LASER + optics._LASER_SPREAD
    low_loss, high_loss = optics._LOSS
    port = least - high_loss - CLEAN_LOSS, most - low_loss - CLEAN_LOSS
    receiver = port[0] - high_loss, port[1] - low_loss
    kept, back = receiver[0] - thresholds.LOS_ASSERTED, receiver[0] - thresholds.LOS_CLEARED
    lost = receiver[1] - thresholds.LOS_ASSERTED
    fast = SENT_POWER - CLEAN_LOSS
    passes = fast - LOWEST_RECEIVED

    for row in (
        f"| a laser gives | | {optics._LASER:g} dBm, up to {optics._LASER_SPREAD:g} more or less |",
        f"| the switch takes on the way out | | {low_loss:.1f} to {high_loss:.1f} dB, another for each path |",
        f"| so a port sends | {SENT_POWER:g} dBm | {least - high_loss:.1f} to {most - low_loss:.1f} dBm |",
        f"| a clean fibre takes | {CLEAN_LOSS:g} dB | {CLEAN_LOSS:g} dB |",
        f"| so a port gets | {fast:g} dBm | {port[0]:.1f} to {port[1]:.1f} dBm |",
        f"| the switch takes on the way in | | {low_loss:.1f} to {high_loss:.1f} dB |",
        f"| so a receiver gets | | {receiver[0]:.1f} to {receiver[1]:.1f} dBm |",
        f"| light is lost below | {LOWEST_RECEIVED:g} dBm, at the port | {thresholds.LOS_ASSERTED:g} dBm, at the rec",
        f"| and back from | the same | {thresholds.LOS_CLEARED:g} dBm |",
        f"| light stays through dirt of | up to {passes:g} dB | up to {kept:.1f} dB, whatever",
        f"| light comes back through dirt of | up to {passes:g} dB | up to {back:.1f} dB, whatever",
        f"| no light passes dirt of | more than {passes:g} dB | more than {lost:.1f} dB, whatever",
    ):
        assert row in PAGE
