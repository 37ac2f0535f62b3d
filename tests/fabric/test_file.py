"""Fabric files: what every kind of mistake is called and where it is said to be, and what good files describe."""

from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ErrorCode
from ringlight.fabric.file import FabricFileError, Problem, load_fabric, parse_fabric
from ringlight.fabric.spec import BundleSpec, FabricSpec, Fibre, NodeSpec, Port
from ringlight.fabric.wiring import HopKey, Wiring

EXAMPLES = sorted((FilePath(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))
P1, P2 = Path.PATH_1, Path.PATH_2

RANGE = {"name": "lab", "k": 2, "gpus": 4, "nodes": {"count": 8}}
OPEN = {"name": "lab", "k": 2, "gpus": 4, "closed": False, "nodes": ["a", "b", "c", "d", "e"]}


def parse(document: Any) -> FabricSpec:
    return parse_fabric(yaml.safe_dump(document, sort_keys=False), source="lab.yaml")


def problems(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(FabricFileError) as caught:
        parse(document)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def problems_of_text(text: str) -> list[tuple[str, str]]:
    with pytest.raises(FabricFileError) as caught:
        parse_fabric(text, source="lab.yaml")
    return [(problem.path, problem.message) for problem in caught.value.problems]


# -- form --------------------------------------------------------------------------------------------------------------

NAME = "a name of at most 63 letters, digits, '.', '_' and '-' that begins with a letter or digit"
K = "expected a whole number from 1 to 4"
KEYS = "name, k, closed, gpus, distances, bundles, nodes, ports, fibres"
TEXT = "expected text"
DISTANCE = "expected a whole number from 1 to 99999"
ABC = {"name": "lab", "k": 1, "gpus": 4, "nodes": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"k": None}, "k", "has no value"),
        ({"k": "two"}, "k", f"{K}, found 'two'"),
        ({"k": 2.5}, "k", f"{K}, found 2.5"),
        ({"k": True}, "k", f"{K}, found true"),
        ({"k": 0}, "k", f"{K}, found 0"),
        ({"k": 5}, "k", f"{K}, found 5"),
        ({"distances": None}, "distances", "has no value"),
        ({"distances": 4}, "distances", "expected a list, found 4"),
        ({"distances": ["one"]}, "distances[0]", f"{DISTANCE}, found 'one'"),
        ({"distances": [0]}, "distances[0]", f"{DISTANCE}, found 0"),
        ({"distances": [-1]}, "distances[0]", f"{DISTANCE}, found -1"),
        ({"distances": [1.5]}, "distances[0]", f"{DISTANCE}, found 1.5"),
        ({"distances": [10**5]}, "distances[0]", f"{DISTANCE}, found 100000"),
        ({"distances": [None]}, "distances[0]", "has no value"),
        ({"gpus": 1}, "gpus", "expected a whole number from 2 to 1024, found 1"),
        ({"gpus": [4]}, "gpus", "expected a whole number from 2 to 1024, found a list"),
        ({"closed": "no"}, "closed", "expected true or false, found 'no'"),
        ({"name": 7}, "name", f"expected {NAME}, found 7; put it in quotes"),
        ({"name": False}, "name", f"expected {NAME}, found false; put it in quotes"),
        ({"name": "my lab"}, "name", f"expected {NAME}, found 'my lab'"),
        ({"name": "lab\n"}, "name", f"expected {NAME}, found 'lab\\n'"),
        ({"name": ""}, "name", f"expected {NAME}, found ''"),
        ({"name": "x" * 64}, "name", f"expected {NAME}, found {'x' * 60!r}..."),
        ({"gpu": 4}, "gpu", "unknown key; did you mean 'gpus'?"),
        ({"zzz": 4}, "zzz", f"unknown key; known are {KEYS}"),
        ({7: 1}, "7", f"unknown key; known are {KEYS}"),
        ({"<node>": 4}, "<node>", "unknown key; did you mean 'nodes'?"),
        ({"nodes": None}, "nodes", "has no value"),
        ({"nodes": "n0"}, "nodes", "expected a list, found 'n0'"),
        ({"nodes": {}}, "nodes.count", "is missing; give it, or racks and nodes_per_rack"),
        ({"nodes": {"count": 0}}, "nodes.count", "expected a whole number from 1 to 100000, found 0"),
        ({"nodes": {"count": 10**9}}, "nodes.count", "expected a whole number from 1 to 100000, found 1000000000"),
        ({"nodes": {"count": 8, "prefix": "-"}}, "nodes.prefix", f"expected {NAME}, found '-'"),
        ({"nodes": {"count": 8, "first": -1}}, "nodes.first", "expected a whole number from 0 on, found -1"),
        ({"nodes": {"count": 8, "rack": 2}}, "nodes.rack", "unknown key; did you mean 'racks'?"),
        (
            {"nodes": {"count": 8, "qqq": 2}},
            "nodes.qqq",
            "unknown key; known are count, prefix, first, racks, nodes_per_rack, domains",
        ),
        (
            {"nodes": {"racks": 8, "nodes_per_rack": 0}},
            "nodes.nodes_per_rack",
            "expected a whole number from 1 to 100000, found 0",
        ),
        ({"nodes": {"racks": 8, "nodes_per_rack": None}}, "nodes.nodes_per_rack", "has no value"),
        ({"nodes": {"count": None}}, "nodes.count", "has no value"),
        (
            {"nodes": {"count": 8, "racks": 4, "domains": "two"}},
            "nodes.domains",
            "expected a whole number from 1 to 100000, found 'two'",
        ),
        ({"nodes": ["a", 7, "c"]}, "nodes[1]", f"expected {NAME}, found 7; put it in quotes"),
        ({"nodes": ["a", None, "c"]}, "nodes[1]", "has no value"),
        ({"nodes": ["a", "b/c", "c"]}, "nodes[1]", f"expected {NAME}, found 'b/c'"),
        ({"nodes": ["a", "b", {"rack": "r"}]}, "nodes[2].name", "is missing"),
        ({"nodes": ["a", "b", {"name": "c", "racks": "r"}]}, "nodes[2].racks", "unknown key; did you mean 'rack'?"),
        ({"nodes": ["a", "b", {"name": "c", "domain": 3}]}, "nodes[2].domain", f"{TEXT}, found 3; put it in quotes"),
        ({"nodes": ["a", "b", {"name": "c", "rack": 3}]}, "nodes[2].rack", f"{TEXT}, found 3; put it in quotes"),
        ({"bundles": "two"}, "bundles", "expected a number of bundles, or a list of {edge, modules}, found 'two'"),
        ({"bundles": [{"edge": 0}, {"modules": 8}]}, "bundles[1].edge", "is missing"),
        ({"bundles": [{"edge": 0}, 2]}, "bundles[1]", "expected a mapping, found 2"),
        ({"bundles": [{"edge": 0}, {"edge": -1}]}, "bundles[1].edge", "expected a whole number from 0 on, found -1"),
        (
            {"bundles": [{"edge": 0, "modules": 0}, {"edge": 1}]},
            "bundles[0].modules",
            "expected a whole number from 1 to 1024, found 0",
        ),
        (
            {"bundles": [{"edge": 0, "module": 8}, {"edge": 1}]},
            "bundles[0].module",
            "unknown key; did you mean 'modules'?",
        ),
        ({"ports": ["b0.p1"]}, "ports", "expected a mapping, found a list"),
        ({"ports": {"b0.p1": "+1"}}, "ports.b0.p1", "expected an offset in positions such as 1 or -2, found '+1'"),
        ({"fibres": {"a": "b"}}, "fibres", "expected a list, found a mapping"),
        ({"fibres": ["a/b0.p1"]}, "fibres[0]", "expected a list, found 'a/b0.p1'"),
        ({"fibres": [["a/b0.p1"]]}, "fibres[0]", "expected both ends of the fibre, [port, port], found a list"),
        ({"fibres": [["x"] * 3]}, "fibres[0]", "expected both ends of the fibre, [port, port], found a list"),
        ({"fibres": [["a/b0.p1", 3]]}, "fibres[0][1]", "expected a port such as n0/b0.p1, found 3"),
        ({"fibres": [{"from": "a/b0.p1", "to": 3}]}, "fibres[0].to", "expected a port such as n0/b0.p1, found 3"),
        ({"fibres": [{"from": "a/b0.p1"}]}, "fibres[0].to", "is missing"),
        (
            {"fibres": [{"from": "a/b0.p1", "to": "b/b1.p1", "too": 1}]},
            "fibres[0].too",
            "unknown key; did you mean 'to'?",
        ),
    ],
)
def test_a_mistake_of_form(change: dict[str, Any], path: str, message: str) -> None:
    assert problems(ABC | change) == [(path, message)]


