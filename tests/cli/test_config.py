"""config check and config show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ringlight.cli.exit_codes import ExitCode

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
    assert len(outcome.err.splitlines()) == 3
    assert "did you mean 'health'?" in outcome.err


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


def test_show_as_json_has_unit_and_reason(ringlight: Run) -> None:
    settings = json.loads(ringlight("config", "show", "-o", "json").out)["settings"]
    interval = next(setting for setting in settings if setting["key"] == "heartbeat.interval")
    assert interval["unit"] == "s"
    assert interval["default"] == 1.0
    assert interval["reason"]
