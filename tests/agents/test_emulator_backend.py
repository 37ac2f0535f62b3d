"""Driver and GPU health over the real socket, against the real emulated hardware."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path as FilePath
from random import Random

import pytest

from ringlight.agents.drivers import emulator_link
from ringlight.agents.drivers.emulator import emulator_hardware
from ringlight.agents.drivers.emulator_link import HardwareLink, Topic
from ringlight.agents.ports import CircuitDriver, FaultClosed, FaultOpened, GpuHealth, LightChanged, SwitchOutcome
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.hardware import HardwareServer
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import Fault, FaultClass, OpticalPower, Path
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.rings import chain_hops, gpu_order
from ringlight.fabric.trace import canonical_cycle
from ringlight.fabric.wiring import Wiring
from ringlight.protos.framing import encode_frame
from ringlight.protos.v1 import hardware_pb2 as pb

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2
PATIENCE = 10.0  # seconds; reached only when something is broken


class Lab:
    """A served plant, and backends on it."""

    def __init__(self, plant: Plant, server: HardwareServer, socket: FilePath) -> None:
        self.plant = plant
        self.server = server
        self.socket = socket
        self.hardware = emulator_hardware(socket)
        self.opened: list[CircuitDriver | GpuHealth] = []

    def inject(self, kind: FaultKind, node: str, **details: float) -> str:
        fault, events = self.plant.inject(FaultRequest(kind, node, **details))
        self.server.publish(events)
        return fault.id

    def repair(self, fault_id: str) -> None:
        self.server.publish(self.plant.repair(fault_id)[1])

    async def open(self, node: str) -> tuple[CircuitDriver, GpuHealth]:
        driver, gpus = self.hardware(node)
        for backend in (driver, gpus):
            await backend.open()
            self.opened.append(backend)
        return driver, gpus


@pytest.fixture
async def lab(make_wiring: Callable[..., Wiring], tmp_path: FilePath) -> AsyncIterator[Lab]:
    plant = Plant(make_wiring(8, k=2, gpus=4), boot="boot")
    server = HardwareServer(plant, Random(7))
    await server.start(tmp_path / "hardware.sock")
    lab = Lab(plant, server, tmp_path / "hardware.sock")
    yield lab
    for backend in lab.opened:
        await backend.close()
    await server.stop()


async def _next(events: AsyncIterator[object]) -> object:
    async with asyncio.timeout(PATIENCE):
        return await anext(events)


async def test_opening_identifies_and_reading_shows_what_is_there(lab: Lab) -> None:
    driver, gpus = lab.hardware("n3")
    identity = await driver.open()
    await gpus.open()
    lab.opened += [driver, gpus]
    assert (identity.fabric, identity.boot) == ("test", lab.plant.boot_id(3))
    assert identity.inventory == inventory_of(lab.plant.wiring, 3)
    readout = await driver.read()
    assert readout.circuits == (L, L)
    assert set(readout.light.values()) == {False}
    assert readout.faults == ()
    assert await gpus.read() == ()


async def test_opening_reading_and_closing_write_nothing(lab: Lab) -> None:
    first, _ = await lab.open("n0")
    await first.switch(0, P1)
    before = [lab.plant.table(position) for position in range(8)]
    driver, gpus = await lab.open("n0")
    await driver.read()
    await gpus.read()
    await driver.close()
    await gpus.close()
    assert [lab.plant.table(position) for position in range(8)] == before


async def test_bundles_of_a_whole_chain_switch_at_once_and_light_closes_the_ring(lab: Lab) -> None:
    chain = [0, 1, 3, 4]
    drivers = {position: (await lab.open(f"n{position}"))[0] for position in chain}
    ends = [end for hop in chain_hops(lab.plant.wiring, chain) for end in (hop.low, hop.high)]
    async with asyncio.TaskGroup() as group:
        switching = [group.create_task(drivers[end.position].switch(end.bundle, end.path)) for end in ends]
    for end, task in zip(ends, switching, strict=True):
        outcome = task.result()
        assert outcome.path is end.path
        assert 60e-6 <= outcome.seconds <= 80e-6
    for end in ends:
        assert (await drivers[end.position].read()).light[end.bundle, end.path]
    cycles = {canonical_cycle(cycle) for cycle in lab.plant.trace().cycles}
    assert canonical_cycle(gpu_order(lab.plant.wiring, chain)) in cycles


async def test_a_stuck_bundle_is_found_out_by_its_read_back(lab: Lab) -> None:
    driver, _ = await lab.open("n0")
    lab.inject(FaultKind.BUNDLE_STUCK, "n0", bundle=0)
    assert (await driver.switch(0, P1)).path is L
    assert (await driver.read()).faults == ()


async def test_a_slow_bundle_reports_its_delay(lab: Lab) -> None:
    driver, _ = await lab.open("n0")
    lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=0.03)
    outcome = await driver.switch(0, P2)
    assert outcome.path is P2
    assert outcome.seconds >= 0.03


async def test_a_switch_that_was_given_up_leaves_the_connection_usable(lab: Lab) -> None:
    driver, _ = await lab.open("n0")
    slow = lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=0.05)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.005):
            await driver.switch(0, P1)
    lab.repair(slow)
    assert isinstance(await driver.switch(0, P2), SwitchOutcome)
    assert lab.plant.table(0) == (P2, L)


async def test_what_the_hardware_refuses_is_unavailable_and_says_why(lab: Lab) -> None:
    driver, _ = await lab.open("n0")
    with pytest.raises(UnavailableError, match="the hardware of n0 refuses: node n0 has no bundle 7"):
        await driver.switch(7, P1)
    assert (await driver.read()).circuits == (L, L)


async def test_light_and_module_faults_are_the_drivers_gpu_faults_are_the_gpus(lab: Lab) -> None:
    driver, gpus = await lab.open("n0")
    neighbour, _ = await lab.open("n1")
    await neighbour.switch(1, P1)
    await driver.switch(0, P1)
    xid = lab.inject(FaultKind.GPU_XID, "n0", gpu=2, xid=79, recovery="node-reboot")
    module = lab.inject(FaultKind.MODULE_DEAD, "n0", bundle=0, module=2)
    lab.repair(xid)
    lab.repair(module)
    module_fault = Fault(
        module, "b0.m2", FaultClass.FATAL, "module-dead", "module b0.m2 is dead: its bundle carries nothing"
    )
    events = driver.events()
    assert [await _next(events) for _ in range(5)] == [
        LightChanged((0, P1), True),
        FaultOpened(module_fault),
        LightChanged((0, P1), False),
        FaultClosed(module),
        LightChanged((0, P1), True),
    ]
    health = gpus.events()
    xid_fault = Fault(xid, "gpu2", FaultClass.DEGRADED, "xid:79", recovery="node-reboot")
    assert [await _next(health) for _ in range(2)] == [FaultOpened(xid_fault), FaultClosed(xid)]


@pytest.mark.parametrize(
    ("kind", "xid", "fault_class"),
    [
        (FaultKind.GPU_LOST, 0, FaultClass.FATAL),
        (FaultKind.GPU_XID, 79, FaultClass.DEGRADED),
    ],
)
async def test_the_agent_is_sure_only_of_a_gpu_that_is_gone_and_leaves_xids_to_the_controller(
    lab: Lab, kind: FaultKind, xid: int, fault_class: FaultClass
) -> None:
    before = lab.inject(kind, "n0", gpu=1, xid=xid)
    driver, gpus = await lab.open("n0")
    (fault,) = await gpus.read()
    assert (fault.id, fault.component, fault.fault_class) == (before, "gpu1", fault_class)
    assert (await driver.read()).faults == ()
    after = lab.inject(kind, "n0", gpu=1, xid=xid)
    event = await _next(gpus.events())
    assert isinstance(event, FaultOpened)
    assert (event.fault.id, event.fault.fault_class) == (after, fault_class)


async def test_the_light_at_selected_ports_is_measured(lab: Lab) -> None:
    driver, _ = await lab.open("n0")
    neighbour, _ = await lab.open("n1")
    assert await driver.powers() == {}
    await driver.switch(0, P1)
    assert await driver.powers() == {(0, P1): OpticalPower(1.0, -math.inf)}
    await neighbour.switch(1, P1)
    lab.inject(FaultKind.FIBRE_DIRTY, "n0", distance=1, loss=3.0)
    assert await driver.powers() == {(0, P1): OpticalPower(1.0, -2.5)}
    assert await neighbour.powers() == {(1, P1): OpticalPower(1.0, -2.5)}


async def test_a_fault_known_from_reading_is_told_when_it_closes(lab: Lab) -> None:
    fault = lab.inject(FaultKind.GPU_LOST, "n0")
    driver, gpus = await lab.open("n0")
    await driver.read()
    lab.repair(fault)
    assert await _next(gpus.events()) == FaultClosed(fault)


async def test_power_loss_ends_requests_and_events_and_opening_again_shows_another_boot(lab: Lab) -> None:
    driver, gpus = await lab.open("n0")
    boot = lab.plant.boot_id(0)
    lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=3000)
    waiting = asyncio.create_task(driver.switch(0, P1))
    await driver.read()  # the command before it has been received
    power = lab.inject(FaultKind.POWER_OFF, "n0")
    for ending in (waiting, _next(driver.events()), _next(gpus.events()), driver.read(), gpus.read()):
        with pytest.raises(UnavailableError, match="the hardware of n0 is gone"):
            await ending
    with pytest.raises(UnavailableError, match="n0 has no power"):
        await driver.open()
    lab.repair(power)
    assert (await driver.open()).boot != boot
    await gpus.open()
    assert (await driver.read()).circuits == (L, L)


async def test_both_halves_of_a_node_share_one_connection_until_the_last_lets_go(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = []
    connect = HardwareLink.connect.__func__  # type: ignore[attr-defined]  # what a classmethod wraps

    async def counted(cls: type[HardwareLink], socket: FilePath, node: str) -> HardwareLink:
        connected.append(node)
        return await connect(cls, socket, node)

    monkeypatch.setattr(HardwareLink, "connect", classmethod(counted))
    driver, gpus = await lab.open("n0")
    assert connected == ["n0"]
    waiting = asyncio.create_task(_next(driver.events()))
    await asyncio.sleep(0)  # it waits now
    await driver.close()
    with pytest.raises(UnavailableError, match="was closed"):
        await waiting
    assert await gpus.read() == ()
    await gpus.close()
    await gpus.close()
    with pytest.raises(UnavailableError, match="not open"):
        await gpus.read()
    await driver.open()
    assert connected == ["n0", "n0"]


async def test_an_unknown_node_is_refused_with_the_nodes_there_are(lab: Lab) -> None:
    driver, _ = lab.hardware("n99")
    with pytest.raises(UnavailableError, match=r"has no node 'n99'.*n0 \.\. n7"):
        await driver.open()


async def test_without_an_emulator_opening_fails_clearly(tmp_path: FilePath) -> None:
    driver, gpus = emulator_hardware(tmp_path / "nothing.sock")("n0")
    for backend in (driver, gpus):
        with pytest.raises(UnavailableError, match=r"does not answer at .*nothing\.sock") as caught:
            await backend.open()
        assert "is the emulator running" in caught.value.hint
        await backend.close()


async def test_an_emulator_that_stops_ends_everything(lab: Lab) -> None:
    driver, gpus = await lab.open("n0")
    await lab.server.stop()
    for ending in (_next(driver.events()), _next(gpus.events()), driver.read()):
        with pytest.raises(UnavailableError, match="is gone"):
            await ending


async def test_events_nobody_reads_end_the_stream_rather_than_go_missing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator_link, "EVENTS_KEPT", 10)
    driver, gpus = await lab.open("n0")
    for _ in range(20):
        lab.inject(FaultKind.GPU_LOST, "n0")
    await driver.read()  # all events have arrived
    events = gpus.events()
    for _ in range(10):
        assert isinstance(await _next(events), FaultOpened)
    with pytest.raises(UnavailableError, match="10 events of the hardware were not read"):
        await _next(events)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([], "did not answer within"),
        ([b"\xff" * 40], "cannot be understood"),
        (
            [encode_frame(pb.HardwareMessage()), encode_frame(pb.HardwareMessage(reply=pb.HardwareReply(id=77)))],
            "within",
        ),
        (None, "is gone"),
    ],
)
async def test_hardware_that_answers_nothing_sensible_is_unavailable(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, answers: list[bytes] | None, says: str
) -> None:
    monkeypatch.setattr(emulator_link, "REQUEST_TIMEOUT", 0.05)
    writers = []

    def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        for answer in answers or []:
            writer.write(answer)
        if answers is None:
            writer.close()

    server = await asyncio.start_unix_server(accept, tmp_path / "odd.sock")
    driver, _ = emulator_hardware(tmp_path / "odd.sock")("n0")
    with pytest.raises(UnavailableError, match=says):
        await driver.open()
    server.close()
    for writer in writers:
        writer.close()
    await server.wait_closed()


async def test_hundreds_of_nodes_open_at_once(make_wiring: Callable[..., Wiring], tmp_path: FilePath) -> None:
    size = 400
    plant = Plant(make_wiring(size), boot="boot")
    server = HardwareServer(plant, Random(1))
    await server.start(tmp_path / "many.sock")
    hardware = emulator_hardware(tmp_path / "many.sock")
    drivers = [hardware(f"n{position}")[0] for position in range(size)]
    identities = await asyncio.gather(*(driver.open() for driver in drivers))
    assert [identity.boot for identity in identities] == [plant.boot_id(position) for position in range(size)]
    async with asyncio.TaskGroup() as group:
        for low, high in pairwise(drivers):
            group.create_task(low.switch(0, P1))
            group.create_task(high.switch(1, P1))
    light = [await driver.read() for driver in drivers]
    assert all(readout.light[0, P1] for readout in light[:-1])
    await asyncio.gather(*(driver.close() for driver in drivers))
    await server.stop()


def test_topics_know_gpus_from_modules() -> None:
    from_component = {
        component: emulator_link.topic_of(pb.HardwareEvent(opened={"component": component}).opened)
        for component in ("gpu0", "gpu12", "b0.m2", "node")
    }
    assert from_component == {"gpu0": Topic.GPUS, "gpu12": Topic.GPUS, "b0.m2": Topic.MODULES, "node": Topic.MODULES}
