"""Whether emulated modules can be files here."""

import pytest

from ringlight.emulator import eeprom_files
from ringlight.fabric.errors import UnavailableError


def _why_not() -> str:
    try:
        eeprom_files._load_fuse()
    except UnavailableError as error:
        return str(error)
    return ""


needs_fuse = pytest.mark.skipif(bool(_why_not()), reason=_why_not())
