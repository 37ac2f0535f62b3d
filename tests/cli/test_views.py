"""status, nodes, rings and explain: what is shown, in each form, once and watched."""

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]


def a_fabric() -> pb.Fabric:
    return pb.Fabric(
        name="lab",
        k=2,
        nodes=64,
        gpus_per_node=4,
        epoch=3,
        generation=41,
        settled=True,
        verdicts={"HEALTHY": 62, "PROBATION": 1, "SUSPECT": 1},
        ring_states={"ACTIVE": 14, "RELEASED": 2},
        spares=8,
        gpus_healthy=256,
        gpus_in_rings=224,
        last_event=977,
        longest_bypass=2,
        store="ok",
    )


def a_node(position: int, **fields: Any) -> pb.Node:
    defaults: dict[str, Any] = {
        "name": f"n{position}",
        "position": position,
        "verdict": "HEALTHY",
        "agent": f"agent-{position}",
        "paths": ["LOOPBACK", "LOOPBACK"],
        "desired": ["LOOPBACK", "LOOPBACK"],
    }
    return pb.Node(**(defaults | fields))


def a_long_ring() -> pb.Ring:
    nodes = [f"rack07-node{number:03d}" for number in range(32)]
    return pb.Ring(
        name="training/17",
        job="training",
        state="ACTIVE",
        nodes=nodes,
        gpus=[f"{node}/g{gpu}" for node in nodes for gpu in range(4)],
        cause="every bundle read back right and both ends of every hop see light, after the bypass of rack07-node032",
        generation=2**40,
    )


def assert_plain(text: str) -> None:
    """Readable in 100 columns, no colours, nothing but ASCII."""
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert text.isascii()


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_status_tells_everything_at_a_glance(ringlight: Run, controller: Any) -> None:
    controller.fabric = a_fabric()
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    shown = words(outcome.out)
    for part in (
        "fabric lab: 64 nodes x 4 GPUs, K=2, open order",
        "state fine",
        "nodes 62 HEALTHY, 1 PROBATION, 1 SUSPECT",
        "rings 14 ACTIVE, 2 RELEASED",
        "spares 8",
        "dead hops none",
        "GPUs 224 in ACTIVE rings, 256 healthy",
        "longest bypass 2",
        "settled yes",
        "epoch 3",
        "generation 41",
        "last event 977",
        "store ok",
        "invariant violations 0",
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("distances", "shown"),
    [([], "K=2, open order"), ([1, 2], "K=2, open order"), ([1, 3], "hop distances 1, 3, open order")],
)
def test_status_tells_distances_that_are_not_one_to_k(
    ringlight: Run, controller: Any, distances: list[int], shown: str
) -> None:
    controller.fabric = a_fabric()
    controller.fabric.distances.extend(distances)
    outcome = ringlight("status", asks=controller)
    assert f"fabric lab: 64 nodes x 4 GPUs, {shown}" in words(outcome.out)


@pytest.mark.parametrize(
    "trouble",
    [
        pb.Fabric(ring_states={"BROKEN": 1}),
        pb.Fabric(ring_states={"SWITCHING": 1}),
        pb.Fabric(verdicts={"FAILED": 1}),
        pb.Fabric(verdicts={"UNREACHABLE": 1}),
        pb.Fabric(verdicts={"UNKNOWN": 1}),
        pb.Fabric(verdicts={"DEGRADED": 1}),
        pb.Fabric(dead_hops=["n3+2"]),
        pb.Fabric(invariant_violations=1),
        pb.Fabric(store="disk full"),
    ],
    ids=lambda trouble: str(trouble).replace("\n", " "),
)
def test_status_exits_with_2_when_degraded(ringlight: Run, controller: Any, trouble: pb.Fabric) -> None:
    controller.fabric = a_fabric()
    controller.fabric.MergeFrom(trouble)
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.DEGRADED
    assert "state degraded" in words(outcome.out)
    assert ringlight("status", "-o", "json", asks=controller).code == ExitCode.DEGRADED


