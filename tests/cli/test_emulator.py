"""emulator fail, repair, faults and trace."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.faults import KINDS, kind_name
from ringlight.cli.light import chain_of
from ringlight.protos.v1 import emulator_pb2 as pb

Run = Callable[..., Any]


def rows(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def test_every_kind_of_the_protocol_has_a_word() -> None:
    assert [kind_name(number) for number in pb.FaultKind.values() if number] == list(KINDS)
    assert kind_name(99) == "kind 99"


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ("gpu-xid n3 --gpu 2 --xid 74", pb.InjectRequest(kind=pb.FAULT_KIND_GPU_XID, node="n3", gpu=2, xid=74)),
        ("gpu-lost n3", pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node="n3")),
        ("power-off n3 --id p", pb.InjectRequest(kind=pb.FAULT_KIND_POWER_OFF, node="n3", id="p")),
        ("agent-crash n3", pb.InjectRequest(kind=pb.FAULT_KIND_AGENT_CRASH, node="n3")),
        ("agent-hang n3", pb.InjectRequest(kind=pb.FAULT_KIND_AGENT_HANG, node="n3")),
        ("fibre-cut a+b+2", pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_CUT, node="a+b", distance=2)),
        (
            "module-dead n3 --bundle 1 --module 7",
            pb.InjectRequest(kind=pb.FAULT_KIND_MODULE_DEAD, node="n3", bundle=1, module=7),
        ),
        ("bundle-stuck n3 --bundle 1", pb.InjectRequest(kind=pb.FAULT_KIND_BUNDLE_STUCK, node="n3", bundle=1)),
        (
            "module-fault n3 --module 1 --how laser-weak --amount 6 --lanes 1,3",
            pb.InjectRequest(
                kind=pb.FAULT_KIND_MODULE_FAULT, node="n3", module=1, how="laser-weak", amount=6, lanes=0b101
            ),
        ),
        ("bundle-slow n3 --delay 0.5", pb.InjectRequest(kind=pb.FAULT_KIND_BUNDLE_SLOW, node="n3", delay=0.5)),
        (
            "fibre-swapped n3+1 --with n5+1",
            pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_SWAPPED, node="n3", distance=1, partner="n5+1"),
        ),
        (
            "fibre-dirty n3+2 --loss 4.5",
            pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_DIRTY, node="n3", distance=2, loss=4.5),
        ),
    ],
)
def test_fail_asks_for_the_fault(ringlight: Run, emulator: Any, arguments: str, request_: pb.InjectRequest) -> None:
    outcome = ringlight("emulator", "fail", *arguments.split(), asks=emulator)
    assert outcome.code == ExitCode.FINE
    assert emulator.requests == [request_]
    assert rows(outcome.out) == [
        f"fault {request_.id or 'f1'}",
        f"kind {arguments.split(maxsplit=1)[0]}",
        f"node {request_.node}",
        "component gpu2",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("gpu-lost n3 --xid 79", "--xid means nothing for gpu-lost"),
        ("power-off n3 --gpu 0", "--gpu means nothing for power-off"),
        ("bundle-slow n3", "bundle-slow needs --delay"),
        ("module-fault n3", "module-fault needs --how"),
        ("module-fault n3 --how hot --lanes 9", "is no list of lanes such as 1,2,8"),
        ("fibre-cut n3", "fibre-cut needs a hop such as n3+2"),
        ("fibre-cut n3+x", "fibre-cut needs a hop such as n3+2"),
        ("fibre-cut +2", "fibre-cut needs a hop such as n3+2"),
        ("fibre-swapped n3 --with n5+1", "fibre-swapped needs a hop such as n3+2"),
        ("fibre-swapped n3+1", "fibre-swapped needs --with HOP"),
        ("fibre-dirty n3+1", "fibre-dirty needs --loss DB"),
        ("fibre-cut n3+1 --loss 3", "--loss means nothing for fibre-cut"),
        ("meltdown n3", "'meltdown' is not one of"),
    ],
)
def test_fail_refuses_what_it_would_have_to_ignore(ringlight: Run, emulator: Any, arguments: str, message: str) -> None:
    outcome = ringlight("emulator", "fail", *arguments.split(), asks=emulator)
    assert (outcome.code, emulator.requests) == (ExitCode.ERROR, [])
    assert message in outcome.err


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        (("f1",), pb.RepairRequest(id="f1")),
        (("--node", "n3"), pb.RepairRequest(node="n3")),
        (("--all",), pb.RepairRequest(all=True)),
    ],
)
def test_repair(ringlight: Run, emulator: Any, arguments: tuple[str, ...], request_: pb.RepairRequest) -> None:
    emulator.faults = [pb.EmulatedFault(id="f1", kind=pb.FAULT_KIND_FIBRE_CUT, node="n3", component="n3+2")]
    outcome = ringlight("emulator", "repair", *arguments, asks=emulator)
    assert (outcome.code, emulator.requests) == (ExitCode.FINE, [request_])
    assert rows(outcome.out) == ["FAULT KIND NODE COMPONENT", "f1 fibre-cut n3 n3+2"]


def test_repair_takes_one_thing_only(ringlight: Run, emulator: Any) -> None:
    outcome = ringlight("emulator", "repair", "f1", "--all", asks=emulator)
    assert (outcome.code, emulator.requests) == (ExitCode.ERROR, [])


def test_faults_as_table_and_json(ringlight: Run, emulator: Any) -> None:
    emulator.faults = [pb.EmulatedFault(id="f1", kind=pb.FAULT_KIND_GPU_XID, node="n3", component="gpu3")]
    assert rows(ringlight("emulator", "faults", asks=emulator).out)[1] == "f1 gpu-xid n3 gpu3"
    assert json.loads(ringlight("emulator", "faults", "-o", "json", asks=emulator).out) == {
        "faults": [{"id": "f1", "kind": "FAULT_KIND_GPU_XID", "node": "n3", "component": "gpu3"}]
    }


def cycle_of(chain: list[str]) -> list[str]:
    """Four GPUs a node, bundles on edges 0 and 2: light runs up the chain over g0, g3 and back over g1, g2."""
    first, *inner, last = chain
    there = [f"{node}/g{gpu}" for node in inner for gpu in (3, 0)]
    back = [f"{node}/g{gpu}" for node in reversed(inner) for gpu in (1, 2)]
    ends = [[f"{node}/g{gpu}" for gpu in (0, 1, 2, 3)] for node in (first, last)]
    return [*ends[0], *there, *ends[1], *back]


@pytest.mark.parametrize("chain", [["n1", "n2"], ["n1", "n2", "n4"], ["n9", "n8", "n6", "n5", "n3"]])
def test_a_chain_is_read_off_a_cycle_wherever_the_cycle_begins(chain: list[str]) -> None:
    cycle = cycle_of(chain)
    for start in range(len(cycle)):
        assert chain_of(cycle[start:] + cycle[:start]) in (chain, chain[::-1])


def test_trace_shows_rings_idle_nodes_and_what_dangles(ringlight: Run, emulator: Any) -> None:
    idle = [[f"{node}/g{gpu}" for gpu in range(4)] for node in ("n3", "n7")]
    emulator.cycles = [cycle_of(["n1", "n2", "n4"]), *idle]
    emulator.dangling = [["n5/g0", "n5/g1", "n6/g2"]]
    outcome = ringlight("emulator", "trace", asks=emulator)
    assert outcome.code == ExitCode.FINE
    assert rows(outcome.out) == [
        "GPUS CYCLE",
        "12 n1 n2 n4",
        "",
        "cycles of one node (2): n3 n7",
        "",
        "GPUS DANGLING",
        "3 n5 n6",
    ]


def test_trace_of_whole_light_says_that_nothing_dangles(ringlight: Run, emulator: Any) -> None:
    emulator.cycles = [cycle_of(["n1", "n2"])]
    assert rows(ringlight("emulator", "trace", asks=emulator).out)[-1] == "nothing dangles"


def test_trace_gpu_by_gpu(ringlight: Run, emulator: Any) -> None:
    emulator.cycles = [cycle_of([f"node{number:04d}" for number in range(30)])]
    shown = ringlight("emulator", "trace", "--gpus", asks=emulator).out
    assert max(map(len, shown.splitlines())) <= 100
    assert re.findall(r"node\d+/g\d", shown) == emulator.cycles[0]
    as_json = json.loads(ringlight("emulator", "trace", "-o", "json", asks=emulator).out)
    assert as_json == {"cycles": [{"gpus": emulator.cycles[0]}], "dangling": []}
