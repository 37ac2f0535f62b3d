"""`ringlight study`: planning measured on random fabrics."""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringlight.cli.exit_codes import ExitCode

Run = Callable[..., Any]

SMALL = ("study", "cross-tor", "--nodes", "64", "--quick", "--seeds", "1")


def test_table_csv_and_plot(ringlight: Run, tmp_path: Path) -> None:
    plot, table = tmp_path / "out.png", tmp_path / "out.csv"
    outcome = ringlight(*SMALL, "--plot", str(plot), "--csv", str(table))
    assert outcome.code == ExitCode.FINE
    lines = outcome.out.splitlines()
    assert lines[0].split("  ")[0] == "NODES A RACK"
    assert max(map(len, lines)) <= 100
    assert "seeds 0 to 0" in outcome.err
    assert "30 of 30 points" in outcome.err
    assert plot.read_bytes().startswith(b"\x89PNG")
    with table.open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(lines) - 1 == 30


def test_json_and_no_plot_without_matplotlib(ringlight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    table = tmp_path / "out.csv"
    outcome = ringlight(*SMALL, "-o", "json", "--plot", str(tmp_path / "out.png"), "--csv", str(table))
    assert outcome.code == ExitCode.ERROR
    assert "pip install 'ringlight[study]'" in outcome.err
    assert table.exists()
    points = json.loads(outcome.out)["points"]
    assert len(points) == 30
    assert all(point["aligned"] == 0 for point in points if point["fault_rate"] == 0)


def test_nodes_must_fill_the_racks(ringlight: Run) -> None:
    outcome = ringlight("study", "cross-tor", "--nodes", "100")
    assert outcome.code == ExitCode.ERROR
    assert "--nodes: must be a multiple of 8" in outcome.err


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(ringlight: Run, tmp_path: Path) -> None:
    for option, file, why in (
        ("--csv", tmp_path / "no" / "out.csv", "there is no folder"),
        ("--plot", tmp_path / "no" / "out.png", "there is no folder"),
        ("--plot", tmp_path / "out.xyz", "must end with one of .pdf, .png, .svg"),
        ("--csv", tmp_path, "is a directory"),
    ):
        outcome = ringlight(*SMALL, option, str(file))
        assert outcome.code == ExitCode.ERROR
        assert why in outcome.err
        assert "points" not in outcome.err