@pytest.mark.parametrize("key", ["name", "gpus", "nodes"])
def test_a_key_that_is_missing(key: str) -> None:
    assert problems({name: value for name, value in RANGE.items() if name != key}) == [(key, "is missing")]


def test_k_and_distances_may_not_both_be_missing() -> None:
    without = {name: value for name, value in RANGE.items() if name != "k"}
    assert problems(without) == [("k", "is missing; give it, or distances")]


GOOD = "name: lab\nk: 2\ngpus: 4\nnodes: {count: 8}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GOOD + "k: 3\n", [("k", "is written twice, in lines 2 and 5")]),
        (
            GOOD + "k: 3\nk: 4\nname: x\n",
            [
                ("k", "is written twice, in lines 2 and 5"),
                ("k", "is written twice, in lines 2 and 6"),
                ("name", "is written twice, in lines 1 and 7"),
            ],
        ),
        (
            "name: lab\nk: 2\ngpus: 4\nnodes:\n  count: 8\n  count: 9\n",
            [("nodes.count", "is written twice, in lines 5 and 6")],
        ),
        (
            GOOD + "ports: {b0.p1: 1, b1.p1: -1, b0.p1: 2}\n",
            [("ports.b0.p1", "is written twice, in lines 5 and 5")],
        ),
        (GOOD + "? [a, b]\n: 1\n", [("", "the key in line 5 is not text")]),
        (GOOD + "fibres: &all [*all]\n", [("fibres[0]", "holds itself")]),
        (GOOD + "closed: !!bool maybe\n", [("closed", "'maybe' cannot be read as bool")]),
        (GOOD.replace("k: 2", "k: !!int many"), [("k", "'many' cannot be read as int")]),
        (GOOD.replace("k: 2", "k: 0x_"), [("k", "'0x_' cannot be read as int")]),
        (
            GOOD.replace("name: lab", "name: !python/object:os.system x"),
            [("name", "'x' cannot be read as !python/object:os.system")],
        ),
        (GOOD + "fibres: !!set {}\n", [("fibres", "the tag tag:yaml.org,2002:set is not understood")]),
        (
            GOOD + "bundles: [{<<: 3, edge: 0}, {edge: 1}]\n",
            [("bundles[0].<<", "expected a mapping to merge, found 3")],
        ),
    ],
)
def test_a_mistake_that_yaml_lets_pass(text: str, found: list[tuple[str, str]]) -> None:
    assert problems_of_text(text) == found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: [lab\nk: 2\n", "line 2", "expected ',' or ']', but got ':'"),
        ("name: lab\n\tk: 2\n", "line 2", "found character '\\t' that cannot start any token"),
        ("a: 1\n---\nb: 2\n", "line 2", "but found another document"),
        ("name: lab\nk: \x00", "line 2", "the character '\\x00' is not allowed"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(text: str, line: str, message: str) -> None:
    assert problems_of_text(text) == [(line, f"is not YAML: {message}")]


def test_a_date_is_text() -> None:
    assert parse_fabric(GOOD.replace("name: lab", "name: 2024-13-45"), source="f").name == "2024-13-45"


def test_a_file_without_a_bottom() -> None:
    assert problems_of_text("[" * 5000) == [("", "is nested too deeply")]


def test_what_is_merged_in_may_not_hold_itself() -> None:
    assert problems_of_text(GOOD + "bundles: [&a {edge: 0, <<: *a}, {edge: 1}]\n") == [
        ("bundles[0].<<", "holds itself")
    ]


def test_anchors_that_multiply_are_read_once() -> None:
    """Nine levels of ten: a thousand million items if each were written out."""
    levels = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}' if i else 'lab'] * 10)}]\n" for i in range(9))
    assert [path for path, _ in problems_of_text(GOOD + levels)] == [f"x{i}" for i in range(9)]


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "nothing"), ("# only a comment\n", "nothing"), ("- a\n- b\n", "a list"), ("lab", "'lab'"), ("7", "7")],
)
def test_a_file_that_is_no_mapping(text: str, found: str) -> None:
    assert problems_of_text(text) == [("", f"expected keys such as name, k, closed, gpus, found {found}")]


