"""Ringlight as a user has it: installed from a wheel, and not from this repository."""

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.deploy.containerfile import install_as_written


@pytest.fixture(scope="session")
def installation(tmp_path_factory) -> Path:
    """The directory that the image has as /opt/ringlight, made as deploy/Containerfile says."""
    required = Path(sysconfig.get_path("purelib"))
    return install_as_written(tmp_path_factory.mktemp("image"), sys.executable, required)
