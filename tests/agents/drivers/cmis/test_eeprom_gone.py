"""A file whose file system went away under it."""

import errno
import os

import pytest

from ringlight.agents.drivers.cmis.eeprom import EepromFile
from ringlight.fabric.errors import UnavailableError


async def test_a_file_that_cannot_even_be_closed_is_let_go(tmp_path, monkeypatch):
    path = tmp_path / "eeprom"
    path.write_bytes(bytes(512))
    file = EepromFile(path)
    await file.open()
    assert await file.read(0, 0, 2) == b"\0\0"
    close = os.close

    def fails(number):
        close(number)
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    with monkeypatch.context() as patched:
        patched.setattr(os, "close", fails)
        await file.close()
    with pytest.raises(UnavailableError):
        await file.read(0, 0, 2)
