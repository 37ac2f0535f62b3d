"""`ringlight fabric`: files checked and shown, without a controller."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.fabric.describe import describe
from ringlight.fabric.file import load_fabric
from ringlight.fabric.wiring import Wiring

Run = Callable[..., Any]

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))

SMALL = {"name": "small", "k": 1, "gpus": 4, "closed": False, "nodes": [{"name": "a", "rack": "left"}, "b", "c"]}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, Any]], str]:
    def write(document: dict[str, Any]) -> str:
        file = tmp_path / "fabric.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        return str(file)

    return write


def assert_plain(text: str) -> None:
    """Readable in 100 columns, no colours, nothing but ASCII."""
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert text.isascii()


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_check_says_what_a_good_file_describes(ringlight: Run, write: Run) -> None:
    file = write(SMALL)
    outcome = ringlight("fabric", "check", file)
    assert outcome.code == ExitCode.FINE
    assert outcome.out == f"{file}: fabric 'small', 3 nodes, 12 GPUs, 2 fibres: fine\n"
    assert outcome.err == ""


@pytest.mark.parametrize("command", [("check",), ("show",), ("show", "-o", "json")])
def test_every_mistake_is_listed_with_its_path(ringlight: Run, write: Run, command: tuple[str, ...]) -> None:
    file = write(SMALL | {"fibres": [["a/b0.p1", "x/b1.p1"], ["a/b0.p1", "a/b1.p1"]]})
    outcome = ringlight("fabric", *command, file)
    assert outcome.code == ExitCode.ERROR
    assert outcome.out == ""
    assert f"error: {file} has 3 mistakes:\n" in outcome.err
    for mistake in ("  fibres[0][1]: no node 'x'", "  fibres[1][0]: port a/b0.p1 is used", "  fibres[1]: its ends"):
        assert mistake in outcome.err
    assert "\nhint: correct the file" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_file_that_is_not_there(ringlight: Run, tmp_path: Path) -> None:
    outcome = ringlight("fabric", "check", str(tmp_path / "none.yaml"))
    assert outcome.code == ExitCode.ERROR
    assert "none.yaml has a mistake:\n  cannot be read: No such file or directory" in outcome.err


def test_show_draws_the_order_and_where_every_fibre_leads(ringlight: Run, write: Run) -> None:
    outcome = ringlight("fabric", "show", write(SMALL))
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    summary, _, nodes = outcome.out.partition("\n\n")
    assert [words(line).strip() for line in summary.splitlines()] == [
        "fabric small",
        "order 3 nodes, open",
        "k 1",
        "gpus 12, 4 a node",
        "bundles b0 on edge 0 (8 modules), b1 on edge 2 (8 modules)",
        "fibres 2",
    ]
    assert [words(line).strip() for line in nodes.splitlines()] == [
        "POSITION NODE RACK FIBRES",
        "0 a left b0.p1->b/b1.p1",
        "1 b - b0.p1->c/b1.p1 b1.p1->a/b0.p1",
        "2 c - b1.p1->b/b0.p1",
    ]


def test_the_widest_names_still_fit_and_none_is_cut(ringlight: Run, write: Run) -> None:
    names = [f"{number:02d}" + "x" * 61 for number in range(9)]
    nodes = [{"name": name, "rack": "r" * 12} for name in names]
    outcome = ringlight("fabric", "show", write({"name": "wide", "k": 4, "gpus": 8, "nodes": nodes}))
    assert_plain(outcome.out)
    found = re.sub(r"\s", "", outcome.out)
    assert all(name in found for name in names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_fine_and_fit(ringlight: Run, path: Path) -> None:
    assert ringlight("fabric", "check", str(path)).code == ExitCode.FINE
    outcome = ringlight("fabric", "show", str(path))
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    for node in load_fabric(path).nodes:
        assert node.name in outcome.out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_json_and_yaml_hold_the_whole_description(ringlight: Run, path: Path) -> None:
    described = describe(Wiring(load_fabric(path)))
    assert json.loads(ringlight("fabric", "show", str(path), "-o", "json").out) == described
    assert yaml.safe_load(ringlight("fabric", "show", str(path), "--output", "yaml").out) == described


def test_a_file_must_be_named(ringlight: Run) -> None:
    outcome = ringlight("fabric", "check")
    assert outcome.code == ExitCode.ERROR
    assert "Missing argument 'FILE'" in outcome.err
