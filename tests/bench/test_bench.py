"""The measurements run as a user runs them, and hand out what their README promises."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_figure_is_shown_and_written_with_its_floor_and_ratio(tmp_path):
    done = run("--quick", "--only", "trace", "--only", "store", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "figures.json").read_text())
    assert {figure["measurement"] for figure in document["figures"]} == {"trace", "store"}
    for figure in document["figures"]:
        assert figure["value"] > 0
        assert figure["ratio"] == pytest.approx(figure["value"] / figure["floor"])
        assert figure["name"] in done.stdout


def test_a_measurement_that_does_not_exist_is_refused_with_those_that_do():
    done = run("--only", "speed")
    assert done.returncode == 2
    assert "'healing', 'planner', 'engine', 'trace', 'store', 'sessions'" in done.stderr


def test_figures_that_cannot_be_written_are_an_error_that_names_the_file(tmp_path):
    done = run("--quick", "--only", "trace", "--json", str(tmp_path / "no" / "figures.json"))
    assert done.returncode == 1
    assert "no/figures.json: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
