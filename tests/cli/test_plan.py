"""plan: what may be supposed, how the answer is shown, and the exit codes; placement cases without a controller."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]

CASE = {
    "nodes": 10,
    "k": 2,
    "closed": False,
    "down": [1],
    "dead_hops": [],
    "nodes_per_ring": 3,
    "existing": [[0, 1, 2], [3, 4, 5]],
    "rings_wanted": 2,
    "expect": {"rings": 2, "kept": 1},
}


def foretold(rings: int = 2) -> pb.PlanReply:
    change = pb.RingChange(ring="train/0", former=["n1", "n2"], chain=["n2", "n3"] if rings == 2 else [])
    ring = pb.PlannedRing(change=change, cause="n1 failed: as supposed", reasons=["takes n3: no other ring moves"])
    job = pb.JobPlan(
        job="train",
        state="RUNNING" if rings == 2 else "DEGRADED",
        rings_now=2,
        rings=rings,
        rings_wanted=2,
        min_rings=1,
        changes=[ring],
        bundles=3,
        reasons=[] if rings == 2 else ["no room for 1 more ring of 2 nodes"],
    )
    return pb.PlanReply(jobs=[job], reasons=["n9 is in no ring"])


def rows(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


def test_what_would_be_done_is_shown_with_the_reasons(ringlight: Run, controller: Any) -> None:
    controller.foretold = foretold()
    outcome = ringlight("plan", "--what-if", "fail=n1", asks=controller)
    assert (outcome.code, outcome.err) == (ExitCode.FINE, "")
    assert rows(outcome.out) == [
        "job train: RUNNING, 2 of 2 rings (now 2, at least 1); 3 bundles switch",
        "RING FORMER NEW",
        "train/0 n1 n2 n2 n3",
        "train/0: n1 failed: as supposed",
        "takes n3: no other ring moves",
        "n9 is in no ring",
    ]


def test_a_ring_that_would_be_lost_exits_with_2(ringlight: Run, controller: Any) -> None:
    controller.foretold = foretold(rings=1)
    outcome = ringlight("plan", "--what-if", "fail=n1", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "train/0 n1 n2 -" in rows(outcome.out)
    assert "no room for 1 more ring of 2 nodes" in rows(outcome.out)


def test_nothing_to_do_is_said(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("plan", asks=controller)
    assert (outcome.code, outcome.out) == (ExitCode.FINE, "no ring would change, and none waits\n")
    assert controller.requests == [pb.PlanRequest()]


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_the_message_as_it_is(
    ringlight: Run, controller: Any, form: str, read: Callable[[str], Any]
) -> None:
    controller.foretold = foretold(rings=1)
    outcome = ringlight("plan", "--what-if", "fail=n1", "-o", form, asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    plain = read(outcome.out)
    assert (plain["jobs"][0]["rings"], plain["jobs"][0]["changes"][0]["change"]["chain"]) == (1, [])


@pytest.mark.parametrize(
    ("arguments", "failed", "dark"),
    [
        (["fail=n17,n18,hop=n3+2"], ["n17", "n18"], ["n3+2"]),
        (["hop=n3+2,n4+1,fail=n1"], ["n1"], ["n3+2", "n4+1"]),
        (["fail=n1", "hop=n3+2", "fail=n2"], ["n1", "n2"], ["n3+2"]),
        (["fail=n1, n2, hop= n3+2"], ["n1", "n2"], ["n3+2"]),
        (["fail=n1,fail=n2"], ["n1", "n2"], []),
    ],
)
def test_what_is_supposed_is_a_list_of_nodes_and_hops(
    ringlight: Run, controller: Any, arguments: list[str], failed: list[str], dark: list[str]
) -> None:
    options = [part for argument in arguments for part in ("--what-if", argument)]
    ringlight("plan", *options, asks=controller)
    assert controller.requests == [pb.PlanRequest(failed_nodes=failed, dark_hops=dark)]


@pytest.mark.parametrize(
    ("supposed", "message"),
    [
        ("n17", "what becomes of 'n17'? Write fail= before nodes, hop= before hops: fail=n17,n18,hop=n3+2"),
        ("", "what becomes of ''?"),
        ("node=n3", "'node' cannot be supposed; write fail= or hop="),
        ("fail=", "a node is missing after 'fail=' in 'fail='"),
        ("fail=n1,,n2", "a node is missing after ',' in 'fail=n1,,n2'"),
        ("hop=", "a hop is missing after 'hop='"),
        ("fail=n1=n2", "'fail=n1' cannot be supposed"),
    ],
)
def test_what_cannot_be_supposed_is_wrong_usage(ringlight: Run, controller: Any, supposed: str, message: str) -> None:
    outcome = ringlight("plan", "--what-if", supposed, asks=controller)
    assert (outcome.code, outcome.out, controller.requests) == (ExitCode.ERROR, "", [])
    assert message in outcome.err


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], str]:
    def write(cases: Any) -> str:
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(cases))
        return str(path)

    return write


def test_cases_that_come_out_right(ringlight: Run, file: Callable[[Any], str]) -> None:
    outcome = ringlight("plan", "vectors", file([CASE, CASE]))
    assert (outcome.code, outcome.err) == (ExitCode.FINE, "")
    assert rows(outcome.out) == ["cases 2", "mismatches 0"]


def test_mismatches_are_listed_and_exit_with_2(ringlight: Run, file: Callable[[Any], str]) -> None:
    cases = [CASE, CASE | {"expect": {"rings": 3, "kept": 0}}, CASE | {"expect": {"rings": 2, "kept": 2}, "name": "x"}]
    outcome = ringlight("plan", "vectors", file({"cases": cases}))
    assert outcome.code == ExitCode.DEGRADED
    assert rows(outcome.out) == [
        "cases 3",
        "mismatches 2",
        "CASE EXPECTED GOT FLAWS",
        "1 3 rings, 0 kept 2 rings, 1 kept -",
        "2 (x) 2 rings, 2 kept 2 rings, 1 kept -",
    ]
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        outcome = ringlight("plan", "vectors", file(cases), "-o", form)
        assert outcome.code == ExitCode.DEGRADED
        plain = read(outcome.out)
        assert (plain["cases"], plain["mismatches"]) == (3, 2)
        assert plain["wrong"][0] == {
            "case": "1",
            "expected": {"rings": 3, "kept": 0},
            "got": {"rings": 2, "kept": 1},
            "flaws": [],
        }


def test_a_file_with_mistakes_exits_with_1_and_names_them(ringlight: Run, file: Callable[[Any], str]) -> None:
    outcome = ringlight("plan", "vectors", file([CASE, CASE | {"nodes": "ten"}]))
    assert (outcome.code, outcome.out) == (ExitCode.ERROR, "")
    assert "case 1: nodes: expected a whole number, found 'ten'" in outcome.err
    assert "hint: correct the file" in outcome.err
    outcome = ringlight("plan", "vectors", "absent.json")
    assert outcome.code == ExitCode.ERROR
    assert "absent.json has a mistake:\n  cannot be read" in outcome.err


def test_options_of_the_group_do_not_get_lost_on_a_subcommand(ringlight: Run, file: Callable[[Any], str]) -> None:
    for options in (("-o", "json"), ("--what-if", "fail=n1"), ("--timeout", "3")):
        outcome = ringlight("plan", *options, "vectors", file([CASE]))
        assert (outcome.code, outcome.out) == (ExitCode.ERROR, "")
        assert "give the options of 'vectors' after its name" in outcome.err
