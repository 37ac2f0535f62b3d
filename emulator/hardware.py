"""The socket through which agents drive the emulated hardware: one connection a node, framed messages.

The shell around `ringlight.emulator.plant`: it gives switching its 60-80 µs, answers requests, and pushes what
changes to every connection of the node concerned. Its promises:

- Events of a node leave in the order in which they happened, and those a switch caused leave before its reply.
- Commands to one bundle take effect one after another. One that was received is carried out even when the connection
  that sent it is gone, as in a module: only loss of power stops it.
- A node without power has no connections. A peer that does not read is disconnected, not buffered.

The time a switch takes is drawn from the optics' 60-80 µs; the event loop wakes about a millisecond later at most, so
light follows a little later than the time that is reported.
"""

import asyncio
import logging
import random
from collections.abc import Iterable
from pathlib import Path as FilePath

from ringlight.emulator.fibre_plant import FibrePlant
from ringlight.emulator.plant import FaultClosed, FaultOpened, HardwareFault, LightChanged, PlantEvent
from ringlight.emulator.sockets import listen_on
from ringlight.emulator.tasks import TaskRegistry
from ringlight.fabric.circuits import OpticalPower
from ringlight.fabric.errors import InvalidError, RinglightError, UnavailableError
from ringlight.fabric.inventory import inventory_of
from ringlight.protos import codec
from ringlight.protos.framing import encode_frame, read_frame
from ringlight.protos.v1 import circuits_pb2, hardware_pb2

log = logging.getLogger(__name__)

SWITCH_SECONDS = (60e-6, 80e-6)  # shortest and longest time the optics take
ATTACH_TIMEOUT = 10.0  # seconds a new connection may take to say which node it is about
SEND_LIMIT = 1 << 20  # bytes waiting for a peer that does not read, until it is disconnected
MAX_OPERATIONS = 64  # switches of one node in progress; beyond them commands are refused


class _Connection:
    """One attached or attaching peer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, message: hardware_pb2.HardwareMessage) -> None:
        """Queue a message. A peer with too much unread is cut off."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > SEND_LIMIT:
            log.warning("a connection does not read what it is sent; it is closed")
            transport.abort()
            return
        self._writer.write(encode_frame(message))

    def reply(self, reply: hardware_pb2.HardwareReply) -> None:
        self.send(hardware_pb2.HardwareMessage(reply=reply))

    def drop(self) -> None:
        """Cut the connection off; what was not sent yet is lost."""
        self._writer.transport.abort()

    def close(self) -> None:
        """Close the connection once everything queued is sent."""
        self._writer.close()


class _Node:
    """The running side of one node since its last power-on: who listens, and which switches are in progress."""

    def __init__(self, bundles: int) -> None:
        self.connections: list[_Connection] = []
        self.turns = [asyncio.Lock() for _ in range(bundles)]
        self.operations: set[asyncio.Task[None]] = set()


