"""The command as a whole: help, usage, errors and exit codes."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import grpc
import pytest

from ringlight import __version__
from ringlight.cli import main
from ringlight.cli.exit_codes import ExitCode, exit_code_of
from ringlight.fabric.errors import ErrorCode, InvalidError, RinglightError

Run = Callable[..., Any]

CLIENT_COMMANDS = (
    ("status",),
    ("nodes",),
    ("rings",),
    ("jobs", "list"),
    ("jobs", "show", "train"),
    ("jobs", "submit", "train", "--rings", "1", "--tp", "8"),
    ("jobs", "release", "train", "--yes"),
    ("events",),
    ("events", "--follow"),
    ("explain", "n3"),
    ("cordon", "n3"),
    ("uncordon", "n3"),
    ("drain", "n3", "--yes"),
    ("maintenance", "n3", "--for", "2h"),
    ("pause",),
    ("resume",),
    ("breaker", "status"),
    ("breaker", "reset", "--yes"),
    ("quarantine", "list"),
    ("quarantine", "release", "n3"),
    ("jobs", "stalled", "train"),
    ("declare-dead", "n3", "--yes"),
    ("plan",),
    ("plan", "--what-if", "fail=n3"),
    ("status", "--watch"),
    ("emulator", "faults"),
    ("emulator", "trace"),
    ("emulator", "repair", "--all"),
    ("emulator", "fail", "power-off", "n3"),
)


def test_help_lists_every_command_without_loading_any() -> None:
    program = (
        "import sys; from ringlight.cli.main import run; code = run(['--help']);"
        "print(sorted({'grpc', 'rich', 'yaml', 'google'} & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    *help_lines, loaded = done.stdout.splitlines()
    listed = [line.split()[0] for line in help_lines[help_lines.index("Commands:") + 1 :] if line.startswith("  ")]
    assert listed[: len(main.COMMANDS)] == list(main.COMMANDS)
    assert loaded == "[]"


def test_installed_module_runs_as_a_process() -> None:
    program = "from ringlight.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "nodes", "--nonsense"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: No such option '--nonsense'.\nhint: see 'ringlight nodes --help'\n"


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_the_one_line_help_is_that_of_the_command(name: str) -> None:
    lazy = main.COMMANDS[name]
    command = lazy.load()
    assert command.name == name
    assert command.get_short_help_str(limit=100) == lazy.help


def _every_command(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    found = [path]
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        found += _every_command(inner, (*path, name))
    return found


def test_every_command_has_help_of_at_most_100_columns(ringlight: Run) -> None:
    for path in _every_command(main.ringlight):
        outcome = ringlight(*path, "--help")
        assert outcome.code == ExitCode.FINE
        assert outcome.out.startswith(f"Usage: {' '.join(('ringlight', *path))}")
        assert max(map(len, outcome.out.splitlines())) <= 100


def test_version(ringlight: Run) -> None:
    assert ringlight("--version").out == f"ringlight, version {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("jobs",), ("emulator",)])
def test_a_group_alone_shows_its_help_and_is_an_error(ringlight: Run, arguments: tuple[str, ...]) -> None:
    outcome = ringlight(*arguments)
    assert outcome.code == ExitCode.ERROR
    assert outcome.err.startswith("Usage: ringlight")


@pytest.mark.parametrize(
    ("arguments", "message", "command"),
    [
        (("nonsense",), "No such command 'nonsense'.", "ringlight"),
        (("status", "-o", "xml"), "Invalid value for '-o' / '--output'", "ringlight status"),
        (("status", "--controller", "nowhere"), "'nowhere' is not an address such as", "ringlight status"),
        (("status", "--controller", "host:99999"), "'host:99999' is not an address", "ringlight status"),
        (("jobs", "submit", "train"), "Missing option '--rings'", "ringlight jobs submit"),
        (("emulator", "repair"), "say what to repair", "ringlight emulator repair"),
    ],
)
def test_wrong_usage_exits_with_1_because_2_means_degraded(
    ringlight: Run, arguments: tuple[str, ...], message: str, command: str
) -> None:
    outcome = ringlight(*arguments)
    assert (outcome.code, outcome.out) == (ExitCode.ERROR, "")
    error, hint = outcome.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint == f"hint: see '{command} --help'"


@pytest.mark.parametrize("arguments", CLIENT_COMMANDS, ids=" ".join)
def test_no_daemon_is_one_clear_error(ringlight: Run, arguments: tuple[str, ...]) -> None:
    outcome = ringlight(*arguments, "--timeout", "5")
    role = "emulator" if arguments[0] == "emulator" else "controller"
    assert (outcome.code, outcome.out) == (ExitCode.ERROR, "")
    error, hint = outcome.err.splitlines()
    assert error.startswith(f"error: no answer from the {role} at 127.0.0.1:9: ")
    assert hint == f"hint: is it running? Give its address with --{role} or RINGLIGHT_{role.upper()}"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.FAILED_PRECONDITION, ExitCode.REFUSED),
        (grpc.StatusCode.NOT_FOUND, ExitCode.ERROR),
        (grpc.StatusCode.UNAVAILABLE, ExitCode.ERROR),
    ],
)
@pytest.mark.parametrize("arguments", [each for each in CLIENT_COMMANDS if each[0] != "emulator"], ids=" ".join)
def test_an_error_of_the_controller_is_shown_with_its_hint(
    ringlight: Run, controller: Any, arguments: tuple[str, ...], status: grpc.StatusCode, code: ExitCode
) -> None:
    controller.failure = (status, "breaker [is] open", "reset it")
    outcome = ringlight(*arguments, asks=controller)
    assert (outcome.code, outcome.out) == (code, "")
    error, hint = outcome.err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith("breaker [is] open")
    assert hint == "hint: reset it"


def test_only_a_shut_gate_exits_with_3() -> None:
    codes = {code: exit_code_of(RinglightError("x", code=code)) for code in ErrorCode}
    assert codes.pop(ErrorCode.REFUSED) == 3
    assert set(codes.values()) == {1}


def _raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def command(**_options: Any) -> None:
        raise error

    monkeypatch.setattr(main.ringlight, "lazy", {"broken": _Loaded(click.Command("broken", callback=command))})


class _Loaded:
    def __init__(self, command: click.Command) -> None:
        self._command = command

    def load(self) -> click.Command:
        return self._command


def test_ctrl_c_exits_with_130_and_no_traceback(ringlight: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _raising(monkeypatch, KeyboardInterrupt())
    outcome = ringlight("broken")
    assert outcome.code == 130
    assert outcome.err.strip() == ""


def test_errors_of_several_tasks_are_all_told(ringlight: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = RinglightError("gate", code=ErrorCode.REFUSED)
    _raising(monkeypatch, ExceptionGroup("tasks", [InvalidError("one"), ExceptionGroup("inner", [refused])]))
    outcome = ringlight("broken")
    assert outcome.code == ExitCode.REFUSED
    assert outcome.err == "error: one\nerror: gate\n"


def test_a_bug_is_not_dressed_up_as_an_error(ringlight: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _raising(monkeypatch, ExceptionGroup("tasks", [InvalidError("one"), ZeroDivisionError()]))
    with pytest.raises(ExceptionGroup, match="tasks"):
        ringlight("broken")
