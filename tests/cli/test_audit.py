"""fabric audit: what is told while it goes on, what is printed and written, and how it exits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from ringlight.cli.exit_codes import ExitCode
from ringlight.protos.v1 import fabric_pb2 as pb

Run = Callable[..., Any]

SWAPPED = "a fibre joins n1/b0.p1 with n5/b1.p1; the file has n1/b0.p1 with n2/b1.p1, n5/b1.p1 with n4/b0.p1"


def an_audit(*findings: pb.CablingFinding, loss: float | None = 0.5) -> list[pb.AuditFabricReply]:
    """Two nodes were audited, one was left out, one left; one fibre was seen and one was not."""
    seen = pb.FoundFibre(a="n1/b0.p1", b="n5/b1.p1", audited=True)
    if loss is not None:
        seen.loss = loss
    result = pb.AuditResult(
        findings=findings,
        fibres=[seen, pb.FoundFibre(a="n2/b0.p1", b="n3/b1.p1")],
        left={"n4": "was needed by train/0"},
    )
    began = pb.AuditBegan(nodes=["n1", "n5"], left_out={"n0": "carries train/0"}, rounds=4)
    return [
        pb.AuditFabricReply(began=began),
        pb.AuditFabricReply(progress=pb.AuditProgress(done=1, rounds=4)),
        pb.AuditFabricReply(result=result),
    ]


def a_swap() -> pb.CablingFinding:
    return pb.CablingFinding(kind="swapped", ports=["n1/b0.p1", "n5/b1.p1"], text=SWAPPED)


def test_nothing_is_wrong(process: Run, controller: Any) -> None:
    controller.audit = an_audit()
    outcome = process("fabric", "audit", asks=controller)
    assert outcome.code == ExitCode.FINE, outcome.err
    assert "1 of 2" in outcome.out
    assert "0.5 to 0.5 dB" in outcome.out
    assert "FINDING" not in outcome.out
    assert outcome.err.splitlines() == [
        "auditing 2 nodes in 4 rounds",
        "left out: n0 carries train/0",
        "round 1 of 4",
    ]


def test_findings_are_listed_and_make_it_exit_with_2(process: Run, controller: Any) -> None:
    controller.audit = an_audit(a_swap())
    outcome = process("fabric", "audit", asks=controller)
    assert outcome.code == ExitCode.DEGRADED == 2
    words = " ".join(outcome.out.split())
    assert "swapped n1/b0.p1 n5/b1.p1 a fibre joins" in words
    assert "left: n4 was needed by train/0" in words


def test_hardware_that_measures_nothing_is_said_so(process: Run, controller: Any) -> None:
    controller.audit = an_audit(loss=None)
    assert "not measured" in process("fabric", "audit", asks=controller).out


def test_nodes_and_the_highest_loss_are_asked_for(process: Run, controller: Any) -> None:
    controller.audit = an_audit()
    assert process("fabric", "audit", "n1", "n5", "--loss", "4.5", asks=controller).code == ExitCode.FINE
    assert process("fabric", "audit", asks=controller).code == ExitCode.FINE
    assert controller.requests == [
        pb.AuditFabricRequest(nodes=["n1", "n5"], highest_loss=4.5),
        pb.AuditFabricRequest(),
    ]


def test_json_holds_everything(process: Run, controller: Any) -> None:
    controller.audit = an_audit(a_swap())
    outcome = process("fabric", "audit", "-o", "json", asks=controller)
    told = json.loads(outcome.out)
    assert [finding["text"] for finding in told["findings"]] == [SWAPPED]
    assert told["left"] == {"n4": "was needed by train/0"}
    assert len(told["fibres"]) == 2


@pytest.mark.parametrize("to", ["file", "-"])
def test_the_fibres_are_written_in_the_form_of_a_fabric_file(
    process: Run, controller: Any, tmp_path: Path, to: str
) -> None:
    controller.audit = an_audit(a_swap())
    name = to if to == "-" else str(tmp_path / "found.yaml")
    outcome = process("fabric", "audit", "--write", name, asks=controller)
    assert outcome.code == ExitCode.DEGRADED, outcome.err
    text = outcome.out if to == "-" else Path(name).read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"fibres": [["n1/b0.p1", "n5/b1.p1"], ["n2/b0.p1", "n3/b1.p1"]]}
    assert text.startswith("# 1 of them could not be seen")


def test_a_file_that_cannot_be_written(process: Run, controller: Any, tmp_path: Path) -> None:
    controller.audit = an_audit()
    outcome = process("fabric", "audit", "--write", str(tmp_path / "no" / "found.yaml"), asks=controller)
    assert outcome.code not in {ExitCode.FINE, ExitCode.DEGRADED}
    assert "cannot write" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("loss", ["0", "-1", "61", "much"])
def test_a_loss_that_makes_no_sense_asks_nobody(ringlight: Run, controller: Any, loss: str) -> None:
    assert ringlight("fabric", "audit", "--loss", loss, asks=controller).code != ExitCode.FINE
    assert controller.requests == []


def test_a_refusal_exits_with_3(process: Run, controller: Any) -> None:
    controller.failure = (grpc.StatusCode.FAILED_PRECONDITION, "n0 carries train/0: a ring is not touched", "drain n0")
    outcome = process("fabric", "audit", "n0", asks=controller)
    assert outcome.code == 3
    assert "n0 carries train/0" in outcome.err
    assert "drain n0" in outcome.err
