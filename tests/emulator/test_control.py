"""The control service over real gRPC."""

from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

import grpc
import grpc.aio
import pytest

from ringlight.emulator.control import EmulatorService
from ringlight.emulator.emulation import Emulation
from ringlight.emulator.faults import FaultKind
from ringlight.emulator.hardware import HardwareServer
from ringlight.emulator.plant import Plant
from ringlight.fabric.rings import chain_tables, gpu_order
from ringlight.fabric.trace import canonical_cycle
from ringlight.fabric.wiring import HopKey
from ringlight.protos.status import HINT_KEY
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import emulator_pb2_grpc


class Followed:
    """Stands in for hosted agents: remembers which nodes it was told to look after."""

    def __init__(self) -> None:
        self.positions: list[int] = []

    async def follow(self, position: int) -> None:
        self.positions.append(position)


@pytest.fixture
def plant(make_wiring) -> Plant:
    return Plant(make_wiring(8), boot="boot")


@pytest.fixture
def agents() -> Followed:
    return Followed()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Plant, Followed | None], Awaitable[Any]]]:
    running: list[tuple[grpc.aio.Server, grpc.aio.Channel]] = []

    async def start(plant: Plant, agents: Followed | None) -> Any:
        server = grpc.aio.server()
        hardware = HardwareServer(plant, Random(1))
        service = EmulatorService(Emulation(plant, hardware.publish, agents))
        emulator_pb2_grpc.add_EmulatorServiceServicer_to_server(service, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        running.append((server, channel))
        return emulator_pb2_grpc.EmulatorServiceStub(channel)

    yield start
    for server, channel in running:
        await channel.close()
        await server.stop(None)


@pytest.fixture
async def emulator(plant: Plant, agents: Followed, serve) -> Any:
    return await serve(plant, agents)


async def test_a_fault_is_injected_listed_and_repaired(emulator, plant: Plant, agents: Followed) -> None:
    fault = await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_MODULE_DEAD, node="n3", bundle=1, module=2))
    assert (fault.kind, fault.node, fault.component) == (pb.FAULT_KIND_MODULE_DEAD, "n3", "b1.m2")
    assert list((await emulator.ListFaults(pb.ListFaultsRequest())).faults) == [fault]
    assert not plant.works(3, 1)
    assert list((await emulator.Repair(pb.RepairRequest(id=fault.id))).repaired) == [fault]
    assert plant.works(3, 1)
    assert agents.positions == [3, 3]


async def test_every_field_of_a_request_arrives(emulator, plant: Plant) -> None:
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_XID, node="n1", gpu=2, xid=48, id="x"))
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_CUT, node="n1", distance=2, id="c"))
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_BUNDLE_SLOW, node="n1", bundle=1, delay=0.5, id="s"))
    swap = pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_SWAPPED, node="n1", distance=1, partner="n4+2", id="w")
    await emulator.Inject(swap)
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_DIRTY, node="n1", distance=1, loss=2.5, id="d"))
    xid, cut, slow, swapped, dirty = plant.faults.of_node(1)
    assert (xid.id, xid.component, xid.xid) == ("x", "gpu2", 48)
    assert (cut.id, cut.component) == ("c", "n1+2")
    assert (slow.id, plant.delay(1, 1)) == ("s", 0.5)
    assert (swapped.id, swapped.partner, swapped.component) == ("w", HopKey(4, 2), "n1+1 n4+2")
    assert (dirty.id, dirty.loss, dirty.component) == ("d", 2.5, "n1+1")


@pytest.mark.parametrize("kind", list(FaultKind))
async def test_every_kind_has_the_number_of_the_protocol(emulator, kind: FaultKind) -> None:
    assert pb.FaultKind.Name(int(kind)) == f"FAULT_KIND_{kind.name}"
    request = pb.InjectRequest(kind=int(kind), node="n1", distance=1, delay=1, partner="n2+1", loss=1, how="hot")
    if kind is FaultKind.MODULE_FAULT:
        with pytest.raises(grpc.aio.AioRpcError, match="not made of modules"):
            await emulator.Inject(request)
        return
    assert (await emulator.Inject(request)).kind == int(kind)


