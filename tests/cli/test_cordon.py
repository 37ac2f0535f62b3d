"""cordon and uncordon, and how nodes show it."""

import json
import re
from collections.abc import Callable
from typing import Any

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_cordon_names_nodes_and_a_reason(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("cordon", "n1", "n2", "--reason", "fan", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.CordonRequest(nodes=["n1", "n2"], reason="fan")]
    assert "n1 - HEALTHY cordoned" in words(outcome.out)
    assert "fan" in outcome.out


def test_uncordon(ringlight: Run, controller: Any) -> None:
    outcome = ringlight("uncordon", "n1", "-o", "json", asks=controller)
    assert outcome.code == ExitCode.FINE
    assert controller.requests == [pb.UncordonRequest(nodes=["n1"])]
    assert json.loads(outcome.out)["nodes"][0]["overlay"] == ""


def test_a_node_must_be_named(ringlight: Run, controller: Any) -> None:
    for command in ("cordon", "uncordon", "drain"):
        outcome = ringlight(command, asks=controller)
        assert outcome.code == ExitCode.ERROR
        assert "Missing argument" in outcome.err
    assert not controller.requests


def test_nodes_and_status_show_overlays(ringlight: Run, controller: Any) -> None:
    controller.nodes = [
        pb.Node(name="n1", verdict="HEALTHY", reason="speaks", overlay="draining", overlay_reason="fan", ring="a/0"),
        pb.Node(name="n2", verdict="HEALTHY", reason="speaks"),
    ]
    table = words(ringlight("nodes", asks=controller).out)
    assert "n1 - HEALTHY draining a/0 - speaks; fan" in table
    assert "n2 - HEALTHY - - speaks" in table
    controller.fabric = pb.Fabric(overlays={"cordoned": 2, "draining": 0}, store="ok")
    assert "laid over 2 cordoned" in words(ringlight("status", asks=controller).out)
