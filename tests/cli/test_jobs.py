"""jobs submit, list, show, resize and release."""

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

SUBMIT = ("jobs", "submit", "train", "--rings", "4", "--tp", "16")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def rows(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def test_submit_sends_what_was_asked(ringlight: Run, controller: Any) -> None:
    outcome = ringlight(*SUBMIT, "--min-rings", "3", "--priority", "-5", "--pinned", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [
        pb.SubmitJobRequest(name="train", rings=4, tp=16, min_rings=3, priority=-5, pinned=True)
    ]
    assert rows(outcome.out) == [
        "job train",
        "state PLACING",
        "rings 0 active of 4 wanted, at least 3",
        "tp 16 GPUs a ring",
        "priority -5",
        "pinned yes",
        "generation 0",
        "reason -",
    ]


def test_submit_leaves_min_rings_to_the_controller(ringlight: Run, controller: Any) -> None:
    outcome = ringlight(*SUBMIT, "-o", "json", asks=controller)
    assert controller.requests == [pb.SubmitJobRequest(name="train", rings=4, tp=16)]
    assert json.loads(outcome.out)["min_rings"] == 4


def _set_state(controller: Any, state: str, sequence: int) -> None:
    controller.jobs[0].state = state
    controller.publish(pb.Event(sequence=sequence, kind="job", subject="train"))


def test_submit_waits_for_running_by_watching(process: Run, controller: Any) -> None:
    controller.fabric.last_event = 10

    def on_watch() -> None:
        _set_state(controller, "WAITING", 11)
        _set_state(controller, "RUNNING", 12)

    controller.on_watch = on_watch
    outcome = process(*SUBMIT, "--wait", "30", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "state RUNNING" in rows(outcome.out)
    assert outcome.err == ""


def test_submit_sees_a_job_that_ran_before_the_watch_began(ringlight: Run, controller: Any) -> None:
    controller.state_on_submit = "RUNNING"
    outcome = ringlight(*SUBMIT, "--wait", "30", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert not [request for request in controller.requests if isinstance(request, pb.WatchRequest)]


def test_submit_gives_up_waiting_with_2(process: Run, controller: Any) -> None:
    outcome = process(*SUBMIT, "--wait", "0.2", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "state PLACING" in rows(outcome.out)
    assert outcome.err == "job 'train' is not RUNNING after 0.2 s\n"


def test_submit_stops_waiting_for_a_job_that_was_released(process: Run, controller: Any) -> None:
    controller.on_watch = lambda: _set_state(controller, "RELEASED", 1)
    outcome = process(*SUBMIT, "--wait", "30", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "state RELEASED" in rows(outcome.out)


def test_list_is_a_table_of_all_jobs(ringlight: Run, controller: Any) -> None:
    controller.jobs = [
        pb.Job(name="a", state="RUNNING", active=2, rings=2, min_rings=1, tp=8, generation=9),
        pb.Job(name="b", state="WAITING", rings=3, min_rings=3, tp=64, priority=5, reason="2 rings of 3 fit " * 6),
    ]
    outcome = ringlight("jobs", "list", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert max(map(len, outcome.out.splitlines())) <= 100
    assert rows(outcome.out)[:2] == [
        "JOB STATE ACTIVE WANTED MIN TP PRIO GEN REASON",
        "a RUNNING 2 2 1 8 0 9",
    ]
    assert rows(outcome.out)[2].startswith("b WAITING 0 3 3 64 5 0 2 rings of 3 fit")


def test_show_has_the_rings_of_the_job(ringlight: Run, controller: Any) -> None:
    controller.jobs = [pb.Job(name="a", state="RUNNING"), pb.Job(name="b", state="RUNNING")]
    controller.rings = [
        pb.Ring(name="a/0", job="a", state="ACTIVE", nodes=["n1", "n2"]),
        pb.Ring(name="b/0", job="b", state="ACTIVE"),
    ]
    outcome = ringlight("jobs", "show", "a", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "a/0 ACTIVE n1 n2" in rows(outcome.out)
    assert "b/0" not in outcome.out
    assert json.loads(ringlight("jobs", "show", "b", "-o", "json", asks=controller).out)["name"] == "b"


def test_show_of_an_unknown_job_is_an_error(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("jobs", "show", "nobody", asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert outcome.err.startswith("error: there is no job 'nobody'\nhint: ")


def test_release_needs_yes_when_nobody_can_be_asked(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("jobs", "release", "train", asks=controller)
    assert (outcome.code, controller.requests) == (ExitCode.ERROR, [])
    assert outcome.err == "error: releasing job 'train' needs a confirmation\nhint: add --yes\n"
    outcome = ringlight("jobs", "release", "train", "--yes", asks=controller)
    assert (outcome.code, controller.requests) == (ExitCode.FINE, [pb.ReleaseJobRequest(name="train")])
    assert "state RELEASED" in rows(outcome.out)


@pytest.mark.parametrize(("answer", "code", "released"), [("y\n", 0, 1), ("n\n", 1, 0), ("\n", 1, 0), ("", 130, 0)])
def test_release_asks_on_a_terminal(  # noqa: PLR0917  # fixtures and parameters
    ringlight: Run,
    controller: Any,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    released: int,
) -> None:
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    outcome = ringlight("jobs", "release", "train", asks=controller)
    assert (outcome.code, len(controller.requests)) == (code, released)
    assert "Release job 'train'" in outcome.err


RESIZE = ("jobs", "resize", "train", "--rings", "2")
RELEASED = pb.RingChange(ring="train/2", former=["n8", "n9"])
PLACED = pb.RingChange(ring="train/2", chain=["n8", "n9"])


def test_resize_shows_what_follows(ringlight: Run, controller: Any) -> None:
    controller.changes, controller.reasons = [RELEASED], ["because it was asked for"]
    outcome = ringlight(*RESIZE, "--min-rings", "1", "--yes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.ResizeJobRequest(name="train", rings=2, min_rings=1)]
    assert "rings 0 active of 2 wanted, at least 1" in rows(outcome.out)
    assert rows(outcome.out)[-3:] == ["RING FORMER NEW", "train/2 n8 n9 -", "because it was asked for"]


def test_a_dry_run_of_resize_asks_nobody(ringlight: Run, controller: Any) -> None:
    controller.changes = [RELEASED]
    outcome = ringlight(*RESIZE, "--dry-run", "-o", "json", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.ResizeJobRequest(name="train", rings=2, dry_run=True)]
    assert json.loads(outcome.out)["rings"] == [{"ring": "train/2", "former": ["n8", "n9"], "chain": []}]


def test_resize_needs_yes_only_when_a_ring_that_has_nodes_is_touched(ringlight: Run, controller: Any) -> None:
    controller.changes = [RELEASED]
    outcome = ringlight(*RESIZE, asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert "releases or moves train/2, needs a confirmation" in outcome.err
    assert [request.dry_run for request in controller.requests] == [True]
    controller.changes = [PLACED]
    assert ringlight(*RESIZE, asks=controller).code == ExitCode.FINE
    assert [request.dry_run for request in controller.requests] == [True, True, False]


def test_a_refused_resize_exits_with_3(ringlight: Run, controller: Any) -> None:
    controller.failure = (grpc.StatusCode.FAILED_PRECONDITION, "job 'train' would have 1 rings", "ask for less")
    outcome = ringlight(*RESIZE, "--yes", asks=controller)
    assert outcome.code == ExitCode.REFUSED
    assert outcome.err == "error: job 'train' would have 1 rings\nhint: ask for less\n"
