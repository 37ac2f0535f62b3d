"""Placement cases: those handed to us, small ones of our own, files with mistakes, and plans that are not sound."""

import json
from pathlib import Path

import pytest

from ringlight.controller.planning import vectors
from ringlight.controller.planning.planner import Placement, RingPlan
from ringlight.controller.planning.vectors import Score, chain_span, run_case
from ringlight.controller.vector_file import VectorFileError, load_cases, parse_cases
from ringlight.fabric.circuits import Path as BundlePath
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.wiring import HopKey

HANDED = Path(__file__).parents[4] / "shared" / "vectors" / "placement.json"


def a_case(**changes):
    case = {
        "nodes": 10,
        "k": 2,
        "closed": False,
        "down": [1],
        "dead_hops": [],
        "nodes_per_ring": 3,
        "existing": [[0, 1, 2], [3, 4, 5]],
        "rings_wanted": 2,
        "expect": {"rings": 2, "kept": 1},
        **changes,
    }
    return {key: value for key, value in case.items() if value is not ...}


def read(*cases):
    return parse_cases(json.dumps(cases), source="cases.json")


def run(**changes):
    (case,) = read(a_case(**changes))
    return case, run_case(case)


def mistakes(*cases):
    with pytest.raises(VectorFileError) as told:
        read(*cases)
    return list(map(str, told.value.problems))


@pytest.mark.skipif(
    not HANDED.is_file(), reason="../shared/vectors/placement.json, which was handed to us, is not here"
)
def test_every_case_that_was_handed_to_us_comes_out_right():
    cases = load_cases(HANDED)
    assert len(cases) >= 80
    assert [(case.name, run_case(case)) for case in cases if run_case(case).is_wrong(case)] == []


@pytest.mark.parametrize(
    ("changes", "rings", "kept"),
    [
        ({}, 2, 1),
        ({"down": []}, 2, 2),
        ({"down": [], "dead_hops": [[3, 1]]}, 2, 1),
        ({"down": [], "dead_hops": [[3, 2]]}, 2, 2),  # a fibre that no ring uses
        ({"down": [], "dead_hops": [[9, 1]]}, 2, 2),  # a fibre that no line has
        ({"rings_wanted": None}, 3, 0),
        ({"rings_wanted": ...}, 3, 0),
        ({"down": [6, 7], "existing": [], "rings_wanted": None}, 2, 0),
        ({"existing": [[2, 1, 0], [3, 4, 5]]}, 2, 1),  # a chain may be written backwards
        ({"others": [[6, 7, 8, 9]]}, 1, 1),
        ({"others": [[6], [8]], "down": [1, 7]}, 1, 1),
        ({"k": 1, "down": [5], "existing": [[0, 1, 2]], "rings_wanted": None}, 2, 1),
        ({"k": ..., "distances": [1, 4], "down": [1, 2, 3], "existing": [[4, 5, 6]], "rings_wanted": None}, 2, 1),
        ({"closed": True, "existing": [[8, 9, 0], [2, 3, 4]], "down": []}, 2, 2),
        ({"closed": True, "existing": [[8, 9, 1], [2, 3, 4]], "down": [9]}, 2, 1),
        ({"rings_wanted": 0, "down": [], "existing": []}, 0, 0),
    ],
)
def test_cases_of_our_own(changes, rings, kept):
    case, outcome = run(**changes, expect={"rings": rings, "kept": kept})
    assert (outcome.rings, outcome.kept, outcome.flaws) == (rings, kept, ())
    assert not outcome.is_wrong(case)


def test_a_port_map_decides_which_chains_there_are():
    """With both ends of distance 1 on one bundle, no node can be entered and left over it."""
    ports = {"b0.p1": 1, "b0.p2": -1, "b1.p1": 2, "b1.p2": -2}
    changes = {"nodes": 6, "down": [], "existing": [], "rings_wanted": None, "expect": {"rings": 2, "kept": 0}}
    (case,) = read(a_case(**changes, ports=ports))
    assert {(fibre.a.bundle, fibre.a.path) for fibre in case.spec.fibres} == {
        (0, BundlePath.PATH_1),
        (1, BundlePath.PATH_1),
    }
    assert run_case(case).rings == 1
    assert run(**changes)[1].rings == 2