async def test_repairing_a_node_or_everything(emulator) -> None:
    for node in ("n1", "n1", "n2", "n3"):
        await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=node))
    repaired = (await emulator.Repair(pb.RepairRequest(node="n1"))).repaired
    assert [fault.node for fault in repaired] == ["n1", "n1"]
    assert list((await emulator.Repair(pb.RepairRequest(node="n1"))).repaired) == []
    assert [fault.node for fault in (await emulator.Repair(pb.RepairRequest(all=True))).repaired] == ["n2", "n3"]
    assert list((await emulator.ListFaults(pb.ListFaultsRequest())).faults) == []


@pytest.mark.parametrize(
    ("method", "request_", "code", "told"),
    [
        ("Inject", pb.InjectRequest(node="n1"), "INVALID_ARGUMENT", ("names no kind", "gpu-xid, gpu-lost")),
        ("Inject", pb.InjectRequest(kind=99, node="n1"), "INVALID_ARGUMENT", ("names no kind", "bundle-slow")),
        ("Inject", pb.InjectRequest(kind=3, node="n99"), "NOT_FOUND", ("no node 'n99'", "n0 .. n7")),
        ("Inject", pb.InjectRequest(kind=2, node="n1", gpu=9), "INVALID_ARGUMENT", ("no GPU 9", "0 to 3")),
        ("Inject", pb.InjectRequest(kind=3, node="n1", id="open"), "ALREADY_EXISTS", ("'open' is open", "another id")),
        ("Repair", pb.RepairRequest(id="f99"), "NOT_FOUND", ("'f99'", "open are open")),
        ("Repair", pb.RepairRequest(node="n99"), "NOT_FOUND", ("no node 'n99'", "n0 .. n7")),
        ("Repair", pb.RepairRequest(), "INVALID_ARGUMENT", ("what to repair", "a node, or all")),
        ("Repair", pb.RepairRequest(all=False), "INVALID_ARGUMENT", ("what to repair", "a node, or all")),
    ],
)
async def test_a_mistake_is_answered_with_what_to_do_and_changes_nothing(
    emulator, method: str, request_: object, code: str, told: tuple[str, str]
) -> None:
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node="n5", id="open"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await getattr(emulator, method)(request_)
    assert caught.value.code().name == code
    says, hint = told
    assert says in caught.value.details()
    assert hint in dict(caught.value.trailing_metadata())[HINT_KEY]
    assert [fault.id for fault in (await emulator.ListFaults(pb.ListFaultsRequest())).faults] == ["open"]


async def test_agents_that_are_not_hosted_cannot_be_broken_but_hardware_can(make_wiring, serve) -> None:
    alone = await serve(Plant(make_wiring(8), boot="other"), None)
    for kind in (pb.FAULT_KIND_AGENT_CRASH, pb.FAULT_KIND_AGENT_HANG):
        with pytest.raises(grpc.aio.AioRpcError, match="hosts no agents"):
            await alone.Inject(pb.InjectRequest(kind=kind, node="n1"))
    assert list((await alone.ListFaults(pb.ListFaultsRequest())).faults) == []
    await alone.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_POWER_OFF, node="n1"))
    assert len((await alone.Repair(pb.RepairRequest(all=True))).repaired) == 1


async def test_trace_names_the_gpus_in_the_order_of_the_light(emulator, plant: Plant) -> None:
    chain = [2, 3, 5]
    for position, table in chain_tables(plant.wiring, chain).items():
        for bundle, path in enumerate(table):
            plant.select(position, bundle, path)
    reply = await emulator.Trace(pb.TraceRequest())
    cycles = {canonical_cycle(tuple(_gpu(name) for name in cycle.gpus)) for cycle in reply.cycles}
    assert canonical_cycle(gpu_order(plant.wiring, chain)) in cycles
    assert len(cycles) == 6
    assert list(reply.dangling) == []
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_FIBRE_CUT, node="n2", distance=1))
    await emulator.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_POWER_OFF, node="n0"))
    reply = await emulator.Trace(pb.TraceRequest())
    assert len(reply.cycles) == 4
    assert {_gpu(name)[0] for path in reply.dangling for name in path.gpus} == {2, 3, 5}


def _gpu(name: str) -> tuple[int, int]:
    node, gpu = name.split("/")
    return int(node.removeprefix("n")), int(gpu.removeprefix("g"))
