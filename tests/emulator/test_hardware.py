"""The socket, spoken to with bare frames: what an agent of any make would see."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path as FilePath
from random import Random

import pytest

from ringlight.emulator import hardware as hardware_module
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.hardware import HardwareServer
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import ConflictError, InvalidError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.wiring import Wiring
from ringlight.protos import codec
from ringlight.protos.framing import MAX_FRAME, encode_frame, read_frame
from ringlight.protos.v1 import hardware_pb2 as pb

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2
PATIENCE = 10.0  # seconds; reached only when something is broken


def _rng(seed: int) -> Random:
    return Random(seed)


class Lab:
    """A served plant."""

    def __init__(self, plant: Plant, server: HardwareServer, socket: FilePath) -> None:
        self.plant = plant
        self.server = server
        self.socket = socket

    def inject(self, kind: FaultKind, node: str, **details: float) -> str:
        fault, events = self.plant.inject(FaultRequest(kind, node, **details))
        self.server.publish(events)
        return fault.id

    def repair(self, fault_id: str) -> None:
        self.server.publish(self.plant.repair(fault_id)[1])


class Peer:
    """A connection that speaks frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, **body: object) -> None:
        self.writer.write(encode_frame(pb.HardwareRequest(**body)))

    async def next(self) -> pb.HardwareMessage | None:
        async with asyncio.timeout(PATIENCE):
            return await read_frame(self.reader, pb.HardwareMessage)

    async def reply(self) -> pb.HardwareReply:
        message = await self.next()
        assert message is not None
        assert message.WhichOneof("body") == "reply", message
        return message.reply

    async def event(self) -> pb.HardwareEvent:
        message = await self.next()
        assert message is not None
        assert message.WhichOneof("body") == "event", message
        return message.event

    async def ask(self, **body: object) -> pb.HardwareReply:
        self.send(**body)
        return await self.reply()

    async def switch(self, number: int, bundle: int, path: Path) -> None:
        self.send(id=number, switch=pb.Switch(bundle=bundle, path=codec.path_to(path)))


@pytest.fixture
async def lab(make_wiring: Callable[..., Wiring], tmp_path: FilePath) -> AsyncIterator[Lab]:
    plant = Plant(make_wiring(8, k=2, gpus=4), boot="boot")
    server = HardwareServer(plant, _rng(7))
    await server.start(tmp_path / "hardware.sock")
    yield Lab(plant, server, tmp_path / "hardware.sock")
    await server.stop()


@pytest.fixture
async def connect(lab: Lab) -> AsyncIterator[Callable[..., object]]:
    writers = []

    async def open_connection(node: str | None = None) -> Peer:
        peer = Peer(*await asyncio.open_unix_connection(lab.socket))
        writers.append(peer.writer)
        if node is not None:
            assert (await peer.ask(attach=pb.Attach(node=node))).error == ""
        return peer

    yield open_connection
    for writer in writers:
        writer.close()


async def test_attaching_tells_fabric_boot_and_inventory(lab: Lab, connect) -> None:
    peer = await connect()
    reply = await peer.ask(id=5, attach=pb.Attach(node="n3"))
    assert reply.id == 5
    assert reply.attached.fabric == "test"
    assert reply.attached.hardware_boot == lab.plant.boot_id(3)
    assert codec.inventory_from(reply.attached.inventory) == inventory_of(lab.plant.wiring, 3)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"attach": pb.Attach(node="n99")}, "no node 'n99'"),
        ({"read": pb.Read()}, "first request on a connection must be Attach"),
        ({}, "first request on a connection must be Attach"),
    ],
)
async def test_a_bad_first_request_is_answered_and_the_connection_ends(connect, body, says: str) -> None:
    peer = await connect()
    assert says in (await peer.ask(**body)).error
    assert await peer.next() is None


async def test_a_node_without_power_cannot_be_attached_to(lab: Lab, connect) -> None:
    fault = lab.inject(FaultKind.POWER_OFF, "n3")
    peer = await connect()
    assert "n3 has no power" in (await peer.ask(attach=pb.Attach(node="n3"))).error
    lab.repair(fault)
    await connect("n3")


