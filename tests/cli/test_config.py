"""config check and config show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ringlight.agents.settings import AgentSettings
from ringlight.cli.exit_codes import ExitCode
from ringlight.controller.configuration import settings_of
from ringlight.controller.configuration_file import load_settings
from ringlight.controller.settings import Settings

Run = Callable[..., Any]


def test_check_says_what_differs_from_the_defaults(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("breaker: {share: 0.1}\n")
    outcome = ringlight("config", "check", str(file))
    assert outcome.code == ExitCode.FINE
    assert outcome.out == f"{file}: fine; other than the defaults: breaker.share\n"


def test_check_lists_every_mistake(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("healthy: {}\nchange: {drift: fix}\n")
    outcome = ringlight("config", "check", str(file))
    assert outcome.code == ExitCode.ERROR
    assert outcome.out == ""
    first, value, key, hint = outcome.err.splitlines()
    assert first == f"error: {file} has 2 mistakes:"
    assert key == "  healthy: there is no such key; did you mean 'health'?"
    assert value.startswith("  change.drift: Input should be 'report' or 'repair'")
    assert hint.startswith("hint: correct the file; `ringlight config show` lists every key")


def test_show_marks_what_is_not_the_default(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("breaker: {burst: 3}\n")
    lines = ringlight("config", "show", "--config", str(file)).out.splitlines()
    assert next(line for line in lines if line.startswith("breaker.burst")).split()[1:4] == ["3", "*", "-"]
    assert not [line for line in lines if line.startswith("breaker.share") and "*" in line]


def test_show_as_yaml_is_a_configuration(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(ringlight("config", "show", "-o", "yaml").out)
    assert yaml.safe_load(file.read_text())["flap"]["half_life"] == 900.0
    assert "other than the defaults: nothing" in ringlight("config", "check", str(file)).out


def test_show_fits_100_columns_whatever_the_values(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    command = ["/opt/site/bin/is-up", "--bmc", "{node}.bmc.example.org", "--user", "watch", "--quiet"]
    file.write_text(yaml.safe_dump({"probe": {"command": command}, "gpu": {"overrides": {"xid:63": "fatal"}}}))
    shown = ringlight("config", "show", "--config", str(file)).out
    assert max(map(len, shown.splitlines())) <= 100
    assert "\x1b" not in shown
    assert shown.isascii()
    assert all(setting.key in shown for setting in settings_of(Settings()))
    assert all(heading in shown.splitlines()[0] for heading in ("VALUE", "UNIT", "DEFAULT", "REASON"))
    assert all(word in shown for word in ("/opt/site/bin/is-up", "xid:63: fatal *", "witness"))


def test_show_as_yaml_keeps_every_value_of_the_file(ringlight: Run, tmp_path: Path) -> None:
    file, again = tmp_path / "c.yaml", tmp_path / "again.yaml"
    file.write_text("gpu: {overrides: {'xid:63': fatal}}\nprobe: {command: [ping, '{node}']}\nbreaker: {share: 0.1}\n")
    again.write_text(ringlight("config", "show", "--config", str(file), "-o", "yaml").out)
    assert load_settings(again) == load_settings(file) != Settings()


def test_a_wrong_file_is_shown_as_its_mistakes(ringlight: Run, tmp_path: Path) -> None:
    outcome = ringlight("config", "show", "--config", str(tmp_path / "none.yaml"))
    assert (outcome.code, outcome.out) == (ExitCode.ERROR, "")
    assert "none.yaml has a mistake:\n  cannot be read: No such file or directory" in outcome.err


def test_show_as_json_has_unit_and_reason(ringlight: Run) -> None:
    settings = json.loads(ringlight("config", "show", "-o", "json").out)["settings"]
    interval = next(setting for setting in settings if setting["key"] == "heartbeat.interval")
    assert interval["unit"] == "s"
    assert interval["default"] == 1.0
    assert interval["reason"]


AGENT = """
id: a1
controller: c:1
state: /s
nodes: {n0: {circuits: {emulator: {socket: e}}, gpus: none}}
settings: {outbox: 5}
"""


def test_an_agents_file_is_checked_and_shown(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(AGENT)
    fine = f"{file}: fine; serves 1 node (circuits: emulator, GPUs: none); other than the defaults: settings.outbox\n"
    assert ringlight("config", "check", "--agent", str(file)).out == fine
    lines = ringlight("config", "show", "--agent", "--config", str(file)).out.splitlines()
    assert next(line for line in lines if line.startswith("settings.outbox")).split()[1:4] == ["5", "*", "reports"]
    shown = yaml.safe_load(ringlight("config", "show", "--agent", "-o", "yaml").out)
    assert shown["settings"]["outbox"] == AgentSettings().outbox
    assert shown["settings"].keys() == set(AgentSettings.__slots__)


def test_an_agents_file_that_is_wrong_is_refused(ringlight: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(AGENT.replace("outbox: 5", "outbox: 0"))
    outcome = ringlight("config", "check", "--agent", str(file))
    assert outcome.code == ExitCode.ERROR
    assert "settings.outbox" in outcome.err
    assert "docs/agent.md explains every key" in outcome.err