def test_a_file_that_cannot_be_read(tmp_path: FilePath) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(FabricFileError) as caught:
        load_fabric(missing)
    assert caught.value.source == str(missing)
    assert caught.value.problems == (Problem("", "cannot be read: No such file or directory"),)
    with pytest.raises(FabricFileError, match="cannot be read: Is a directory"):
        load_fabric(tmp_path)


def test_a_file_that_is_not_utf_8(tmp_path: FilePath) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: Zürich\n".encode("latin-1"))
    with pytest.raises(FabricFileError) as caught:
        load_fabric(file)
    assert caught.value.problems == (Problem("", "is not UTF-8 text"),)


_TEXTS = st.text(alphabet=st.characters(codec="ascii"), max_size=12)
_KEYS = st.sampled_from(
    [
        *RANGE,
        *("closed", "distances", "bundles", "ports", "fibres", "edge", "b0.p1", "<node>"),
        *("count", "prefix", "racks", "nodes_per_rack", "domains"),
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from(["n0/b0.p1", "n1/b1.p1", "a"]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | _TEXTS | st.integers(0, 9), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=6))
@example({"bundles": []})
@example({"ports": {"<node>": False, "name": False}})
@example({"bundles": [{"edge": "x"}, 7], "fibres": [7, [7]], "nodes": [[], {"<node>": 1}]})
@example({"ports": {"b0.p1": 1, "b00.p1": -1}})
@example({"distances": []})
@example({"distances": [1, 1], "closed": False})
@example({"distances": [1, None, 3, 2, True], "fibres": [["n0/b0.p1", "n1/b1.p1"]]})
@example({"nodes": {"racks": 10**9, "nodes_per_rack": 10**5}})
@example({"nodes": {"racks": 3, "nodes_per_rack": 3, "count": 8, "domains": 2}, "ports": {"b0.p1": 1}})
def test_any_document_is_a_fabric_or_refused_in_words(change: dict[str, Any]) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        spec = parse(RANGE | change)
    except FabricFileError as error:
        problems = error.problems
    else:
        assert_can_be_built(spec)
        return
    assert problems
    assert all(problem.message for problem in problems)


def assert_can_be_built(spec: FabricSpec) -> None:
    assert len(spec.bundles) == max(2, spec.k)
    assert list(spec.distances) == sorted(set(spec.distances))
    assert spec.distances[0] >= 1
    assert spec.reach == spec.distances[-1]
    assert {hop.key.distance for hop in Wiring(spec).hops} <= set(spec.distances)
    ends = [port for fibre in spec.fibres for port in (fibre.a, fibre.b)]
    assert len(set(ends)) == len(ends)
    assert all(port.bundle < len(spec.bundles) and port.position < len(spec.nodes) for port in ends)


@given(st.text(max_size=80))
def test_any_text_is_a_fabric_or_refused_in_words(text: str) -> None:
    with pytest.raises(FabricFileError):
        parse_fabric(text, source="noise")


# -- sense -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (RANGE | {"k": 3, "gpus": 2}, "k", "expected at most the 2 GPUs of a node, found 3"),
        (RANGE | {"bundles": 3}, "bundles", "expected max(2, k) = 2 bundles, found 3"),
        (RANGE | {"bundles": 0}, "bundles", "expected max(2, k) = 2 bundles, found 0"),
        (RANGE | {"bundles": []}, "bundles", "expected max(2, k) = 2 bundles, found 0"),
        (RANGE | {"k": 1, "bundles": 1}, "bundles", "expected max(2, k) = 2 bundles, found 1"),
        (RANGE | {"bundles": [{"edge": 0}]}, "bundles", "expected max(2, k) = 2 bundles, found 1"),
        (
            RANGE | {"bundles": [{"edge": 1}, {"edge": 1}]},
            "bundles[1].edge",
            "edge 1 holds bundles[0] already",
        ),
        (
            RANGE | {"bundles": [{"edge": 0}, {"edge": 4}]},
            "bundles[1].edge",
            "expected an edge from 0 to 3, found 4",
        ),
        (
            RANGE | {"nodes": {"count": 4}},
            "nodes",
            "a closed order with k = 2 needs at least 2k+1 = 5 nodes, found 4; add nodes, or say closed: false",
        ),
        (
            RANGE | {"ports": {"b0.p1": 1, "b1.p1": -1}, "fibres": []},
            "fibres",
            "give a port map or a list of fibres, not both",
        ),
        (OPEN | {"nodes": []}, "nodes", "expected at least one node"),
        (OPEN | {"nodes": ["a", "b", {"name": "a"}]}, "nodes[2]", "'a' is nodes[0] already"),
        # port maps
        (RANGE | {"ports": {"b0.p1": 1}}, "ports.b0.p1", "no port leads back: offset -1 is missing"),
        (RANGE | {"ports": {"b1.p2": -2}}, "ports.b1.p2", "no port leads back: offset +2 is missing"),
        (RANGE | {"ports": {"b0.p1": 3}}, "ports.b0.p1", "expected an offset from 1 to 2 or back, found 3"),
        (RANGE | {"ports": {"b0.p1": -3}}, "ports.b0.p1", "expected an offset from 1 to 2 or back, found -3"),
        (RANGE | {"ports": {"b0.p1": 0}}, "ports.b0.p1", "expected an offset from 1 to 2 or back, found 0"),
        (RANGE | {"ports": {"b2.p1": 1}}, "ports.b2.p1", "expected a port b0.p1 .. b1.p2"),
        (RANGE | {"ports": {"b0.p3": 1}}, "ports.b0.p3", "expected a port b0.p1 .. b1.p2"),
        (RANGE | {"ports": {"b00.p1": 1}}, "ports.b00.p1", "expected a port b0.p1 .. b1.p2"),
        (RANGE | {"ports": {"p1": 1}}, "ports.p1", "expected a port b0.p1 .. b1.p2"),
        (
            RANGE | {"ports": {"b0.p1": 1, "b0.p2": 1, "b1.p1": -1}},
            "ports.b0.p2",
            "offset +1 is at ports.b0.p1 already",
        ),
        # fibres
        (
            OPEN | {"fibres": [["a/b0.p1", "d/b1.p1"]]},
            "fibres[0]",
            "its ends disagree: it joins nodes 3 positions apart, and k = 2 allows 1 to 2",
        ),
        (
            OPEN | {"fibres": [["e/b0.p1", "a/b1.p1"]]},
            "fibres[0]",
            "its ends disagree: it joins nodes 4 positions apart, and k = 2 allows 1 to 2",
        ),
        (
            RANGE | {"fibres": [["n0/b0.p1", "n5/b1.p1"]]},  # three apart around the end, five the other way
            "fibres[0]",
            "its ends disagree: it joins nodes 3 positions apart, and k = 2 allows 1 to 2",
        ),
        (
            OPEN | {"fibres": [["a/b0.p1", "a/b1.p1"]]},
            "fibres[0]",
            "its ends disagree: both are on the same node",
        ),
        (
            RANGE | {"nodes": {"count": 8, "prefix": "x" * 63}},
            "nodes.prefix",
            f"makes names of more than 63 characters, such as {'x' * 63 + '7'!r}",
        ),
        (
            OPEN | {"fibres": [{"from": "a/b0.p1", "to": "bb/b1.p1"}]},
            "fibres[0].to",
            "no node 'bb'; did you mean 'b'?",
        ),
        (
            OPEN | {"fibres": [["a/b0.p1", "b/b1.p1"], ["c/b1.p2", "a/b0.p1"]]},
            "fibres[1][1]",
            "port a/b0.p1 is used by fibres[0][0] already",
        ),
        (
            OPEN | {"fibres": [["a/b0.p1", "b/b1.p1"], ["b/b1.p2", "a/b0.p2"]]},
            "fibres[1]",
            "joins the same two nodes as fibres[0]; one fibre a hop",
        ),
        (OPEN | {"fibres": [["a/b0.p1", "zz/b1.p1"]]}, "fibres[0][1]", "no node 'zz'"),
        (OPEN | {"fibres": [["a/b0.p1", "bb/b1.p1"]]}, "fibres[0][1]", "no node 'bb'; did you mean 'b'?"),
        (OPEN | {"fibres": [["a/b2.p1", "b/b1.p1"]]}, "fibres[0][0]", "no bundle b2: a node has b0 .. b1"),
        (
            OPEN | {"fibres": [["a:b0.p1", "b/b1.p1"]]},
            "fibres[0][0]",
            "expected a port such as n0/b0.p1, found 'a:b0.p1'",
        ),
        (
            OPEN | {"fibres": [["a/b0.p3", "b/b1.p1"]]},
            "fibres[0][0]",
            "expected a port such as n0/b0.p1, found 'a/b0.p3'",
        ),
        (OPEN | {"fibres": [["a/b0", "b/b1.p1"]]}, "fibres[0][0]", "expected a port such as n0/b0.p1, found 'a/b0'"),
    ],
)
def test_a_mistake_of_sense(document: dict[str, Any], path: str, message: str) -> None:
    assert problems(document) == [(path, message)]


