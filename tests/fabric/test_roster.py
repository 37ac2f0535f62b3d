"""Ranges of nodes by racks: what they describe, and what is said about numbers that contradict each other."""

from typing import Any

import pytest
import yaml

from ringlight.fabric.file import FabricFileError, parse_fabric
from ringlight.fabric.spec import FabricSpec, NodeSpec

LAB = {"name": "lab", "k": 2, "gpus": 4, "closed": False}


def parse(nodes: Any) -> FabricSpec:
    return parse_fabric(yaml.safe_dump(LAB | {"nodes": nodes}), source="lab.yaml")


def problems(nodes: Any, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(FabricFileError) as caught:
        parse_fabric(yaml.safe_dump(LAB | {"nodes": nodes} | more), source="lab.yaml")
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_racks_and_nodes_a_rack_make_an_interleaved_order() -> None:
    spec = parse({"racks": 4, "nodes_per_rack": 2, "domains": 2, "prefix": "gpu-", "first": 10})
    assert spec.nodes == (
        NodeSpec("gpu-10", "rack0", "domain0"),
        NodeSpec("gpu-11", "rack1", "domain0"),
        NodeSpec("gpu-12", "rack2", "domain1"),
        NodeSpec("gpu-13", "rack3", "domain1"),
        NodeSpec("gpu-14", "rack0", "domain0"),
        NodeSpec("gpu-15", "rack1", "domain0"),
        NodeSpec("gpu-16", "rack2", "domain1"),
        NodeSpec("gpu-17", "rack3", "domain1"),
    )


def test_a_count_that_agrees_says_the_same() -> None:
    expected = parse({"racks": 4, "nodes_per_rack": 2})
    assert parse({"count": 8, "racks": 4, "nodes_per_rack": 2}) == expected
    assert parse({"count": 8, "racks": 4}) == expected


def test_a_count_with_racks_need_not_fill_them() -> None:
    spec = parse({"count": 5, "racks": 4, "domains": 2})
    assert [node.rack for node in spec.nodes] == ["rack0", "rack1", "rack2", "rack3", "rack0"]
    assert [node.domain for node in spec.nodes] == ["domain0", "domain0", "domain1", "domain1", "domain0"]
    assert [node.rack for node in parse({"count": 2, "racks": 10**9}).nodes] == ["rack0", "rack1"]


def test_no_racks_may_be_said_aloud() -> None:
    assert parse({"count": 5, "racks": 0}) == parse({"count": 5})


def test_a_listed_node_may_give_rack_and_domain() -> None:
    spec = parse(["a", {"name": "b", "rack": "left", "domain": "hall 1"}])
    assert spec.nodes == (NodeSpec("a"), NodeSpec("b", "left", "hall 1"))


@pytest.mark.parametrize(
    ("nodes", "path", "message"),
    [
        ({"racks": 8}, "nodes.count", "is missing; give it, or racks and nodes_per_rack"),
        (
            {"count": 60, "racks": 8, "nodes_per_rack": 8},
            "nodes.count",
            "8 racks of 8 nodes hold 64, found 60; correct one of the three, or leave count out",
        ),
        (
            {"count": 64, "nodes_per_rack": 8},
            "nodes.racks",
            "is missing, and nodes_per_rack needs it; for 64 nodes write racks: 8",
        ),
        (
            {"count": 60, "racks": 0, "nodes_per_rack": 8},
            "nodes.racks",
            "is missing, and nodes_per_rack needs it; add it",
        ),
        (
            {"racks": 10**9, "nodes_per_rack": 100},
            "nodes.nodes_per_rack",
            "1000000000 racks of 100 nodes hold 100000000000; a fabric has at most 100000 nodes",
        ),
        (
            {"racks": 8, "nodes_per_rack": 2, "domains": 3},
            "nodes.domains",
            "expected a divisor of the 8 racks such as 2, found 3",
        ),
        (
            {"count": 8, "racks": 4, "domains": 5},
            "nodes.domains",
            "expected a divisor of the 4 racks such as 4, found 5",
        ),
        (
            {"count": 8, "domains": 2},
            "nodes.domains",
            "needs racks: a domain is a range of them; add the number of racks",
        ),
    ],
)
def test_a_mistake(nodes: dict[str, Any], path: str, message: str) -> None:
    assert problems(nodes) == [(path, message)]


def test_what_depends_on_a_number_of_nodes_that_is_not_known_is_not_judged() -> None:
    contradiction = {"count": 3, "racks": 2, "nodes_per_rack": 2}
    fibres = [["n0/b0.p1", "n9/b1.p1"], ["n0/b9.p1", "n1/b1.p1"]]
    found = problems(contradiction, closed=True, fibres=fibres)
    assert [path for path, _ in found] == ["nodes.count", "fibres[1][0]"]


def test_several_mistakes_are_reported_at_once() -> None:
    found = problems({"nodes_per_rack": 8, "domains": 2}, k=9)
    assert [path for path, _ in found] == ["k", "nodes.racks", "nodes.domains"]
