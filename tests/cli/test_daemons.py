"""How the three daemons are started, become ready and stop."""

import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringlight.cli.daemons import announce
from ringlight.cli.exit_codes import ExitCode
from ringlight.emulator.fidelity import Fidelity

Run = Callable[..., Any]

PROGRAM = """
import asyncio, logging, sys
from ringlight.cli import daemons
from ringlight.cli.main import ringlight, main
from ringlight.cli.lazy import LazyCommand
from ringlight.emulator.fidelity import Fidelity
from ringlight.fabric.errors import UnavailableError
import click

async def waits():
    daemons.announce("ready")
    try:
        await asyncio.Event().wait()
    finally:
        logging.getLogger("lab").info("put away")

async def ends():
    daemons.announce("ready")

async def fails():
    raise UnavailableError("port 1 is taken", hint="take another")

async def hangs():
    daemons.STOP_LIMIT = 0.3
    daemons.announce("ready")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

@click.command()
@daemons.daemon_options
def daemon(log_level, until_stdin_closes):
    daemons.run_daemon(globals()[KIND](), log_level=log_level, until_stdin_closes=until_stdin_closes)

ringlight.lazy = {"daemon": LazyCommand("__main__:daemon", "")}
main()
"""


@pytest.fixture
def daemon() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a daemon of `PROGRAM` in a process of its own; it is killed when the test leaves it running."""
    children = []

    def start(kind: str, *options: str, stdin: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        program = f"KIND = {kind!r}\n{PROGRAM}"
        child = subprocess.Popen(
            [sys.executable, "-c", program, "daemon", *options],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def ready(child: "subprocess.Popen[str]") -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_order(daemon: Run, number: signal.Signals) -> None:
    child = daemon("waits")
    ready(child)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "")
    stopping, put_away = err.splitlines()
    assert f"INFO ringlight.cli.daemons: stopping: received {number.name}" in stopping
    assert put_away.endswith("INFO lab: put away")


def test_the_end_of_standard_input_stops_in_order(daemon: Run) -> None:
    child = daemon("waits", "--until-stdin-closes")
    ready(child)
    child.stdin.write("whatever\n")
    child.stdin.flush()
    _, err = child.communicate(timeout=60)  # closes its standard input
    assert child.returncode == 0
    assert "stopping: standard input was closed" in err
    assert "put away" in err


def test_standard_input_is_left_alone_unless_asked(daemon: Run) -> None:
    child = daemon("waits")
    ready(child)
    child.stdin.close()
    child.stdin = None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=0.3)
    child.terminate()
    child.communicate(timeout=60)
    assert child.returncode == 0


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, "file"])
def test_only_a_pipe_has_an_end_to_wait_for(daemon: Run, stdin: int | str) -> None:
    with Path(__file__).open() as file:
        child = daemon("waits", "--until-stdin-closes", stdin=file.fileno() if stdin == "file" else stdin)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (ExitCode.ERROR, "")
    assert err == "error: --until-stdin-closes: standard input is not a pipe\nhint: start it with a pipe\n"


def test_the_log_level_decides_what_is_logged(daemon: Run) -> None:
    child = daemon("waits", "--log-level", "warning")
    ready(child)
    child.terminate()
    assert child.communicate(timeout=60) == ("", "")


@pytest.mark.parametrize("options", [(), ("--until-stdin-closes",)])
def test_a_daemon_may_end_by_itself(daemon: Run, options: tuple[str, ...]) -> None:
    child = daemon("ends", *options)
    child.wait(timeout=60)
    assert child.communicate() == ("ready\n", "")
    assert child.returncode == 0


def test_what_ends_a_daemon_is_told(daemon: Run) -> None:
    child = daemon("fails", "--until-stdin-closes")
    child.wait(timeout=60)
    assert child.communicate() == ("", "error: port 1 is taken\nhint: take another\n")
    assert child.returncode == ExitCode.ERROR


def test_a_stop_that_hangs_is_ended_with_the_stacks(daemon: Run) -> None:
    child = daemon("hangs")
    ready(child)
    child.terminate()
    _, err = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "Timeout" in err
    assert "most recent call first" in err


def test_a_second_signal_ends_at_once(daemon: Run) -> None:
    child = daemon("hangs")
    ready(child)
    child.terminate()
    assert "stopping" in child.stderr.readline()
    child.terminate()
    child.wait(timeout=60)
    assert child.returncode in {-signal.SIGTERM, 1}  # 1: the limit, of 0.3 s here, came first


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a daemon's command would run: the daemons' own modules are replaced, and nothing is started."""
    found: dict[str, Any] = {}

    def stand_in(module: str, **members: Any) -> None:
        replacement = types.ModuleType(module)
        vars(replacement).update(members)
        monkeypatch.setitem(sys.modules, module, replacement)

    def taking(name: str) -> Callable[..., str]:
        def run(**arguments: Any) -> str:
            found.update(arguments)
            return name

        return run

    def run_daemon(daemon: str, *, log_level: str, until_stdin_closes: bool) -> None:
        found.update(daemon=daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)

    stand_in("ringlight.fabric.file", load_fabric=lambda path: ("fabric", path))
    stand_in("ringlight.controller.configuration_file", load_settings=lambda path: ("settings", path))
    stand_in("ringlight.protos.bus.broker", broker_at=lambda *given, **files: ("broker", given, files))
    stand_in("ringlight.controller.daemon", run_controller=taking("controller"))

    def run_agent(configuration: Any, hardware: Any, *, ready: Any) -> str:
        found.update(file=configuration.file, hardware=hardware, ready=ready)
        return "agent"

    stand_in("ringlight.agents.daemon", run_agent=run_agent)
    monkeypatch.setattr("ringlight.agents.backends.hardware_of", lambda _file, wiring, _rng: ("hardware", wiring))
    stand_in("ringlight.emulator.daemon", run_emulator=taking("emulator"))
    for command in ("controller", "agent", "emulator"):
        monkeypatch.setattr(f"ringlight.cli.{command}.run_daemon", run_daemon)
    return found


