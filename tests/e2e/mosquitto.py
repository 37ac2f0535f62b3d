"""A real broker on a port of its own, that can be stopped and started, and forgets everything meanwhile."""

import asyncio
from pathlib import Path
from shutil import which

import pytest

from ringlight.emulator.stack import lasting_address

PATIENCE = 30.0  # seconds no healthy test ever waits for
PROGRAM = which("mosquitto") or which("mosquitto", path="/usr/sbin:/usr/local/sbin")
needs_mosquitto = pytest.mark.skipif(PROGRAM is None, reason="mosquitto (Debian) is not installed")


class Mosquitto:
    """One broker.

    Args:
        directory: empty or new; holds its configuration and its log.
        lines: of its configuration, beside those that say where it listens.
    """

    def __init__(self, directory: Path, *lines: str) -> None:
        host, _, port = lasting_address().rpartition(":")
        self.host, self.port = host, int(port)
        directory.mkdir(parents=True, exist_ok=True)
        self._config = directory / "mosquitto.conf"
        self._log = directory / "mosquitto.log"
        said = lines or ("allow_anonymous true",)
        # As root it would become a user who may not read files of tests.
        self._config.write_text(
            "\n".join([f"listener {port} {host}", "persistence false", "log_type all", "user root", *said, ""])
        )
        self._process: asyncio.subprocess.Process | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    async def start(self) -> None:
        assert PROGRAM is not None
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                PROGRAM, "-c", self._config, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL
            )
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_connection(self.host, self.port)
                except OSError:
                    assert self._process.returncode is None, self._log.read_text()
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()