def test_an_outcome_that_differs_is_wrong():
    for expect in ({"rings": 3, "kept": 1}, {"rings": 2, "kept": 2}, {"rings": 1, "kept": 1}):
        case, outcome = run(expect=expect)
        assert outcome.is_wrong(case)
        assert not outcome.flaws


@pytest.mark.parametrize(
    ("placed", "moved", "kept", "flaw"),
    [
        ((0, 1, 2), (), 1, "takes a node that is down"),
        ((6, 8, 9), (), 1, "takes a node that is down, or a dark hop"),
        ((2, 3, 5), (), 1, "lies over another ring at 3, 4, 5"),
        ((5, 6, 7), (), 1, "lies over another ring at 5"),
        ((6, 7), (), 1, "has 2 nodes instead of 3"),
        ((6, 9, 8), (), 1, "no fibre joins n6 and n9"),
        ((7, 8, 9), (), 2, "says that it keeps 2 rings, and keeps 1"),
        ((7, 8, 9), ("job/0",), 1, "moves job/0, which did not survive"),
        ((7, 8, 9), ("other/0",), 1, "moves other/0, which did not survive or is of another job"),
    ],
)
def test_a_plan_that_could_not_be_carried_out_is_wrong_whatever_its_score(monkeypatch, placed, moved, kept, flaw):
    (case,) = read(a_case(dead_hops=[[6, 2]]))

    class Hasty:
        """A planner that answers at once."""

        def __init__(self, cabling, names):
            self._real = vectors_planner(cabling, names)
            self.order = self._real.order

        def plan(self, request):
            assert request.broken == ((0, 1, 2),)
            found = tuple(ring for ring in self.order.chains_of("job") if ring.name in moved)
            strange = tuple(_ring_named(self.order, name) for name in moved if name not in {r.name for r in found})
            return RingPlan(kept, (*found, *strange), (Placement(placed),))

    vectors_planner = vectors.Planner
    monkeypatch.setattr(vectors, "Planner", Hasty)
    outcome = run_case(case)
    assert any(flaw in text for text in outcome.flaws), outcome.flaws
    assert outcome.is_wrong(case)


def _ring_named(order, name):
    (ring, *_) = order.chains_of("job")
    return type(ring)(name, "other", ring.chain, ring.first, ring.last)


def test_two_rings_laid_over_each_other_or_too_many_are_flaws(monkeypatch):
    (case,) = read(a_case(existing=[], rings_wanted=1, down=[]))
    plan = RingPlan(0, (), (Placement((0, 1, 2)), Placement((2, 3, 4))))
    monkeypatch.setattr(vectors.Planner, "plan", lambda _planner, _request: plan)
    flaws = run_case(case).flaws
    assert flaws == ("lays 2 rings of 1", "[2, 3, 4]: lies over another ring at 2")


def test_a_ring_goes_one_way_along_the_order(make_wiring):
    wiring = make_wiring(12, 3)
    assert chain_span(wiring, (10, 1, 2)) == chain_span(wiring, (2, 1, 10)) == {10, 11, 0, 1, 2}
    assert chain_span(wiring, (5,)) == {5}
    with pytest.raises(InvalidError, match="it turns round"):
        chain_span(wiring, (6, 9, 8))


def test_a_ring_around_the_whole_order_runs_into_itself():
    around = [0, 2, 4, 1]
    (told,) = mistakes(a_case(nodes=5, closed=True, down=[], existing=[around], nodes_per_ring=4, rings_wanted=1))
    assert told.endswith("it runs once around the order, into itself")