def test_a_port_plugged_into_itself_is_told_with_both_reasons() -> None:
    assert problems(OPEN | {"fibres": [["a/b0.p1", "a/b0.p1"]]}) == [
        ("fibres[0][1]", "port a/b0.p1 is used by fibres[0][0] already"),
        ("fibres[0]", "its ends disagree: both are on the same node"),
    ]


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"name": "my lab", "k": 9, "gpu": 4, "nodes": {"count": 0}}, ["name", "k", "gpus", "nodes.count", "gpu"]),
        (
            RANGE | {"nodes": ["a", "a"], "bundles": [{"edge": 9}, {"edge": 9}]},
            ["bundles[0].edge", "bundles[1].edge", "nodes[1]", "nodes"],
        ),
        (RANGE | {"ports": {"b0.p1": 1, "b9.p1": 2, "b0.p2": 7}}, ["ports.b9.p1", "ports.b0.p2"]),
        (
            OPEN | {"fibres": [["a/b0.p1", "x9/b0.p1"], ["a", "b"], ["a/b0.p2", "e/b1.p1"]]},
            ["fibres[0][1]", "fibres[1][0]", "fibres[1][1]", "fibres[2]"],
        ),
        # mistakes of form do not hide mistakes of sense
        (
            OPEN | {"name": 7, "gpu": 4, "nodes": ["a", "a", "c"], "fibres": [["a/b0.p1", 3], ["a/b0.p1", "a/b0.p2"]]},
            ["name", "fibres[0][1]", "gpu", "nodes[1]", "fibres[1]"],
        ),
        (RANGE | {"zzz": 1, "nodes": {"count": 3}}, ["zzz", "nodes"]),
        (
            OPEN | {"k": 3, "gpus": 2, "nodes": ["a", "a"], "fibres": [["a/b0.p1", "z/b0.p1"]]},
            ["k", "nodes[1]", "fibres[0][1]"],
        ),
        # and what depends on a value that is wrong is not judged
        (RANGE | {"k": "two", "bundles": 4, "nodes": {"count": 1}, "ports": {"b3.p1": 9, "b2.p1": -9}}, ["k"]),
        (OPEN | {"nodes": ["a", "b/", "c"], "fibres": [["a/b0.p1", "b/b1.p1"]]}, ["nodes[1]"]),
        (OPEN | {"nodes": ["a", "b/", "c"], "fibres": [["a/b0.p1", "a/b1.p1"]]}, ["nodes[1]", "fibres[0]"]),
        (RANGE | {"nodes": 5, "fibres": [["a/b0.p1", "b/b1.p1"], ["a/b0.p2", "b/b2.p1"]]}, ["nodes", "fibres[1][1]"]),
        (RANGE | {"closed": "no", "nodes": ["a", "b"], "fibres": [["a/b0.p1", "b/b1.p1"]]}, ["closed"]),
        (RANGE | {"ports": {"b0.p1": 1, "b1.p1": "x"}}, ["ports.b1.p1"]),
        (RANGE | {"ports": {"<node>": "x", "name": "x"}}, ["ports.<node>", "ports.name", "ports.<node>", "ports.name"]),
        (RANGE | {"bundles": [{"edge": 1, "modules": "x"}, {"edge": 1}]}, ["bundles[0].modules"]),
    ],
)
def test_several_mistakes_are_reported_at_once(document: dict[str, Any], paths: list[str]) -> None:
    assert [path for path, _ in problems(document)] == paths