async def test_switching_takes_the_optics_time_and_light_reaches_both_nodes_before_the_reply(connect) -> None:
    low, high = await connect("n0"), await connect("n1")
    await low.switch(1, 0, P1)
    first = await low.reply()
    await high.switch(1, 1, P1)
    event = await high.event()
    second = await high.reply()
    assert (event.light.bundle, codec.path_from(event.light.path), event.light.lit) == (1, P1, True)
    assert (await low.event()).light.lit
    for reply in (first, second):
        assert codec.path_from(reply.switched.path) is P1
        assert 60e-6 <= reply.switched.switch_seconds <= 80e-6
    readout = (await high.ask(read=pb.Read())).readout
    assert codec.table_from(readout.circuits) == (L, P1)
    assert codec.light_from(readout.light) == {(0, P1): False, (0, P2): False, (1, P1): True, (1, P2): False}


async def test_switching_times_follow_from_the_seed(make_wiring: Callable[..., Wiring], tmp_path: FilePath) -> None:
    async def times(name: str, seed: int) -> list[float]:
        server = HardwareServer(Plant(make_wiring(4, k=1), boot="boot"), _rng(seed))
        await server.start(tmp_path / name)
        peer = Peer(*await asyncio.open_unix_connection(tmp_path / name))
        await peer.ask(attach=pb.Attach(node="n0"))
        taken = []
        for number in range(5):
            await peer.switch(number, 0, P1)
            taken.append((await peer.reply()).switched.switch_seconds)
        peer.writer.close()
        await server.stop()
        return taken

    assert await times("a", 1) == await times("b", 1) != await times("c", 2)


async def test_commands_to_one_bundle_take_effect_in_their_order(lab: Lab, connect) -> None:
    peer = await connect("n0")
    slow = lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=0.05)
    await peer.switch(1, 0, P1)
    await peer.ask(id=2, read=pb.Read())  # answered at once: nothing waits for a slow bundle but itself
    lab.repair(slow)
    await peer.switch(3, 0, P2)
    await peer.switch(4, 1, P1)
    replies = [await peer.reply() for _ in range(3)]
    assert [reply.id for reply in replies] == [4, 1, 3]
    assert codec.path_from(replies[1].switched.path) is P1
    assert replies[1].switched.switch_seconds >= 0.05
    assert lab.plant.table(0) == (P2, P1)


async def test_a_stuck_bundle_answers_with_the_path_it_kept(lab: Lab, connect) -> None:
    peer = await connect("n0")
    lab.inject(FaultKind.BUNDLE_STUCK, "n0", bundle=0)
    await peer.switch(1, 0, P1)
    reply = await peer.reply()
    assert reply.error == ""
    assert codec.path_from(reply.switched.path) is L


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"switch": pb.Switch(bundle=2, path=2)}, "has no bundle 2"),
        ({"switch": pb.Switch(bundle=0, path=4)}, "no bundle can select DARK"),
        ({"switch": pb.Switch(bundle=0)}, "no bundle can select UNKNOWN"),
        ({"attach": pb.Attach(node="n1")}, "attached already"),
        ({}, "empty or unknown request"),
    ],
)
async def test_a_request_that_cannot_be_carried_out_says_why_and_the_connection_goes_on(
    connect, body, says: str
) -> None:
    peer = await connect("n0")
    reply = await peer.ask(id=9, **body)
    assert (reply.id, says in reply.error) == (9, True), reply
    assert (await peer.ask(read=pb.Read())).error == ""


async def test_too_many_switches_at_once_are_refused(lab: Lab, connect) -> None:
    peer = await connect("n0")
    lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=3000)
    for number in range(hardware_module.MAX_OPERATIONS):
        await peer.switch(number, 0, P1)
    await peer.switch(999, 0, P1)
    reply = await peer.reply()
    assert (reply.id, "in progress already" in reply.error) == (999, True)


async def test_faults_reach_every_connection_of_the_node_and_no_other(lab: Lab, connect) -> None:
    one, two, other = await connect("n2"), await connect("n2"), await connect("n3")
    fault = lab.inject(FaultKind.GPU_XID, "n2", gpu=1, xid=48)
    for peer in (one, two):
        opened = (await peer.event()).opened
        assert (opened.id, opened.component, opened.code, opened.fault_class) == (fault, "gpu1", "xid:48", 0)
        assert [f.id for f in (await peer.ask(read=pb.Read())).readout.faults] == [fault]
    lab.repair(fault)
    for peer in (one, two):
        assert (await peer.event()).closed == fault
    assert (await other.ask(id=7, read=pb.Read())).id == 7  # its first message: no event came before