def test_a_case_is_read_as_it_is_written():
    (case,) = parse_cases(
        json.dumps({"cases": [a_case(name="two of three", dead_hops=[[4, 2]], others=[[7, 9]])]}), source="x"
    )
    assert case.name == "0 (two of three)"
    assert case.spec.distances == (1, 2)
    assert (len(case.spec.nodes), case.spec.closed, case.down) == (10, False, {1})
    assert case.dead_hops == {HopKey(4, 2)}
    assert (case.existing, case.others) == (((0, 1, 2), (3, 4, 5)), ((7, 9),))
    assert (case.rings_wanted, case.expected) == (2, Score(2, 1))


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"nodes": "ten"}, "nodes: expected a whole number, found 'ten'"),
        ({"nodes": 0}, "nodes: expected a whole number of at least 1, found 0"),
        ({"nodes": ...}, "nodes: is missing"),
        ({"k": ...}, "k: is missing; give it, or distances"),
        ({"k": 5}, "k: expected a whole number below 5, found 5"),
        ({"closed": 1}, "closed: expected true or false, found 1"),
        ({"closed": True, "nodes": 4, "existing": [], "down": []}, "nodes: a closed order with k = 2 needs at least"),
        ({"distances": [2, 1], "k": ...}, "distances[1]: expected more than 2, found 1"),
        ({"distances": [1, "x"], "k": ...}, "distances[1]: expected a whole number from 1"),
        ({"ports": {"b7.p1": 1}}, "ports.b7.p1: expected a port b0.p1 .. b1.p2"),
        ({"ports": {"b0.p1": 1}}, "ports.b0.p1: no port leads back"),
        ({"down": [10]}, "down[0]: expected a position from 0 to 9, found 10"),
        ({"down": 1}, "down: expected a list, found 1"),
        ({"down": [-1]}, "down[0]: expected a whole number of at least 0, found -1"),
        ({"dead_hops": [[3]]}, "dead_hops[0]: expected [position, distance]"),
        ({"dead_hops": [[3, 3]]}, "dead_hops[0][1]: expected one of the distances 1, 2, found 3"),
        ({"dead_hops": [[30, 1]]}, "dead_hops[0][0]: expected a position from 0 to 9, found 30"),
        ({"existing": [[]]}, "existing[0]: expected at least one node"),
        ({"existing": [[0, 1]]}, "existing[0]: expected nodes_per_ring = 3 nodes, found 2"),
        ({"existing": [[0, 1, 4]]}, "existing[0]: expected a chain that can be laid: no fibre joins n1 and n4"),
        ({"existing": [[0, 1, 10]]}, "existing[0][2]: expected a position from 0 to 9, found 10"),
        (
            {"others": [[2, 3]]},
            "others[0]: expected a ring beside the others; it lies over existing[0] and existing[1]",
        ),
        ({"rings_wanted": -1}, "rings_wanted: expected a whole number of at least 0, found -1"),
        ({"rings_wanted": 2.5}, "rings_wanted: expected a whole number, found 2.5"),
        ({"expect": {"rings": 2}}, "expect.kept: is missing"),
        ({"expect": {"rings": 2, "kept": 1, "best": 3}}, "expect.best: unknown field; known are rings, kept"),
        ({"expect": 2}, "expect: expected a mapping, found 2"),
        ({"noeds": 3}, "noeds: unknown field; known are name, nodes, k,"),
        ({"name": 3}, "name: expected text, found 3"),
    ],
)
def test_a_mistake_names_case_field_and_what_was_expected(changes, mistake):
    (told,) = mistakes(a_case(), a_case(**changes))
    assert told.startswith(f"case 1: {mistake}"), told


def test_every_mistake_is_told_but_not_without_end():
    told = mistakes(a_case(down=[11, 12], name="first"), 7, a_case(nodes="x", k="y"))
    assert [line.partition(": ")[0] for line in told] == ["case 0 (first)"] * 2 + ["case 1"] + ["case 2"] * 2
    with pytest.raises(VectorFileError, match="has 50 mistakes") as many:
        read(*[a_case(down=[99])] * 50)
    assert str(many.value).splitlines()[-1] == "  and 30 more"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("[", "line 1: is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("[]", "expected a list of cases"),
        ("7", "expected a list of cases, or {'cases': [...]}, with at least one case; found 7"),
        ('{"case": []}', "found a mapping"),
    ],
)
def test_what_is_no_list_of_cases_is_one_mistake(text, mistake):
    with pytest.raises(VectorFileError) as told:
        parse_cases(text, source="cases.json")
    assert len(told.value.problems) == 1
    assert mistake in str(told.value)
    assert str(told.value).startswith("cases.json has a mistake:")


def test_a_file_that_cannot_be_read_is_one_mistake(tmp_path):
    with pytest.raises(VectorFileError, match="cannot be read: No such file"):
        load_cases(tmp_path / "absent.json")
    (tmp_path / "latin.json").write_bytes(b"[\xff]")
    with pytest.raises(VectorFileError, match="is not UTF-8 text"):
        load_cases(tmp_path / "latin.json")
