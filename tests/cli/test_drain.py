"""drain: what is asked before, what is shown after, and the exit codes."""

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

MOVED = pb.RingChange(ring="train/0", former=["n1", "n2"], chain=["n2", "n3"])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def rows(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def test_drain_sends_what_was_asked_and_shows_the_plan(ringlight: Run, controller: Any) -> None:
    controller.changes, controller.reasons = [MOVED], ["n3 is nearest"]
    outcome = ringlight("drain", "n1", "n7", "--force", "--reason", "fan", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DrainRequest(nodes=["n1", "n7"], force=True, reason="fan")]
    assert rows(outcome.out)[-3:] == ["RING FORMER NEW", "train/0 n1 n2 n2 n3", "n3 is nearest"]
    assert any(row.startswith("n1 - HEALTHY draining") for row in rows(outcome.out))


def test_a_dry_run_changes_nothing_and_asks_nobody(ringlight: Run, controller: Any) -> None:
    controller.changes = [MOVED]
    outcome = ringlight("drain", "n1", "--dry-run", "-o", "json", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.DrainRequest(nodes=["n1"], dry_run=True)]
    assert json.loads(outcome.out)["rings"][0]["chain"] == ["n2", "n3"]


def test_drain_needs_yes_only_when_it_interrupts_a_ring(ringlight: Run, controller: Any) -> None:
    controller.changes = [MOVED]
    outcome = ringlight("drain", "n1", asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert outcome.err.startswith("error: draining n1, which interrupts train/0, needs a confirmation\nhint: add --yes")
    assert [request.dry_run for request in controller.requests] == [True]
    controller.changes = []
    outcome = ringlight("drain", "n1", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "no ring changes" in rows(outcome.out)
    assert [request.dry_run for request in controller.requests] == [True, True, False]


@pytest.mark.parametrize(("answer", "code", "asked"), [("y\n", 0, 2), ("n\n", 1, 1), ("\n", 1, 1), ("", 130, 1)])
def test_drain_asks_on_a_terminal(  # noqa: PLR0917  # fixtures and parameters
    ringlight: Run, controller: Any, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, asked: int
) -> None:
    controller.changes = [MOVED]
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    outcome = ringlight("drain", "n1", asks=controller)
    assert (outcome.code, len(controller.requests)) == (code, asked)
    assert "Drain n1, and interrupt train/0 for a moment?" in outcome.err


def test_a_refused_drain_exits_with_3_and_the_reason(ringlight: Run, controller: Any) -> None:
    controller.failure = (grpc.StatusCode.FAILED_PRECONDITION, "draining n1 would cost train/0", "add --force")
    outcome = ringlight("drain", "n1", asks=controller)
    assert outcome.code == ExitCode.REFUSED
    assert outcome.err == "error: draining n1 would cost train/0\nhint: add --force\n"


@pytest.mark.parametrize(("ring", "code"), [("", ExitCode.FINE), ("train/0", ExitCode.DEGRADED)])
def test_drain_waits_until_the_node_is_out_or_the_drain_is_given_up(
    process: Run, controller: Any, ring: str, code: ExitCode
) -> None:
    controller.nodes = [pb.Node(name="n1", verdict="HEALTHY", overlay="draining"), pb.Node(name="n2", ring="train/0")]

    def on_watch() -> None:
        controller.nodes[0] = pb.Node(name="n1", verdict="HEALTHY", overlay="cordoned", ring=ring)
        controller.publish(pb.Event(sequence=1, kind="node-drained", subject="n1"))

    controller.on_watch = on_watch
    outcome = process("drain", "n1", "--yes", "--wait", "30", asks=controller)
    assert outcome.code == code
    assert "cordoned" in outcome.out
    assert outcome.err == ""


def test_drain_gives_up_waiting_with_2(process: Run, controller: Any) -> None:
    controller.nodes = [pb.Node(name="n1", verdict="HEALTHY", overlay="draining")]
    outcome = process("drain", "n1", "--yes", "--wait", "0.2", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert outcome.err == "not drained after 0.2 s\n"