def test_mistakes_of_yaml_form_and_sense_are_reported_together() -> None:
    text = "name: lab\nk: 2\nk: 3\ngpus: 4\ngpu: 4\nnodes: [a, b, a]\n"
    assert [path for path, _ in problems_of_text(text)] == ["k", "gpu", "nodes[2]", "nodes"]


def test_the_error_names_the_file_every_mistake_and_what_to_do() -> None:
    with pytest.raises(FabricFileError) as caught:
        parse(RANGE | {"k": 9, "gpu": 4})
    error = caught.value
    assert str(error) == (f"lab.yaml has 2 mistakes:\n  k: {K}, found 9\n  gpu: unknown key; did you mean 'gpus'?")
    assert error.code is ErrorCode.INVALID
    assert "docs/fabric-file.md" in error.hint
    with pytest.raises(FabricFileError, match=r"^lab\.yaml has a mistake:\n  expected keys such as"):
        parse([])


# -- good files --------------------------------------------------------------------------------------------------------


def test_a_range_of_nodes_with_racks_and_a_first_number() -> None:
    spec = parse(RANGE | {"nodes": {"count": 6, "prefix": "gpu-", "first": 10, "racks": 4}})
    assert spec.nodes == (
        NodeSpec("gpu-10", "rack0"),
        NodeSpec("gpu-11", "rack1"),
        NodeSpec("gpu-12", "rack2"),
        NodeSpec("gpu-13", "rack3"),
        NodeSpec("gpu-14", "rack0"),
        NodeSpec("gpu-15", "rack1"),
    )
    assert (spec.name, spec.k, spec.gpus, spec.closed) == ("lab", 2, 4, True)


