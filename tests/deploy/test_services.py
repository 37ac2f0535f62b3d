"""The commands of the units, from an installed wheel, with the example files of a rack.

What is replaced: /opt/ringlight by where the wheel was installed, /etc/ringlight and /var/lib by folders of the test,
addresses by free ones of this machine, and the matrix switch by the emulated one. That systemd confines them as the
units say, nothing here can tell.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.deploy.processes import START_LIMIT, Process, free_addresses, run, started, with_path
from tests.deploy.test_examples import EXAMPLES
from tests.deploy.units import UNITS, read_unit

pytestmark = pytest.mark.e2e

READY = "from urllib.request import urlopen; urlopen('http://{}/readyz', timeout=3)"


class Machine:
    """Where a unit's command runs: its folders, and how its paths and addresses are called here."""

    def __init__(self, directory: Path, installation: Path, addresses: Mapping[str, str]) -> None:
        self.directory = directory
        self.environment = with_path(installation / "bin")
        self._python = str(installation / "bin" / "python")
        self._here = dict(addresses) | {
            "/opt/ringlight": str(installation),
            "/etc/ringlight": str(directory / "etc"),
            "/var/lib": str(directory / "lib"),
        }

    def here(self, text: str) -> str:
        for old, new in self._here.items():
            text = text.replace(old, new)
        return text

    def configure(self, example: Path) -> None:
        """Put a file of an example where the unit looks for it."""
        target = self.directory / "etc" / example.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(self.here(example.read_text(encoding="utf-8")), encoding="utf-8")

    @asynccontextmanager
    async def service(self, name: str) -> AsyncIterator[Process]:
        """The unit's service, as systemd would start it."""
        unit = read_unit(UNITS / f"{name}.service")
        environment = unit.environment() | self._environment_file(unit.value("EnvironmentFile"))
        for command in unit.commands("ExecStartPre", environment):
            code, output = await run([self.here(argument) for argument in command], self.environment)
            assert code == 0, output
        (command,) = unit.commands("ExecStart", environment)
        (self.directory / "lib" / unit.value("StateDirectory")).mkdir(parents=True, exist_ok=True)
        arguments = [self.here(argument) for argument in command]
        async with started(arguments, environment | self.environment, self.directory) as process:
            yield process

    def _environment_file(self, value: str) -> dict[str, str]:
        path = Path(self.here(value.removeprefix("-").replace("%E", "/etc")))
        if not path.exists() and value.startswith("-"):
            return {}
        lines = path.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if line and line[0] != "#")

    async def ready(self, process: Process, address: str) -> None:
        await process.healthy([self._python, "-c", READY.format(address)], self.environment)


@asynccontextmanager
async def manager(directory: Path) -> AsyncIterator[tuple[str, "asyncio.Queue[bytes]"]]:
    """systemd's notification socket, and what arrives there."""
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    path = str(directory / "notify")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)) as bound:
        bound.bind(path)
        loop = asyncio.get_running_loop()
        loop.add_reader(bound, lambda: arrived.put_nowait(bound.recv(4096)))
        try:
            yield path, arrived
        finally:
            loop.remove_reader(bound)


async def test_the_controller_tells_systemd_when_it_is_ready_and_ends_with_0(installation, tmp_path):
    grpc, http = free_addresses(2)
    machine = Machine(tmp_path, installation, {"10.7.0.10:7400": grpc, "10.7.0.10:7480": http})
    for name in ("fabric.yaml", "controller.yaml", "controller.env"):
        machine.configure(EXAMPLES / "rack-16" / name)
    async with manager(tmp_path) as (path, arrived):
        machine.environment["NOTIFY_SOCKET"] = path
        async with machine.service("ringlight-controller") as controller:
            async with asyncio.timeout(START_LIMIT):
                assert await arrived.get() == f"READY=1\nSTATUS=ready grpc={grpc} http={http}".encode()
            await machine.ready(controller, http)
            assert await controller.terminate() == 0, controller.output
            assert await arrived.get() == b"STOPPING=1"
    assert (tmp_path / "lib/ringlight/controller/controller.sqlite").exists()


async def test_without_an_environment_file_the_controller_listens_on_its_own_machine_only():
    addresses = read_unit(UNITS / "ringlight-controller.service").environment()
    assert addresses["RINGLIGHT_LISTEN"].startswith("127.0.0.1:")
    assert addresses["RINGLIGHT_HTTP"].startswith("127.0.0.1:")


async def test_an_agent_of_a_matrix_switch_becomes_ready_and_ends_with_0(installation, tmp_path):
    grpc, http, switch, page = free_addresses(4)
    names = {"10.7.0.10:7400": grpc, "10.7.0.10:7480": http, "10.7.0.5:5025": switch, "10.7.0.10:9404": page}
    machine = Machine(tmp_path, installation, names)
    for name in ("matrix-16/fabric.yaml", "matrix-16/agent.yaml", "rack-16/controller.yaml", "rack-16/controller.env"):
        machine.configure(EXAMPLES / name)
    emulated = ["ringlight", "emulator", "polatis", "--size=32x32", f"--listen={switch}"]
    async with started(emulated, machine.environment, tmp_path), machine.service("ringlight-controller") as controller:
        async with machine.service("ringlight-agent") as agent:
            await machine.ready(agent, page)
            submit = ["ringlight", "jobs", "submit", "train", "--rings=1", "--tp=64", "--wait=20"]
            code, output = await run(submit, machine.environment | {"RINGLIGHT_CONTROLLER": grpc})
            assert code == 0, output
            assert await agent.terminate() == 0, agent.output
        assert await controller.terminate() == 0, controller.output


async def test_an_agent_of_modules_on_i2c_becomes_ready_and_ends_with_0(installation, tmp_path):
    """Each adapter is one of the emulator's buses here; NVIDIA's library is not there, which stops no circuit."""
    grpc, http, emulator, page = free_addresses(4)
    buses = str(tmp_path / "modules.sock")
    names = {"10.7.0.10:7400": grpc, "10.7.0.10:7480": http, "10.7.0.21:9404": page}
    names |= {f"i2c: /dev/i2c-{20 + k}": f"socket: {buses}, bus: node01, select: {k}" for k in range(8)}
    machine = Machine(tmp_path, installation, names)
    for name in ("fabric.yaml", "controller.yaml", "controller.env", "agent.yaml"):
        machine.configure(EXAMPLES / "rack-16" / name)
    assert "/dev/i2c" not in (tmp_path / "etc/agent.yaml").read_text(encoding="utf-8").partition("circuits:")[2]
    hardware = ["emulator", "run", "--no-agents", "--modules=registers", f"--listen={emulator}"]
    hardware += [f"--fabric={tmp_path}/etc/fabric.yaml", f"--module-socket={buses}"]
    async with (
        started(["ringlight", *hardware], machine.environment, tmp_path) as emulated,
        machine.service("ringlight-controller") as controller,
        machine.service("ringlight-agent") as agent,
    ):
        await machine.ready(agent, page)
        for process in (agent, controller, emulated):
            assert await process.terminate() == 0, process.output


async def test_a_wrong_file_is_told_before_anything_starts(installation, tmp_path):
    machine = Machine(tmp_path, installation, {"fabric: ": "fabrik: "})
    machine.configure(EXAMPLES / "rack-16" / "agent.yaml")
    with pytest.raises(AssertionError, match="fabrik"):
        async with machine.service("ringlight-agent"):
            pass