async def test_power_off_drops_connections_and_stops_switches_in_progress(lab: Lab, connect) -> None:
    peer, neighbour = await connect("n0"), await connect("n1")
    lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=0.02)
    await peer.switch(1, 0, P1)
    await peer.ask(id=2, read=pb.Read())  # the command has been received when this is answered
    fault = lab.inject(FaultKind.POWER_OFF, "n0")
    assert await peer.next() is None
    lab.repair(fault)
    again = await connect("n0")
    # A later command to the same bundle is slower than the one that died, were that one alive.
    await again.switch(1, 0, L)
    await again.reply()
    assert lab.plant.table(0) == (L, L)
    assert (await neighbour.ask(read=pb.Read())).error == ""


async def test_a_command_is_carried_out_though_its_sender_is_gone(lab: Lab, connect) -> None:
    sender, watcher = await connect("n0"), await connect("n1")
    await watcher.switch(1, 1, P1)
    await watcher.reply()
    await sender.switch(1, 0, P1)
    sender.writer.close()
    await sender.writer.wait_closed()
    assert (await watcher.event()).light.lit
    assert lab.plant.table(0) == (P1, L)


async def test_a_peer_that_does_not_read_is_disconnected_and_others_go_on(
    lab: Lab, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware_module, "SEND_LIMIT", 10_000)
    stuck, fine = await connect("n0"), await connect("n1")
    stuck.reader._transport.pause_reading()
    for _ in range(20_000):
        lab.repair(lab.inject(FaultKind.GPU_LOST, "n0"))
    stuck.reader._transport.resume_reading()
    heard = 0
    while await stuck.next() is not None:
        heard += 1
    assert heard < 40_000
    assert (await fine.ask(read=pb.Read())).error == ""


@pytest.mark.parametrize(
    "junk", [b"\xff" * 64, (5).to_bytes(4, "big") + b"\xff" * 5, (MAX_FRAME + 1).to_bytes(4, "big")]
)
async def test_a_peer_that_speaks_something_else_is_disconnected(lab: Lab, connect, junk: bytes) -> None:
    for node in (None, "n0"):
        peer = await connect(node)
        peer.writer.write(junk)
        assert await peer.next() is None
    await connect("n1")
    assert lab.plant.powered(0)


async def test_a_peer_that_never_attaches_is_disconnected(connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware_module, "ATTACH_TIMEOUT", 0.01)
    peer = await connect()
    assert await peer.next() is None


async def test_stopping_drops_connections_and_removes_the_socket(lab: Lab, connect) -> None:
    peer = await connect("n0")
    lab.inject(FaultKind.BUNDLE_SLOW, "n0", bundle=0, delay=3000)
    await peer.switch(1, 0, P1)
    await peer.ask(read=pb.Read())
    began = time.monotonic()
    await lab.server.stop()
    assert time.monotonic() - began < 5
    assert await peer.next() is None
    assert not lab.socket.exists()


async def test_a_socket_somebody_answers_on_is_not_taken_over(lab: Lab) -> None:
    with pytest.raises(ConflictError, match="another process listens"):
        await HardwareServer(lab.plant, _rng(1)).start(lab.socket)
    peer = Peer(*await asyncio.open_unix_connection(lab.socket))
    assert (await peer.ask(attach=pb.Attach(node="n0"))).error == ""
    peer.writer.close()


async def test_a_socket_left_over_by_a_crash_is_replaced(make_wiring, tmp_path: FilePath) -> None:
    path = tmp_path / "left-over.sock"
    crashed = await asyncio.start_unix_server(lambda _reader, writer: writer.close(), path)
    crashed.close()
    await crashed.wait_closed()
    assert path.exists()
    server = HardwareServer(Plant(make_wiring(4, k=1), boot="boot"), _rng(1))
    await server.start(path)
    await server.stop()


@pytest.mark.parametrize("name", ["missing/hardware.sock", "x" * 120])
async def test_a_path_that_can_hold_no_socket_is_refused(make_wiring, tmp_path: FilePath, name: str) -> None:
    server = HardwareServer(Plant(make_wiring(4, k=1), boot="boot"), _rng(1))
    with pytest.raises(InvalidError, match=r"cannot (listen on|use) the socket") as caught:
        await server.start(tmp_path / name)
    assert "107 bytes" in caught.value.hint
    await server.stop()