def test_a_range_without_racks_knows_none() -> None:
    assert parse(RANGE | {"nodes": {"count": 5}}).nodes == tuple(NodeSpec(f"n{number}") for number in range(5))


def test_a_list_of_names_and_of_nodes_with_their_racks() -> None:
    spec = parse(OPEN | {"nodes": ["a", {"name": "b", "rack": "left"}, {"name": "c"}]})
    assert spec.nodes == (NodeSpec("a"), NodeSpec("b", "left"), NodeSpec("c"))
    assert not spec.closed


def test_the_default_port_map_cables_every_position_to_its_next_k() -> None:
    spec = parse(RANGE)
    assert {(f.a.position, (f.b.position - f.a.position) % 8) for f in spec.fibres} == {
        (position, distance) for position in range(8) for distance in (1, 2)
    }
    assert Fibre(Port(7, 0, P2), Port(1, 1, P2)) in spec.fibres


def test_an_open_order_leaves_the_ports_past_its_ends_empty() -> None:
    hops = [(fibre.a.position, fibre.b.position) for fibre in parse(OPEN).fibres]
    assert hops == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]


def test_bundles_by_number_or_not_at_all_are_spread_over_the_edges() -> None:
    assert parse(RANGE).bundles == parse(RANGE | {"bundles": 2}).bundles == (BundleSpec(0, 8), BundleSpec(2, 8))


