"""Emulated modules that have come up."""

import pytest

from tests.emulator.module.host import Host


@pytest.fixture
def host() -> Host:
    """A host whose module has come up."""
    up = Host()
    up.settle()
    return up
