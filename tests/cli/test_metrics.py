"""ringlight metrics: the list of families, and the page that is written from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.metrics import sections

Run = Callable[..., Any]
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_every_family_is_listed_with_its_labels(ringlight: Run) -> None:
    outcome = ringlight("metrics", "-o", "json")
    assert outcome.code == ExitCode.FINE
    families = {family["name"]: family for family in json.loads(outcome.out)["families"]}
    assert families["ringlight_nodes"]["labels"]["verdict"][0] == "HEALTHY"
    assert families["ringlight_module_temperature_celsius"]["labels"] == {"node": [], "bundle": [], "module": []}
    assert families["ringlight_reconfiguration_seconds"]["buckets"][0] == 0.0005


def test_names_are_given_once() -> None:
    names = [family.name for _, families in sections() for family in families]
    assert len(names) == len(set(names))


@pytest.mark.skipif(not PAGE.exists(), reason="the sources are not at hand")
def test_the_page_is_current(ringlight: Run) -> None:
    assert ringlight("metrics", "--markdown").out == PAGE.read_text(), "run 'make docs' and commit"


def test_nothing_in_a_row_of_the_page_breaks_its_table(ringlight: Run) -> None:
    rows = [line for line in ringlight("metrics", "--markdown").out.splitlines() if line.startswith("| `")]
    assert len(rows) == sum(len(families) for _, families in sections())
    assert {row.count(" | ") for row in rows} == {3}
