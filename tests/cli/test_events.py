"""events, listed and followed."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]

LONG = "bypass of n3: ring train/0 goes n1 n2 n4 n5 with 4 bundles to switch, spare n5 drawn in, others untouched"


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import time  # noqa: PLC0415  # tzset is all that is wanted of it

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def an_event(sequence: int, subject: str = "n3", text: str = "gpu2 reports xid 79") -> pb.Event:
    return pb.Event(
        sequence=sequence,
        time=1_764_553_443.0127,
        kind="fault-opened",
        subject=subject,
        text=text,
        data={"code": "xid:79"},
    )


def test_events_are_listed_with_their_local_time(ringlight: Run, controller: Any) -> None:
    controller.events = [an_event(1), an_event(2, text=LONG)]
    outcome = ringlight("events", asks=controller)
    assert outcome.code == ExitCode.FINE
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["SEQ", "TIME", "KIND", "SUBJECT", "TEXT"]
    assert lines[1].split() == ["1", "12-01", "01:44:03.012", "fault-opened", "n3", "gpu2", "reports", "xid", "79"]
    text_from = lines[0].index("TEXT")
    assert " ".join(line[text_from:].strip() for line in lines[2:]) == LONG


def test_options_go_to_the_controller(ringlight: Run, controller: Any) -> None:
    ringlight("events", "--after", "7", "--limit", "3", "--subject", "n3+2", asks=controller)
    assert controller.requests == [pb.ListEventsRequest(after=7, limit=3, subject="n3+2")]


def test_events_as_json(ringlight: Run, controller: Any) -> None:
    controller.events = [an_event(1)]
    (event,) = json.loads(ringlight("events", "-o", "json", asks=controller).out)["events"]
    assert event["sequence"] == 1
    assert event["data"] == {"code": "xid:79"}


def test_follow_gives_stored_and_live_events_once_each(ringlight: Run, controller: Any) -> None:
    controller.events = [an_event(1), an_event(2)]
    controller.fabric.last_event = 2
    controller.on_watch = lambda: controller.publish(an_event(3))
    controller.ends_watch_after = 1
    outcome = ringlight("events", "--follow", "-o", "json", asks=controller)
    assert [json.loads(line)["sequence"] for line in outcome.out.splitlines()] == [1, 2, 3]
    assert controller.requests[-1] == pb.WatchRequest(after=2)
    assert outcome.code == ExitCode.ERROR
    assert "ended the stream" in outcome.err


def test_follow_shows_only_its_subject_and_one_header(ringlight: Run, controller: Any) -> None:
    controller.fabric.last_event = 5

    def on_watch() -> None:
        controller.publish(an_event(6, subject="n4"))
        controller.publish(an_event(7, subject="n3"))
        controller.publish(an_event(8, subject="n3", text=LONG))

    controller.on_watch = on_watch
    controller.ends_watch_after = 3
    outcome = ringlight("events", "--follow", "--subject", "n3", asks=controller)
    lines = outcome.out.splitlines()
    assert [line.split()[0] for line in lines if line[:1].strip()] == ["SEQ", "7", "8"]
    assert max(map(len, lines)) <= 100
    assert {line.index("fault-opened") for line in lines if "fault-opened" in line} == {lines[0].index("KIND")}


def test_follow_as_yaml_is_a_document_an_event(ringlight: Run, controller: Any) -> None:
    controller.on_watch = lambda: (controller.publish(an_event(1)), controller.publish(an_event(2)))
    controller.ends_watch_after = 2
    outcome = ringlight("events", "--follow", "-o", "yaml", asks=controller)
    assert [event["sequence"] for event in yaml.safe_load_all(outcome.out)] == [1, 2]


def test_follow_after_a_number_in_the_future_starts_there(ringlight: Run, controller: Any) -> None:
    controller.ends_watch_after = 0
    ringlight("events", "--follow", "--after", "9", asks=controller)
    assert controller.requests[-1] == pb.WatchRequest(after=9)