PLAIN = {"ready": announce, "log_level": "info", "until_stdin_closes": False}


def test_controller_with_defaults(ringlight: Run, started: dict[str, Any]) -> None:
    assert ringlight("controller", "--fabric", "lab.yaml").code == ExitCode.FINE
    assert started == PLAIN | {
        "daemon": "controller",
        "fabric": ("fabric", Path("lab.yaml")),
        "settings": ("settings", None),
        "state_dir": Path("ringlight-state"),
        "listen": "127.0.0.1:7400",
        "http": "127.0.0.1:7480",
        "broker": None,
    }


def test_controller_with_everything(ringlight: Run, started: dict[str, Any]) -> None:
    options = "--fabric f --config c --state s --listen [::]:1 --http h:2 --log-level debug --until-stdin-closes"
    options += " --mqtt mqtts://u@b --mqtt-password p --mqtt-ca a"
    assert ringlight("controller", *options.split()).code == ExitCode.FINE
    assert started == {
        "ready": announce,
        "log_level": "debug",
        "until_stdin_closes": True,
        "daemon": "controller",
        "fabric": ("fabric", Path("f")),
        "settings": ("settings", Path("c")),
        "state_dir": Path("s"),
        "listen": "[::]:1",
        "http": "h:2",
        "broker": ("broker", ("mqtts://u@b",), {"password_file": Path("p"), "ca_file": Path("a")}),
    }


def test_a_password_is_for_a_broker(ringlight: Run, started: dict[str, Any]) -> None:
    outcome = ringlight("controller", "--fabric", "f", "--mqtt-password", "p")
    assert outcome.code == ExitCode.ERROR
    assert "go with --mqtt" in outcome.err
    assert not started


def test_agent(ringlight: Run, started: dict[str, Any]) -> None:
    options = "--id a1 --node n1 --node n2 --controller c:1 --emulator e.sock --state s"
    assert ringlight("agent", *options.split()).code == ExitCode.FINE
    file = started.pop("file")
    assert started == PLAIN | {"daemon": "agent", "hardware": ("hardware", None)}
    assert (file.id, file.controller, file.state, list(file.nodes)) == ("a1", "c:1", Path("s"), ["n1", "n2"])
    assert {node.circuits.emulator.socket for node in file.nodes.values()} == {Path("e.sock")}


def test_agent_with_a_file(ringlight: Run, started: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    nodes = "nodes: {n7: {circuits: {emulator: {socket: e}}, gpus: none}}"
    path.write_text(f"id: a2\ncontroller: c:2\nstate: s2\n{nodes}\n")
    assert ringlight("agent", "--config", str(path)).code == ExitCode.FINE
    assert (started["file"].id, list(started["file"].nodes)) == ("a2", ["n7"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--config a.yaml --node n1 --controller c:1", "--node, --controller: this is in the file"),
        ("--id a1 --node n1 --state s", "give --config FILE, or --id, --node, --emulator and --state"),
        ("--id -a --node n1 --state s --emulator e", "'-a' is not an agent id"),
    ],
)
def test_an_agent_is_described_in_one_place(ringlight: Run, started: dict[str, Any], options: str, said: str) -> None:
    outcome = ringlight("agent", *options.split())
    assert outcome.code == ExitCode.ERROR
    assert said in outcome.err
    assert started == {}


def test_emulator_run_with_defaults(ringlight: Run, started: dict[str, Any]) -> None:
    assert ringlight("emulator", "run", "--fabric", "f", "--controller", "c:1").code == ExitCode.FINE
    assert started == PLAIN | {
        "daemon": "emulator",
        "fabric": ("fabric", Path("f")),
        "controller": "c:1",
        "listen": "127.0.0.1:7500",
        "socket": None,
        "nodes_per_agent": 1,
        "state_dir": None,
        "seed": 0,
        "fidelity": Fidelity.FAST,
        "module_socket": None,
        "eeprom_files": None,
    }


def test_emulator_run_with_everything(ringlight: Run, started: dict[str, Any]) -> None:
    options = "--fabric f --no-agents --listen h:2 --socket e.sock --nodes-per-agent 8 --state s --seed 7"
    options += " --modules registers --module-socket m.sock --eeprom-files d"
    assert ringlight("emulator", "run", *options.split()).code == ExitCode.FINE
    assert started == PLAIN | {
        "daemon": "emulator",
        "fabric": ("fabric", Path("f")),
        "controller": None,
        "listen": "h:2",
        "socket": Path("e.sock"),
        "nodes_per_agent": 8,
        "state_dir": Path("s"),
        "seed": 7,
        "fidelity": Fidelity.REGISTERS,
        "module_socket": Path("m.sock"),
        "eeprom_files": Path("d"),
    }


@pytest.mark.parametrize("option", ["--module-socket", "--eeprom-files"])
def test_an_emulator_without_modules_shows_none(ringlight: Run, started: dict[str, Any], option: str) -> None:
    outcome = ringlight("emulator", "run", "--fabric", "f", option, "x")
    assert outcome.code == ExitCode.ERROR
    assert "--modules registers" in outcome.err
    assert started == {}


def test_ready_is_one_line_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    announce("controller of lab listens on 127.0.0.1:7400")
    assert capsys.readouterr().out == "controller of lab listens on 127.0.0.1:7400\n"
