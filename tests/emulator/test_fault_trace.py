"""Fault traces: which end belongs to which beginning, and what is wrong with a file that is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.fault_trace import SECONDS_PER_DAY, TraceEvent, read_trace
from ringlight.fabric.errors import InvalidError


def entry(server, days, kind, fault_class="GPU", description="GPU Lost"):
    fault_type = {"Level": "Fault", "Class": fault_class, "Desc": description}
    return {"node_id": server, "event_time": days, "event_type": f"fault_{kind}", "fault_type": fault_type}


@pytest.fixture
def read(tmp_path):
    def write_and_read(trace):
        path = tmp_path / "trace.json"
        if isinstance(trace, bytes):
            path.write_bytes(trace)
        else:
            path.write_text(trace if isinstance(trace, str) else json.dumps(trace))
        return read_trace(path)

    return write_and_read


def pairs(events):
    """Server, fault number and whether it begins."""
    return [(event.server, event.fault, event.begins) for event in events]


def test_an_event_says_all_that_the_replay_needs(read):
    events = read([entry("a", 0.5, "start"), entry("a", 2, "end")])
    assert events[0] == TraceEvent(0.5 * SECONDS_PER_DAY, "a", 0, True, "GPU", "GPU Lost")
    assert (events[1].seconds, events[1].begins) == (2 * SECONDS_PER_DAY, False)


def test_an_empty_trace_has_no_events(read):
    assert read([]) == ()


def test_events_come_by_time_and_in_the_file_s_order_within_a_time_stamp(read):
    trace = [
        entry("a", 2, "start"),
        entry("b", 1, "start"),
        entry("c", 2, "start"),
        entry("b", 2, "end"),
        entry("c", 2, "end"),
        entry("a", 3, "end"),
    ]
    events = read(trace)
    assert pairs(events) == [
        ("b", 0, True),
        ("a", 1, True),
        ("c", 2, True),
        ("b", 0, False),
        ("c", 2, False),
        ("a", 1, False),
    ]


def test_a_fault_may_end_in_the_moment_it_begins(read):
    assert pairs(read([entry("a", 1, "start"), entry("a", 1, "end")])) == [("a", 0, True), ("a", 0, False)]


def test_an_end_belongs_to_the_fault_of_its_type(read):
    trace = [
        entry("a", 1, "start"),
        entry("a", 2, "start", "Node", "Node Lost"),
        entry("a", 3, "end", "Node", "Node Lost"),
        entry("a", 4, "end"),
    ]
    assert pairs(read(trace))[2:] == [("a", 1, False), ("a", 0, False)]


def test_of_faults_of_one_type_the_oldest_ends_first(read):
    trace = [entry("a", 1, "start"), entry("a", 2, "start"), entry("a", 3, "end"), entry("a", 3, "end")]
    assert pairs(read(trace))[2:] == [("a", 0, False), ("a", 1, False)]


def test_an_end_of_no_open_type_ends_the_oldest_fault(read):
    trace = [
        entry("a", 1, "start"),
        entry("a", 2, "start", "Node", "Node Lost"),
        entry("a", 3, "end", "Fan", "Fan Lost"),
        entry("a", 4, "end", "Node", "Node Lost"),
    ]
    assert pairs(read(trace))[2:] == [("a", 0, False), ("a", 1, False)]


def test_faults_of_other_servers_are_not_mixed_up(read):
    trace = [entry("a", 1, "start"), entry("b", 1, "start"), entry("b", 2, "end"), entry("a", 2, "end")]
    assert pairs(read(trace))[2:] == [("b", 1, False), ("a", 0, False)]


@given(st.data())
def test_every_fault_begins_once_and_ends_at_most_once_after_that(tmp_path_factory, data):
    trace, open_faults = [], {"a": 0, "b": 0}
    days = 0
    for _ in range(data.draw(st.integers(0, 20))):
        days += data.draw(st.integers(0, 1))
        server = data.draw(st.sampled_from("ab"))
        ends = open_faults[server] > 0 and data.draw(st.booleans())
        open_faults[server] += -1 if ends else 1
        trace.append(entry(server, days, "end" if ends else "start", data.draw(st.sampled_from(["GPU", "Node"]))))
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    path.write_text(json.dumps(trace))
    events = read_trace(path)
    assert [event.begins for event in events] == [e["event_type"] == "fault_start" for e in trace]
    begun = {}
    for event in events:
        if event.begins:
            assert event.fault == len(begun)
            begun[event.fault] = event.server
        else:
            assert begun[event.fault] == event.server
    ended = [event.fault for event in events if not event.begins]
    assert len(set(ended)) == len(ended)


GOOD = entry("a", 1, "start")


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ("", ["entry list", "Invalid JSON"]),
        ("[{]", ["entry list", "Invalid JSON"]),
        (b"\xff\xfe", ["entry list"]),
        ("{}", ["entry list", "valid array"]),
        ("null", ["entry list"]),
        (["a"], ["entry 0:"]),
        ([GOOD, {}], ["entry 1.node_id: Field required", "entry 1.event_time", "entry 1.event_type"]),
        ([GOOD | {"node_id": 5}], ["entry 0.node_id", "valid string"]),
        ([GOOD | {"event_time": "1"}], ["entry 0.event_time", "valid number"]),
        ([GOOD | {"event_time": True}], ["entry 0.event_time", "valid number"]),
        ([GOOD | {"event_time": -0.5}], ["entry 0.event_time", "greater than or equal to 0"]),
        ([GOOD | {"event_time": float("nan")}], ["entry 0.event_time", "finite number"]),
        ([GOOD | {"event_time": float("inf")}], ["entry 0.event_time", "finite number"]),
        ([GOOD | {"event_type": "fault"}], ["entry 0.event_type", "'fault_start' or 'fault_end'"]),
        ([GOOD | {"fault_type": "GPU"}], ["entry 0.fault_type"]),
        ([GOOD | {"fault_type": {"Level": "x", "Class": "GPU"}}], ["entry 0.fault_type.Desc: Field required"]),
    ],
)
def test_a_file_that_is_no_trace(read, trace, words):
    with pytest.raises(InvalidError) as told:
        read(trace)
    for word in ("trace.json is not a fault trace", *words):
        assert word in str(told.value)
    assert "event_time in days" in told.value.hint


def test_a_few_problems_are_shown_not_thousands(read):
    with pytest.raises(InvalidError) as told:
        read([{}] * 1000)
    assert str(told.value).count("entry ") == 5


@pytest.mark.parametrize(
    "trace",
    [
        [entry("b", 1, "start"), entry("a", 2, "end")],
        [entry("a", 3, "start"), entry("a", 2, "end")],
        [entry("a", 1, "end"), entry("a", 1, "start")],
    ],
)
def test_an_end_without_a_beginning(read, trace):
    number = next(index for index, one in enumerate(trace) if one["event_type"] == "fault_end")
    with pytest.raises(InvalidError, match=f"entry {number} ends a fault of a that never began") as told:
        read(trace)
    assert told.value.hint == "is the file whole?"


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidError, match=r"cannot read the fault trace .*missing: No such file"):
        read_trace(tmp_path / "missing")
    with pytest.raises(InvalidError, match="cannot read the fault trace"):
        read_trace(tmp_path)