def test_bundles_may_sit_on_any_edges_of_their_own() -> None:
    spec = parse(RANGE | {"bundles": [{"edge": 3, "modules": 4}, {"edge": 1}]})
    assert spec.bundles == (BundleSpec(3, 4), BundleSpec(1, 8))


def test_a_port_map_of_ones_own() -> None:
    spec = parse(RANGE | {"ports": {"b1.p2": 2, "b0.p1": -2}})
    assert spec.fibres == tuple(Fibre(Port(position, 1, P2), Port((position + 2) % 8, 0, P1)) for position in range(8))


def test_fibres_are_turned_to_run_along_the_order() -> None:
    spec = parse(OPEN | {"fibres": [["a/b0.p1", "b/b1.p1"], ["d/b1.p2", "b/b0.p2"]]})
    assert spec.fibres == (Fibre(Port(0, 0, P1), Port(1, 1, P1)), Fibre(Port(1, 0, P2), Port(3, 1, P2)))


@pytest.mark.parametrize("pair", [["n7/b0.p2", "n1/b1.p2"], ["n1/b1.p2", "n7/b0.p2"]])
def test_fibres_that_wrap_run_along_a_closed_order(pair: list[str]) -> None:
    spec = parse(RANGE | {"fibres": [pair]})
    assert spec.fibres == (Fibre(Port(7, 0, P2), Port(1, 1, P2)),)
    assert [hop.key for hop in Wiring(spec).hops] == [HopKey(7, 2)]