class HardwareServer:
    """Serves a plant on a Unix socket.

    Args:
        plant: the hardware. Whoever else changes it must `publish` the events that come of it.
        rng: draws the switching times.
    """

    def __init__(self, plant: FibrePlant, rng: random.Random) -> None:
        self._plant = plant
        self._rng = rng
        self._nodes: dict[int, _Node] = {}
        self._tasks = TaskRegistry()
        self._server: asyncio.Server | None = None
        self._path: FilePath | None = None

    async def start(self, path: FilePath) -> None:
        """Listen.

        Raises:
            ConflictError: somebody answers on this socket already.
            InvalidError: there can be no socket at this path.
        """
        self._server = await listen_on(path, self._protocol)
        self._path = path

    async def stop(self) -> None:
        """Stop listening, drop every connection, end every switch in progress, remove the socket."""
        if self._server is not None:
            self._server.close()
        for node in self._nodes.values():
            for connection in node.connections:
                connection.drop()
        await self._tasks.close()
        if self._server is not None:
            await self._server.wait_closed()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def publish(self, events: Iterable[PlantEvent]) -> None:
        """Push events to the connections of the nodes they are about, and cut off nodes that lost power."""
        for event in events:
            node = self._nodes.get(event.position)
            if node is None:
                continue
            if isinstance(event, LightChanged | FaultOpened | FaultClosed):
                message = hardware_pb2.HardwareMessage(event=_event_message(event))
                for connection in node.connections:
                    connection.send(message)
            elif not event.on:
                self._power_off(event.position, node)

    def _power_off(self, position: int, node: _Node) -> None:
        del self._nodes[position]
        for connection in node.connections:
            connection.drop()
        for operation in node.operations:
            operation.cancel()

    def _protocol(self) -> asyncio.Protocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), self._accept)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.start(self._serve(reader, writer), name="hardware connection")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(writer)
        try:
            async with asyncio.timeout(ATTACH_TIMEOUT):
                request = await read_frame(reader, hardware_pb2.HardwareRequest)
            if request is None:
                return
            position = self._attach(connection, request)
            if position is not None:
                await self._serve_node(reader, connection, position)
        except TimeoutError:
            log.warning("a connection did not say which node it is about within %g s; it is closed", ATTACH_TIMEOUT)
        except InvalidError as error:
            log.warning("a connection is closed: %s", error)
        finally:
            connection.close()

    def _attach(self, connection: _Connection, request: hardware_pb2.HardwareRequest) -> int | None:
        """Answer the first request of a connection; None when it was refused."""
        reply = hardware_pb2.HardwareReply(id=request.id)
        try:
            if request.WhichOneof("body") != "attach":
                raise InvalidError("the first request on a connection must be Attach")
            position = self._plant.wiring.position(request.attach.node)
            self._plant.read(position)
        except RinglightError as error:
            reply.error = _in_one_line(error)
            connection.reply(reply)
            return None
        reply.attached.fabric = self._plant.wiring.spec.name
        reply.attached.hardware_boot = self._plant.boot_id(position)
        reply.attached.inventory.CopyFrom(codec.inventory_to(inventory_of(self._plant.wiring, position)))
        connection.reply(reply)
        return position

    async def _serve_node(self, reader: asyncio.StreamReader, connection: _Connection, position: int) -> None:
        node = self._nodes.setdefault(position, _Node(self._plant.wiring.bundles))
        node.connections.append(connection)
        try:
            while (request := await read_frame(reader, hardware_pb2.HardwareRequest)) is not None:
                if self._nodes.get(position) is not node:
                    return  # it lost power while this request was on its way
                self._carry_out(request, connection, position, node)
        finally:
            node.connections.remove(connection)

    def _carry_out(
        self, request: hardware_pb2.HardwareRequest, connection: _Connection, position: int, node: _Node
    ) -> None:
        reply = hardware_pb2.HardwareReply(id=request.id)
        try:
            match request.WhichOneof("body"):
                case "read":
                    reply.readout.CopyFrom(self._readout(position))
                    connection.reply(reply)
                case "powers":
                    reply.powers.CopyFrom(self._powers(position))
                    connection.reply(reply)
                case "switch":
                    self._begin_switch(request, connection, position, node)
                case "attach":
                    raise InvalidError("this connection is attached already", hint="open another connection")
                case _:
                    raise InvalidError("an empty or unknown request")
        except RinglightError as error:
            reply.error = _in_one_line(error)
            connection.reply(reply)

    def _readout(self, position: int) -> hardware_pb2.Readout:
        reading = self._plant.read(position)
        return hardware_pb2.Readout(
            circuits=codec.table_to(reading.circuits),
            light=codec.light_to(reading.light),
            faults=[_fault_message(fault) for fault in reading.faults],
        )

    def _powers(self, position: int) -> hardware_pb2.Powers:
        powers = {port: OpticalPower(*power) for port, power in self._plant.powers(position).items()}
        return hardware_pb2.Powers(powers=codec.powers_to(powers))

    def _begin_switch(
        self, request: hardware_pb2.HardwareRequest, connection: _Connection, position: int, node: _Node
    ) -> None:
        bundle, path = request.switch.bundle, codec.path_from(request.switch.path)
        self._plant.check_switch(position, bundle, path)
        if len(node.operations) >= MAX_OPERATIONS:
            raise UnavailableError(f"{len(node.operations)} switches of the node are in progress already")
        seconds = self._rng.uniform(*SWITCH_SECONDS) + self._plant.delay(position, bundle)

        async def operate() -> None:
            async with node.turns[bundle]:
                await asyncio.sleep(seconds)
                self.publish(self._plant.select(position, bundle, path))
                switched = hardware_pb2.Switched(
                    path=codec.path_to(self._plant.table(position)[bundle]), switch_seconds=seconds
                )
            connection.reply(hardware_pb2.HardwareReply(id=request.id, switched=switched))

        operation = self._tasks.start(operate(), name=f"switch {self._plant.wiring.name(position)}/b{bundle}")
        node.operations.add(operation)
        operation.add_done_callback(node.operations.discard)


def _in_one_line(error: RinglightError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _fault_message(fault: HardwareFault) -> circuits_pb2.Fault:
    """Hardware does not judge: the class stays unspecified."""
    return circuits_pb2.Fault(id=fault.id, component=fault.component, code=fault.code, recovery=fault.recovery)


def _event_message(event: LightChanged | FaultOpened | FaultClosed) -> hardware_pb2.HardwareEvent:
    match event:
        case LightChanged(port=port, lit=lit):
            return hardware_pb2.HardwareEvent(light=codec.light_to({port: lit})[0])
        case FaultOpened(fault=fault):
            return hardware_pb2.HardwareEvent(opened=_fault_message(fault))
        case FaultClosed(fault_id=fault_id):
            return hardware_pb2.HardwareEvent(closed=fault_id)
