"""A whole emulated fabric as real processes: one controller, one emulator with its agents, on free local ports.

The demo, the trace replay and the end-to-end tests all start the same commands a user would type. Nothing is left
behind: the children stop when their standard input closes, whatever happens to this process, and are waited for.
"""

import asyncio
import contextlib
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ringlight.fabric.errors import ErrorCode, RinglightError

_LASTING_PORTS = range(12_000, 32_000)
_READY_SECONDS = 30.0
_STOP_SECONDS = 10.0
_LOG_LINES = 15  # of a child that did not start, shown in the error


class StackError(RinglightError):
    """A process of the stack did not start, or ended by itself."""

    code = ErrorCode.UNAVAILABLE


class Daemon:
    """One child process: its address line, its log, its end.

    Attributes:
        addresses: what its ready line named, such as ``{"grpc": "127.0.0.1:41233"}``.
    """

    def __init__(self, name: str, arguments: list[str], log: Path) -> None:
        self.name = name
        self.addresses: dict[str, str] = {}
        self._arguments = arguments
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Process id while it runs."""
        return self._running().pid

    async def start(self) -> None:
        """Start it and wait for its ready line.

        Raises:
            StackError: it ended, or was not ready in time; the end of its log is in the message.
        """
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "ringlight.cli",
                *self._arguments,
                "--until-stdin-closes",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            line = await self._first_line(self._process)
        except asyncio.CancelledError:
            await self.stop()
            raise
        if not line.startswith(b"ready "):
            await self.stop()
            raise StackError(f"the {self.name} did not become ready:\n{self.log_tail()}", hint=f"its log: {self._log}")
        self.addresses = dict(re.findall(r"(\w+)=(\S+)", line.decode()))

    @staticmethod
    async def _first_line(process: asyncio.subprocess.Process) -> bytes:
        """The first line it prints; empty when it ends or takes too long."""
        if process.stdout is not None:
            # Not `wait_for`: in Python 3.11 it forgets a Ctrl-C that comes just when the process ends.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_READY_SECONDS):
                    return await process.stdout.readline()
        return b""

    async def stop(self) -> int:
        """Close its input, wait for its end, and return its exit code. One that hangs is killed."""
        process = self._running()
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                return await process.wait()
        except TimeoutError:
            process.kill()
            return await process.wait()

    async def kill(self) -> None:
        """End it at once, as a crash would."""
        process = self._running()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._running().send_signal(number)

    async def wait(self) -> int:
        """Wait until it ends; its exit code."""
        return await self._running().wait()

    def log_tail(self) -> str:
        """The last lines it logged."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise StackError(f"the {self.name} was never started", hint="start the stack first")
        return self._process


@dataclass(slots=True)
class Stack:
    """The processes of one emulated fabric.

    Attributes:
        directory: fabric file, settings, store, logs.
        controller_daemon: the controller's process.
        emulator_daemon: the emulator's process, agents included.
    """

    directory: Path
    controller_daemon: Daemon
    emulator_daemon: Daemon

    @property
    def controller(self) -> str:
        """Address of the controller's gRPC services."""
        return self.controller_daemon.addresses["grpc"]

    @property
    def http(self) -> str:
        """Address of the controller's metrics and health."""
        return self.controller_daemon.addresses["http"]

    @property
    def emulator(self) -> str:
        """Address of the emulator's control service."""
        return self.emulator_daemon.addresses["grpc"]

    @property
    def socket(self) -> Path:
        """Path of the emulated hardware's socket."""
        return Path(self.emulator_daemon.addresses["socket"])

    def controller_arguments(self) -> list[str]:
        """The command line that runs this controller again, on the same addresses and store."""
        return _controller_arguments(self.directory, listen=self.controller, http=self.http)

    async def restart_controller(self) -> None:
        """Start the controller again after it ended."""
        log = self.directory / "controller.log"
        self.controller_daemon = Daemon("controller", self.controller_arguments(), log)
        await self.controller_daemon.start()


@asynccontextmanager
async def run_stack(
    directory: Path,
    fabric: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    nodes_per_agent: int = 1,
    modules: str = "fast",
    seed: int = 0,
) -> AsyncIterator[Stack]:
    """Run controller and emulator until the block ends.

    Args:
        directory: empty or new; holds everything the processes write.
        fabric: the fabric file's contents.
        settings: the controller's configuration file's contents.
        nodes_per_agent: nodes that one emulated agent serves.
        modules: fidelity of the emulated hardware, ``fast`` or ``registers``.
        seed: of the emulator's randomness.

    Raises:
        StackError: a process did not start.
    """
    _write_files(directory, fabric, settings or {})
    arguments = _controller_arguments(directory, listen=lasting_address(), http=lasting_address())
    controller = Daemon("controller", arguments, directory / "controller.log")
    stack = Stack(directory, controller, controller)
    async with contextlib.AsyncExitStack() as exits:
        await controller.start()
        exits.push_async_callback(_stop_controller, stack)
        arguments = _emulator_arguments(directory, stack.controller, nodes_per_agent, modules, seed)
        stack.emulator_daemon = Daemon("emulator", arguments, directory / "emulator.log")
        await stack.emulator_daemon.start()
        exits.push_async_callback(stack.emulator_daemon.stop)
        yield stack


def _write_files(directory: Path, fabric: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "fabric.yaml").write_text(yaml.safe_dump(dict(fabric), sort_keys=False), encoding="utf-8")
    (directory / "controller.yaml").write_text(yaml.safe_dump(dict(settings)), encoding="utf-8")


async def _stop_controller(stack: Stack) -> None:
    """Stop whichever controller is the present one."""
    await stack.controller_daemon.stop()


def lasting_address() -> str:
    """A free address that is free again after a restart.

    A port that the kernel chose may meanwhile be given to a connection that somebody opens: it takes those from the
    same range, which begins above.
    """
    while True:
        port = secrets.choice(_LASTING_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return f"127.0.0.1:{port}"


def _controller_arguments(directory: Path, *, listen: str, http: str) -> list[str]:
    return [
        "controller",
        *("--fabric", str(directory / "fabric.yaml")),
        *("--config", str(directory / "controller.yaml")),
        *("--state", str(directory / "state")),
        *("--listen", listen),
        *("--http", http),
    ]


def _emulator_arguments(directory: Path, controller: str, nodes_per_agent: int, modules: str, seed: int) -> list[str]:
    return [
        *("emulator", "run"),
        *("--fabric", str(directory / "fabric.yaml")),
        *("--controller", controller),
        *("--listen", "127.0.0.1:0"),
        *("--socket", str(directory / "hardware.sock")),
        *("--state", str(directory / "agents")),
        *("--modules", modules),
        *(("--module-socket", str(directory / "modules.sock")) if modules == "registers" else ()),
        *("--nodes-per-agent", str(nodes_per_agent)),
        *("--seed", str(seed)),
    ]