def test_yaml_anchors_and_merges_are_understood() -> None:
    spec = parse_fabric(
        "name: lab\nk: 2\ngpus: 4\nnodes: {count: 5}\nbundles: [&one {edge: 0, modules: 4}, {<<: *one, edge: 2}]\n",
        source="lab.yaml",
    )
    assert spec.bundles == (BundleSpec(0, 4), BundleSpec(2, 4))


def test_a_fibre_may_be_written_with_from_and_to() -> None:
    pairs = [["a/b0.p1", "b/b1.p1"], ["d/b1.p2", "b/b0.p2"]]
    named = [{"from": start, "to": end} for start, end in pairs]
    assert parse(OPEN | {"fibres": named}) == parse(OPEN | {"fibres": pairs})


def test_of_several_mappings_merged_the_first_wins() -> None:
    spec = parse_fabric(
        "name: lab\nk: 2\ngpus: 4\nnodes: {count: 5}\nbundles: [&a {edge: 0, modules: 4}, {<<: [{edge: 3}, *a]}]\n",
        source="lab.yaml",
    )
    assert spec.bundles == (BundleSpec(0, 4), BundleSpec(3, 4))


def test_a_file_without_fibres_is_a_fabric_of_single_nodes() -> None:
    assert parse(OPEN | {"fibres": []}).fibres == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_load(path: FilePath) -> None:
    spec = load_fabric(path)
    assert spec.name == path.stem
    assert len({port for fibre in spec.fibres for port in (fibre.a, fibre.b)}) == 2 * len(spec.fibres) > 0


def test_there_are_examples() -> None:
    assert EXAMPLES
