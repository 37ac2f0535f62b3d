"""Hop distances in a fabric file: which are understood, and what is said about those that make no sense."""

from typing import Any

import pytest
import yaml

from ringlight.fabric.file import FabricFileError, parse_fabric
from ringlight.fabric.spec import FabricSpec, nearest_distances

CLOSED = {"name": "lab", "gpus": 4, "nodes": {"count": 9}}
OPEN = CLOSED | {"closed": False}


def parse(document: dict[str, Any]) -> FabricSpec:
    return parse_fabric(yaml.safe_dump(document), source="lab.yaml")


def problems(document: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(FabricFileError) as caught:
        parse(document)
    return [(problem.path, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize("distances", [[1], [4], [1, 3], [2, 3], [1, 2, 4], [1, 2, 3, 4]])
@pytest.mark.parametrize("closed", [True, False])
def test_listed_distances_are_the_fabrics_and_k_is_their_number(distances: list[int], closed: bool) -> None:
    without_k = parse(CLOSED | {"closed": closed, "distances": distances})
    assert without_k.distances == tuple(distances)
    assert (without_k.k, without_k.reach) == (len(distances), distances[-1])
    assert parse(CLOSED | {"closed": closed, "distances": distances, "k": len(distances)}) == without_k
    laid = {fibre.b.position - fibre.a.position for fibre in without_k.fibres}
    assert {steps if steps > 0 else steps + 9 for steps in laid} == set(distances)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_without_a_list_they_are_one_to_k(k: int) -> None:
    spec = parse(CLOSED | {"k": k})
    assert spec.distances == nearest_distances(k) == tuple(range(1, k + 1))
    assert spec == parse(CLOSED | {"distances": list(range(1, k + 1))})
    assert (spec.k, spec.reach) == (k, k)


def test_a_port_map_may_lead_to_any_listed_distance_and_leave_some_out() -> None:
    ports = {"b0.p1": 4, "b1.p2": -4, "b0.p2": -1, "b1.p1": 1}
    spec = parse(CLOSED | {"distances": [1, 2, 4], "ports": ports})
    assert {(fibre.b.position - fibre.a.position) % 9 for fibre in spec.fibres} == {1, 4}


def test_fibres_may_join_nodes_at_any_listed_distance_in_either_order() -> None:
    fibres = [["n0/b2.p1", "n4/b2.p2"], ["n1/b2.p1", "n6/b2.p2"], ["n3/b1.p1", "n2/b0.p1"]]
    spec = parse(CLOSED | {"distances": [1, 2, 4], "fibres": fibres})
    assert [(fibre.a.position, fibre.b.position) for fibre in spec.fibres] == [(0, 4), (6, 1), (2, 3)]


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (CLOSED | {"distances": []}, "distances", "expected 1 to 4 distances, found 0"),
        (OPEN | {"distances": [1, 2, 3, 4, 5]}, "distances", "expected 1 to 4 distances, found 5"),
        (
            CLOSED | {"distances": [1, 4, 2]},
            "distances[2]",
            "expected more than 4, found 2; list each distance once, from the shortest to the longest",
        ),
        (
            CLOSED | {"distances": [1, 1]},
            "distances[1]",
            "expected more than 1, found 1; list each distance once, from the shortest to the longest",
        ),
        (
            CLOSED | {"distances": [1, 2, 4], "k": 4},
            "k",
            "expected the number of distances, which is 3, or no k at all, found 4",
        ),
        (CLOSED | {"distances": [1, 2, 4], "gpus": 2}, "distances", "expected at most the 2 GPUs of a node, found 3"),
        (CLOSED | {"distances": [1, 2, 4], "bundles": 2}, "bundles", "expected max(2, k) = 3 bundles, found 2"),
        (
            CLOSED | {"distances": [1, 5]},
            "nodes",
            (
                "a closed order whose longest distance is 5 needs at least 2*5+1 = 11 nodes, found 9; "
                "add nodes, list shorter distances, or say closed: false"
            ),
        ),
        (
            OPEN | {"distances": [1, 9]},
            "distances[1]",
            "no two of the 9 nodes are 9 positions apart; leave it out, or add nodes",
        ),
        (
            CLOSED | {"distances": [1, 2, 4], "ports": {"b0.p1": 3}},
            "ports.b0.p1",
            "expected an offset of 1, 2 or 4 or back, found 3",
        ),
        (
            CLOSED | {"distances": [4], "ports": {"b0.p1": 1}},
            "ports.b0.p1",
            "expected an offset of 4 or back, found 1",
        ),
        (
            CLOSED | {"distances": [1, 2, 4], "fibres": [["n0/b0.p1", "n3/b1.p1"]]},
            "fibres[0]",
            "its ends disagree: it joins nodes 3 positions apart, and the distances are 1, 2, 4",
        ),
        (
            OPEN | {"distances": [1, 8], "fibres": [["n2/b0.p1", "n0/b1.p1"]]},
            "fibres[0]",
            "its ends disagree: it joins nodes 2 positions apart, and the distances are 1, 8",
        ),
    ],
)
def test_a_mistake(document: dict[str, Any], path: str, message: str) -> None:
    assert problems(document) == [(path, message)]


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (OPEN | {"distances": [1, 9, 40]}, ["distances[1]", "distances[2]"]),
        (CLOSED | {"distances": [3, 2, 1], "gpus": 2}, ["distances[1]", "distances[2]", "distances"]),
        (CLOSED | {"distances": [2, "x", 1, 0]}, ["distances[1]", "distances[3]", "distances[2]"]),
        (CLOSED | {"distances": [1, 2], "k": 9}, ["k"]),
        # what depends on a distance that is wrong is not judged; the number of bundles does not
        (CLOSED | {"distances": [1, "x"], "ports": {"b0.p1": 7, "b1.p1": -7}}, ["distances[1]"]),
        (CLOSED | {"distances": "all", "k": 2, "fibres": [["n0/b0.p1", "n4/b0.p1"]]}, ["distances"]),
        (CLOSED | {"distances": [1, "x"], "bundles": 3}, ["distances[1]", "bundles"]),
        (CLOSED | {"distances": [1, 2, 4], "k": 2, "bundles": 2}, ["k"]),
        (CLOSED | {"distances": [1, 40], "nodes": "n"}, ["nodes"]),
    ],
)
def test_several_mistakes_are_reported_at_once(document: dict[str, Any], paths: list[str]) -> None:
    assert [path for path, _ in problems(document)] == paths


def test_k_alone_may_be_more_than_a_small_open_order_needs() -> None:
    spec = parse(OPEN | {"k": 3, "nodes": ["a", "b"]})
    assert [(fibre.a.position, fibre.b.position) for fibre in spec.fibres] == [(0, 1)]
