"""pause, resume, breaker, quarantine, maintenance, second witnesses: what is asked, shown, and the exit codes."""

import io
import json
import re
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]

OPEN = [pb.Gate(name=name, open=True) for name in ("silence", "breaker", "pause", "term")]


def shut(name: str, reason: str) -> list[pb.Gate]:
    return [pb.Gate(name=gate.name, open=gate.name != name, reason=reason * (gate.name == name)) for gate in OPEN]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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


def test_a_tripped_breaker_shows_its_use_and_what_a_reset_does(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(gates=shut("breaker", "13 nodes newly failed"), newly_failed=13, breaker_allowance=12)
    outcome = ringlight("breaker", "status", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "13 of 12 nodes" in words(outcome.out)
    assert "tripped, nothing moves: 13 nodes newly failed" in words(outcome.out)
    assert "on reset what is FAILED then is bypassed at once" in words(outcome.out)
    assert ringlight("breaker", "reset", "--yes", asks=controller).code == ExitCode.FINE
    assert controller.requests == [pb.GetFabricRequest(), pb.ResetBreakerRequest()]


def test_a_breaker_that_has_not_tripped_shows_how_near_it_is(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(gates=shut("pause", "me"), newly_failed=3, breaker_allowance=12)
    outcome = ringlight("breaker", "status", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "breaker has not tripped allowance used 3 of 12 nodes" in words(outcome.out)
    assert "nothing to reset" in outcome.out


GRAVE = [
    (("breaker", "reset"), "resetting the breaker", "Have you looked", "the breaker was not reset"),
    (("declare-dead", "n1", "n2"), "declaring n1 n2 dead", "no work is done on n1 n2", "nothing was declared dead"),
]


@pytest.mark.parametrize(("command", "doing", "question", "otherwise"), GRAVE, ids=["reset", "declare-dead"])
def test_what_a_person_should_think_about_twice_is_asked_or_needs_yes(  # noqa: PLR0917  # fixtures and parameters
    ringlight: Run,
    controller: Any,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    doing: str,
    question: str,
    otherwise: str,
) -> None:
    outcome = ringlight(*command, asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert outcome.err.startswith(f"error: {doing}")
    assert outcome.err.endswith("needs a confirmation\nhint: add --yes\n")
    monkeypatch.setattr("sys.stdin", _Terminal("n\n"))
    outcome = ringlight(*command, asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert question in outcome.err
    assert outcome.err.endswith(f"{otherwise}\n")
    assert not controller.requests
    monkeypatch.setattr("sys.stdin", _Terminal("y\n"))
    assert ringlight(*command, asks=controller).code == ExitCode.FINE
    assert len(controller.requests) == 1


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (OPEN, ExitCode.FINE),
        (shut("silence", "only 3 of 9 speak"), ExitCode.DEGRADED),
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


def test_the_silence_gate_is_no_trouble_while_agents_dial_in_and_other_gates_are(
    ringlight: Run, controller: Any
) -> None:
    controller.fabric = pb.Fabric(gates=shut("silence", "started a moment ago"), starting=True, store="ok")
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "gates silence is shut: started a moment ago" in words(outcome.out)
    controller.fabric = pb.Fabric(gates=shut("pause", "me"), starting=True, store="ok")
    assert ringlight("status", asks=controller).code == ExitCode.DEGRADED


def test_status_tells_every_shut_gate_and_does_not_call_gates_open_that_it_was_not_told(
    ringlight: Run, controller: Any
) -> None:
    both = [pb.Gate(name="breaker", reason="many"), pb.Gate(name="pause", reason="me"), pb.Gate(name="term", open=True)]
    controller.fabric = pb.Fabric(gates=both, store="ok")
    shown = words(ringlight("status", asks=controller).out)
    assert "gates breaker is shut: many; pause is shut: me" in shown
    controller.fabric = pb.Fabric(store="ok")
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "gates not told: the controller is of an older release" in words(outcome.out)


def test_quarantined_nodes_are_counted_and_make_the_fabric_degraded(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(gates=OPEN, quarantined=2, store="ok")
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "quarantined 2" in words(outcome.out)


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


def test_hops_that_are_not_trusted_are_listed_and_trusted_again(ringlight: Run, controller: Any) -> None:
    controller.fabric.dead_hops.append("n3+1")
    controller.fabric.untested_hops.append("n5+2")
    outcome = ringlight("hops", "list", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "n3+1 dead" in words(outcome.out)
    assert "n5+2 may be tried again" in words(outcome.out)
    outcome = ringlight("hops", "trust", "n3+1", "n5+2", "-o", "json", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests[-1] == pb.TrustHopsRequest(hops=["n3+1", "n5+2"])
    del controller.fabric.dead_hops[:], controller.fabric.untested_hops[:]
    assert ringlight("hops", "list", asks=controller).code == ExitCode.FINE


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("1.5d", 129_600)])
def test_maintenance_is_a_drain_with_an_end(ringlight: Run, controller: Any, text: str, seconds: float) -> None:
    outcome = ringlight("maintenance", "n1", "n2", "--for", text, "--reason", "psu", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DrainRequest(nodes=["n1", "n2"], reason="psu", maintenance=seconds)]


def test_maintenance_is_shown_first_and_refused_like_a_drain(ringlight: Run, controller: Any) -> None:
    controller.changes = [pb.RingChange(ring="train/0", former=["n1", "n2"], chain=["n2", "n3"])]
    outcome = ringlight("maintenance", "n1", "--for", "2h", "--force", "--dry-run", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DrainRequest(nodes=["n1"], maintenance=7_200, force=True, dry_run=True)]
    assert "train/0 n1 n2 n2 n3" in words(outcome.out)
    outcome = ringlight("maintenance", "n1", "--for", "2h", asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert "which interrupts train/0, needs a confirmation" in outcome.err
    assert all(request.dry_run for request in controller.requests)
    controller.failure = (grpc.StatusCode.FAILED_PRECONDITION, "would cost train/0", "add --force")
    assert ringlight("maintenance", "n1", "--for", "2h", "--yes", asks=controller).code == ExitCode.REFUSED


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


def test_a_person_declares_nodes_dead(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("declare-dead", "n1", "n2", "--reason", "no power", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DeclareDeadRequest(nodes=["n1", "n2"], reason="no power")]
