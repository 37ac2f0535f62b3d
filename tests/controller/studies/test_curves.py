"""The study's points on disk."""

import csv
import sys

import pytest

from ringlight.controller.studies.cross_tor import Case, Point
from ringlight.controller.studies.curves import COLUMNS, PlotError, draw, write_csv

POINTS = [
    Point(Case(p, k, rate, 64, (0, 1)), aligned=rate, rack_blind=0.9, placed=1.0, seconds=0.1)
    for p in (2, 4)
    for k in (2, 3)
    for rate in (0.0, 0.05)
]


def test_csv_has_a_line_a_point_and_names_the_seeds(tmp_path):
    file = tmp_path / "out.csv"
    write_csv(file, POINTS)
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(POINTS)
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "nodes": "64",
        "nodes_a_rack": "2",
        "k": "2",
        "fault_rate": "0.05",
        "aligned": "0.05",
        "rack_blind": "0.9",
        "placed": "1.0",
        "seconds": "0.1",
        "seeds": "0 1",
    }


def test_curves_are_drawn(tmp_path):
    file = tmp_path / "out.png"
    draw(file, POINTS)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlotError, match="matplotlib is not installed") as caught:
        draw(tmp_path / "out.png", POINTS)
    assert "ringlight[study]" in caught.value.hint
