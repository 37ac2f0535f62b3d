"""pause, resume, breaker, quarantine, maintenance, second witnesses: what is asked, shown, and the exit codes."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]

OPEN = [pb.Gate(name=name, open=True) for name in ("silence", "breaker", "pause", "term")]


def shut(name: str, reason: str) -> list[pb.Gate]:
    return [pb.Gate(name=gate.name, open=gate.name != name, reason=reason * (gate.name == name)) for gate in OPEN]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_pause_and_resume(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(gates=shut("pause", "firmware"), store="ok")
    outcome = ringlight("pause", "--reason", "firmware", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.PauseRequest(reason="firmware")]
    assert "pause shut: firmware" in words(outcome.out)
    assert ringlight("resume", asks=controller).code == ExitCode.FINE
    assert controller.requests[-1] == pb.ResumeRequest()


def test_the_breaker_shows_its_use_and_is_reset_only_on_purpose(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(gates=shut("breaker", "13 nodes newly failed"), newly_failed=13, breaker_allowance=12)
    outcome = ringlight("breaker", "status", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "13 of 12 nodes" in words(outcome.out)
    assert ringlight("breaker", "reset", asks=controller).code == ExitCode.INTERRUPTED
    assert ringlight("breaker", "reset", "--yes", asks=controller).code == ExitCode.FINE
    assert controller.requests[-1] == pb.ResetBreakerRequest()
    assert len(controller.requests) == 2


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (OPEN, ExitCode.FINE),
        (shut("silence", "only 3 of 9 speak"), ExitCode.FINE),
        (shut("breaker", "many"), ExitCode.DEGRADED),
        (shut("pause", "me"), ExitCode.DEGRADED),
        (shut("term", "epoch 9"), ExitCode.DEGRADED),
    ],
)
def test_status_says_which_gate_is_shut_and_why(
    ringlight: Run, controller: Any, gates: list[pb.Gate], code: ExitCode
) -> None:
    controller.fabric = pb.Fabric(gates=gates, store="ok")
    outcome = ringlight("status", asks=controller)
    assert outcome.code == code
    expected = [f"gates {gate.name} is shut: {gate.reason}" for gate in gates if not gate.open] or ["gates all open"]
    assert expected[0] in words(outcome.out)


def test_quarantine_lists_and_releases(ringlight: Run, controller: Any) -> None:
    bad = pb.Node(name="n4", verdict="HEALTHY", quarantine="failed 3 times in 7 days")
    controller.nodes = [bad, pb.Node(name="n5", verdict="FAILED")]
    outcome = ringlight("quarantine", "list", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "n4 - HEALTHY quarantined" in words(outcome.out)
    assert "failed 3 times" in words(outcome.out)
    assert "n5" not in outcome.out
    outcome = ringlight("quarantine", "release", "n4", "-o", "json", asks=controller)
    assert controller.requests[-1] == pb.ReleaseQuarantineRequest(nodes=["n4"])
    assert json.loads(outcome.out)["nodes"][0]["quarantine"] == ""
    controller.nodes = []
    assert ringlight("quarantine", "list", asks=controller).code == ExitCode.FINE


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("1.5d", 129_600)])
def test_maintenance_is_a_drain_with_an_end(ringlight: Run, controller: Any, text: str, seconds: float) -> None:
    outcome = ringlight("maintenance", "n1", "n2", "--for", text, "--reason", "psu", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DrainRequest(nodes=["n1", "n2"], reason="psu", maintenance=seconds)]


@pytest.mark.parametrize("text", ["", "2", "2 h", "-1h", "0h", "an hour", "1w"])
def test_a_time_that_is_none_is_refused_with_an_example(ringlight: Run, controller: Any, text: str) -> None:
    outcome = ringlight("maintenance", "n1", "--for", text, asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert "90s, 30m, 2h or 1d" in outcome.err
    assert not controller.requests


def test_nodes_show_how_long_maintenance_goes_on(ringlight: Run, controller: Any) -> None:
    controller.nodes = [pb.Node(name="n1", verdict="HEALTHY", overlay="maintenance", overlay_seconds=7_300)]
    assert "HEALTHY maintenance 2h" in words(ringlight("nodes", asks=controller).out)


def test_a_launcher_reports_a_stall(ringlight: Run, controller: Any) -> None:
    controller.nodes = [pb.Node(name="n3", verdict="UNREACHABLE", reason="silent")]
    outcome = ringlight("jobs", "stalled", "train", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.ReportStallRequest(job="train")]
    assert "n3" in outcome.out


def test_a_person_declares_nodes_dead_only_on_purpose(ringlight: Run, controller: Any) -> None:
    assert ringlight("declare-dead", "n1", asks=controller).code == ExitCode.INTERRUPTED
    assert not controller.requests
    outcome = ringlight("declare-dead", "n1", "n2", "--reason", "no power", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DeclareDeadRequest(nodes=["n1", "n2"], reason="no power")]
