"""Processes that the files of deploy/ name, started as written: ready, asked, stopped."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

START_LIMIT = 30.0  # seconds
STOP_LIMIT = 15.0  # what units and compose file allow
_PAUSE = 0.1  # seconds between two looks of a health check, which is asked again and again by its nature


class Process:
    """A started process; what it prints is in `log`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    async def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_LIMIT):
            return await self._process.wait()

    async def healthy(self, check: Sequence[str], environment: Mapping[str, str]) -> None:
        """Wait until a health check, or any other question, is answered with exit code 0."""
        last = ""
        try:
            async with asyncio.timeout(START_LIMIT):
                while self._process.returncode is None:
                    code, last = await run(check, environment)
                    if code == 0:
                        return
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            pass
        raise AssertionError(f"{check} never succeeded: {last}\nits daemon printed:\n{self.output}")

    async def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def started(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> AsyncIterator[Process]:
    """Run a command until the block ends; nothing is left behind."""
    log = directory / f"{Path(command[0]).name}-{uuid.uuid4()}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=directory,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    running = Process(process, log)
    try:
        yield running
    finally:
        await running.close()


async def run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command to its end: exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(environment), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode(errors="replace")


def with_path(*first: Path) -> dict[str, str]:
    """This environment without what concerns Ringlight, and with other directories of commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RINGLIGHT_", "PYTHON"))}
    return kept | {"PATH": os.pathsep.join([*map(str, first), kept.get("PATH", os.defpath)])}


def free_addresses(number: int) -> list[str]:
    """Addresses of this machine at which nobody listens."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    return addresses
