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
        "distances 1",
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


def test_show_tells_distances_that_are_not_one_to_k(ringlight: Run, write: Run) -> None:
    outcome = ringlight(
        "fabric", "show", write({"name": "x", "gpus": 4, "distances": [1, 2, 4], "nodes": {"count": 9}})
    )
    assert_plain(outcome.out)
    assert {"k 3", "distances 1, 2, 4"} <= {words(line).strip() for line in outcome.out.splitlines()}
    assert "b2.p1->n4/b2.p2" in outcome.out


GENERATE = ("fabric", "generate", "--racks", "4", "--nodes-per-rack", "3")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"name": "rack-12"}),
        (("--k", "3", "--gpus", "8", "--line"), {"k": 3, "distances": (1, 2, 3), "gpus": 8, "closed": False}),
        (("--distances", "1,2,4"), {"k": 3, "distances": (1, 2, 4)}),
        (("--distances", "1, 3", "--name", "hall", "--prefix", "on"), {"name": "hall", "distances": (1, 3)}),
        (("--domains", "2", "--prefix", "gpu-", "--list"), {"k": 2}),
        (("--list", "--distances", "1,4", "--line"), {"distances": (1, 4), "closed": False}),
    ],
)
def test_what_is_generated_is_a_fabric_file_as_asked_for(
    ringlight: Run, tmp_path: Path, options: tuple[str, ...], expected: dict[str, Any]
) -> None:
    outcome = ringlight(*GENERATE, *options)
    assert outcome.code == ExitCode.FINE, outcome.err
    assert outcome.err == ""
    file = tmp_path / "generated.yaml"
    file.write_text(outcome.out, encoding="utf-8")
    assert ringlight("fabric", "check", str(file)).code == ExitCode.FINE
    spec = load_fabric(file)
    defaults = {"name": "rack-12", "k": 2, "distances": (1, 2), "gpus": 4, "closed": True}
    wanted = defaults | expected
    assert {key: getattr(spec, key) for key in wanted} == wanted
    assert [node.rack for node in spec.nodes] == [f"rack{position % 4}" for position in range(12)]
    domains = [f"domain{position % 4 // 2}" if "--domains" in options else "" for position in range(12)]
    assert [node.domain for node in spec.nodes] == domains
    prefix = options[options.index("--prefix") + 1] if "--prefix" in options else "n"
    names = [
        f"r{position % 4}-{prefix}{position // 4}" if "--list" in options else f"{prefix}{position}"
        for position in range(12)
    ]
    assert [node.name for node in spec.nodes] == names


def test_a_generated_file_is_short_and_says_how_nodes_stand(ringlight: Run) -> None:
    assert ringlight(*GENERATE, "--domains", "2", "--distances", "1,2,4").out == (
        "# 12 nodes, 3 in each rack. The order takes a node of every rack in turn: position i is in rack i mod 4.\n"
        "name: rack-12\n"
        "distances: [1, 2, 4]\n"
        "closed: true\n"
        "gpus: 4\n"
        "nodes: {racks: 4, nodes_per_rack: 3, domains: 2, prefix: n}\n"
    )
    assert ringlight(*GENERATE, "--list").out.splitlines()[5:8] == [
        "nodes:",
        "- {name: r0-n0, rack: rack0}",
        "- {name: r1-n0, rack: rack1}",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--distances", "1,x"), "'1,x' is no list of whole numbers such as 1,2,4"),
        (("--distances", ""), "'' is no list of whole numbers"),
        (("--k", "2", "--distances", "1,2"), "give --k or --distances, not both"),
        (("--k", "5"), "5 is not in the range 1<=x<=4"),
        (("--distances", "2,1"), "distances[1]: expected more than 2, found 1"),
        (("--distances", "1,2,3,4,5"), "distances: expected 1 to 4 distances, found 5"),
        (("--distances", "1,6"), "nodes: a closed order whose longest distance is 6 needs at least 2*6+1 = 13 nodes"),
        (("--domains", "3"), "nodes.domains: expected a divisor of the 4 racks such as 2, found 3"),
        (("--gpus", "2", "--k", "3"), "k: expected at most the 2 GPUs of a node, found 3"),
        (("--racks", "100000", "--list"), "100000 racks of 3 nodes hold 300000; a fabric has at most 100000 nodes"),
        (("--prefix", "x" * 60, "--list"), "nodes[0].name: expected a name of at most 63"),
        (("--prefix", "x" * 60, "--list"), "and 7 more"),
        (("--prefix", "a b"), "nodes.prefix: expected a name"),
        (("--name", ""), "name: expected a name"),
    ],
)
def test_what_cannot_be_built_is_not_generated(ringlight: Run, options: tuple[str, ...], message: str) -> None:
    outcome = ringlight(*GENERATE, *options)
    assert outcome.code == ExitCode.ERROR
    assert outcome.out == ""
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_file_must_be_named(ringlight: Run) -> None:
    outcome = ringlight("fabric", "check")
    assert outcome.code == ExitCode.ERROR
    assert "Missing argument 'FILE'" in outcome.err