def test_status_with_counts_of_zero_is_fine(ringlight: Run, controller: Any) -> None:
    controller.fabric = a_fabric()
    controller.fabric.MergeFrom(pb.Fabric(ring_states={"BROKEN": 0}, verdicts={"FAILED": 0}))
    outcome = ringlight("status", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert "BROKEN" not in outcome.out


def test_json_and_yaml_hold_every_field_and_numbers_are_numbers(ringlight: Run, controller: Any) -> None:
    controller.fabric = pb.Fabric(name="lab", generation=2**40, verdicts={"HEALTHY": 2}, store="ok")
    as_json = json.loads(ringlight("status", "-o", "json", asks=controller).out)
    assert set(as_json) == {field.name for field in pb.Fabric.DESCRIPTOR.fields}
    assert as_json["generation"] == 2**40
    assert as_json["verdicts"] == {"HEALTHY": 2}
    assert as_json["dead_hops"] == []
    assert as_json["settled"] is False
    assert yaml.safe_load(ringlight("status", "--output", "yaml", asks=controller).out) == as_json


def test_nodes_shows_paths_and_what_is_wanted_instead(ringlight: Run, controller: Any) -> None:
    controller.nodes = [
        a_node(0, ring="train/0", paths=["PATH_1", "LOOPBACK"], desired=["PATH_1", "LOOPBACK"], rack="r1"),
        a_node(1, verdict="FAILED", reason="gpu2: xid:79 [fallen off the bus]", paths=["PATH_2"], agent=""),
        a_node(2, spare=True, paths=["DARK", "UNKNOWN"]),
        a_node(3, paths=["LOOPBACK", "PATH_2"], desired=[]),
    ]
    outcome = ringlight("nodes", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    header, *rows = [words(line).strip() for line in outcome.out.splitlines()]
    assert header == "NODE RACK VERDICT RING AGENT PATHS REASON"
    assert rows == [
        "n0 r1 HEALTHY train/0 agent-0 p1 loop",
        "n1 - FAILED - - p2>loop ?>loop gpu2: xid:79 [fallen off the bus]",
        "n2 - HEALTHY spare agent-2 dark>loop ?>loop",
        "n3 - HEALTHY - agent-3 loop p2",
    ]
    assert controller.requests == [pb.ListNodesRequest()]


def test_nodes_abnormal_is_the_controllers_choice(ringlight: Run, controller: Any) -> None:
    ringlight("nodes", "--abnormal", asks=controller)
    assert controller.requests == [pb.ListNodesRequest(abnormal_only=True)]


def test_wide_nodes_stay_in_100_columns_and_lose_nothing(ringlight: Run, controller: Any) -> None:
    reason = "silent since 12 s, and light is present at both of its neighbours: unreachable, no ring action " * 2
    name = "rack07-node001.example.org"
    controller.nodes = [
        a_node(1, name=name, rack="row-3/rack-07", verdict="UNREACHABLE", reason=reason, ring="training/17")
    ]
    outcome = ringlight("nodes", asks=controller)
    assert_plain(outcome.out)
    assert name in outcome.out
    assert "UNREACHABLE" in outcome.out
    for fragment in ("silent", "neighbours", "unreachable"):
        assert fragment in outcome.out


def test_rings_show_the_chain_in_order(ringlight: Run, controller: Any) -> None:
    controller.rings = [
        pb.Ring(name="a/0", job="a", state="ACTIVE", nodes=["n3", "n1", "n2"], gpus=["n3/g0"] * 12, generation=7),
        pb.Ring(name="b/0", job="b", state="BROKEN", cause="n9 FAILED and no spare within reach"),
    ]
    outcome = ringlight("rings", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    assert [words(line).strip() for line in outcome.out.splitlines()] == [
        "RING STATE GPUS GEN NODES CAUSE",
        "a/0 ACTIVE 12 7 n3 n1 n2",
        "b/0 BROKEN 0 0 n9 FAILED and no spare within reach",
    ]


def test_a_long_ring_stays_in_100_columns_and_loses_nothing(ringlight: Run, controller: Any) -> None:
    controller.rings = [a_long_ring()]
    outcome = ringlight("rings", asks=controller)
    assert_plain(outcome.out)
    for node in a_long_ring().nodes:
        assert node in outcome.out


def test_rings_of_one_job_as_json(ringlight: Run, controller: Any) -> None:
    controller.rings = [a_long_ring(), pb.Ring(name="b/0", job="b")]
    outcome = ringlight("rings", "--job", "training", "-o", "json", asks=controller)
    (ring,) = json.loads(outcome.out)["rings"]
    assert ring["gpus"] == list(a_long_ring().gpus)
    assert ring["generation"] == 2**40


def test_explain_numbers_the_reasons(ringlight: Run, controller: Any) -> None:
    reason = "agent agent-3 is silent since 5.0 s while n2 and n4 see no light on any of their hops to it, so the node"
    controller.explanation = pb.ExplainReply(
        subject="n3", kind="node", summary="FAILED", reasons=["heartbeats stopped", f"{reason} is FAILED"]
    )
    outcome = ringlight("explain", "n3", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert_plain(outcome.out)
    assert words(outcome.out).startswith("node n3: FAILED 1 heartbeats stopped 2 agent agent-3 is silent")
    assert json.loads(ringlight("explain", "n3", "-o", "json", asks=controller).out)["reasons"][1].startswith(reason)
    assert controller.requests[0] == pb.ExplainRequest(subject="n3")


@pytest.mark.parametrize("command", [("status",), ("nodes",), ("rings",), ("jobs", "list")], ids=" ".join)
def test_watch_shows_a_state_for_each_change_until_the_stream_ends(
    ringlight: Run, controller: Any, command: tuple[str, ...]
) -> None:
    controller.fabric = a_fabric()

    def change() -> None:
        controller.fabric.verdicts["FAILED"] = 1
        controller.nodes = [a_node(1, verdict="FAILED")]
        controller.rings = [pb.Ring(name="a/0", state="BROKEN")]
        controller.jobs = [pb.Job(name="a", state="DEGRADED")]
        controller.publish(pb.Event(sequence=978, kind="fault-opened"))

    controller.on_watch = change
    controller.ends_watch_after = 1
    outcome = ringlight(*command, "--watch", "-o", "json", asks=controller)
    assert outcome.code == ExitCode.ERROR
    assert "ended the stream" in outcome.err
    before, after = [json.loads(line) for line in outcome.out.splitlines()]
    assert before != after
    assert pb.WatchRequest(after=977) in controller.requests


def test_watched_tables_follow_each_other_outside_a_terminal(ringlight: Run, controller: Any) -> None:
    controller.fabric = a_fabric()
    controller.on_watch = lambda: controller.publish(pb.Event(sequence=978))
    controller.ends_watch_after = 1
    outcome = ringlight("status", "--watch", asks=controller)
    assert_plain(outcome.out)
    assert re.findall(r"last event +(\d+)", outcome.out) == ["977", "978"]


def test_a_burst_that_one_look_has_seen_is_looked_at_once(ringlight: Run, controller: Any) -> None:
    controller.fabric = a_fabric()

    def burst() -> None:
        # All five are in the state before the first is delivered.
        controller.fabric.last_event = 982
        for sequence in range(978, 983):
            controller.publish(pb.Event(sequence=sequence))
            controller.fabric.last_event = 982

    controller.on_watch = burst
    controller.ends_watch_after = 5
    outcome = ringlight("nodes", "--watch", "-o", "json", asks=controller)
    assert len(outcome.out.splitlines()) == 2


def test_ctrl_c_ends_a_watch_without_a_traceback(start: Run, controller: Any) -> None:
    controller.fabric = a_fabric()
    child = start("status", "--watch", "-o", "json", asks=controller, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(child.stdout.readline())["name"] == "lab"
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == ExitCode.INTERRUPTED
    assert err.strip() == b""


def test_a_terminal_gets_colours_and_a_table_redrawn_in_place(start: Run, controller: Any) -> None:
    controller.fabric = a_fabric()
    controller.on_watch = lambda: controller.publish(pb.Event(sequence=978))
    ours, theirs = pty.openpty()
    child = start(
        "status", "--watch", asks=controller, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, close_fds=True
    )
    os.close(theirs)
    seen = b""
    while b"978" not in seen:
        seen += os.read(ours, 4096)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    os.close(ours)
    assert child.returncode == ExitCode.INTERRUPTED
    assert err.strip() == b""
    assert b"\x1b[32mfine" in seen
    assert b"\x1b[1A" in seen  # cursor up: drawn over the first
