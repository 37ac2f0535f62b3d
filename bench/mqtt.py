"""What a heartbeat over a broker costs the controller: processor time, with one node and with fifty a message.

A real Mosquitto, and a process that publishes as fast as it can. This process receives: by our client, into the engine;
and, as the floor, the same messages by paho, whose callback does nothing. Without Mosquitto there are no figures.
"""

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from shutil import which

from paho.mqtt.client import Client as Paho
from paho.mqtt.client import MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from bench.fabrics import NAME, make_spec
from bench.figures import Figure, Unit
from ringlight.controller.adapters.wire import event_from
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import AgentHello, NodeHello, Restored
from ringlight.controller.settings import Settings
from ringlight.fabric.circuits import digest
from ringlight.fabric.errors import RinglightError
from ringlight.fabric.inventory import inventory_of
from ringlight.fabric.wiring import Wiring
from ringlight.protos.bus.broker import Broker
from ringlight.protos.bus.bus import Bus, Message
from ringlight.protos.bus.topics import Topics
from ringlight.protos.v1 import agent_pb2 as pb

_MESSAGES, _MESSAGES_QUICK = 8_000, 2_000
_NODES = 50
_PATIENCE = 120.0  # seconds

# Publishes the payloads of a file, one after another, as often as it is told.
_PUBLISHER = """
import sys
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
port, topic, count, path = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
payload = open(path, "rb").read()
client = Client(CallbackAPIVersion.VERSION2)
client.max_queued_messages_set(0)
client.connect("127.0.0.1", port)
client.loop_start()
for number in range(count):
    last = client.publish(topic, payload)
last.wait_for_publish(60)
client.disconnect()
"""


def measure(*, quick: bool) -> list[Figure]:
    """Measure with one node a message and with fifty; nothing where there is no Mosquitto."""
    program = which("mosquitto") or which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        print("mqtt: there is no mosquitto here", file=sys.stderr)
        return []
    count = _MESSAGES_QUICK if quick else _MESSAGES
    figures = []
    with tempfile.TemporaryDirectory() as directory, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        config = Path(directory) / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n", encoding="utf-8")
        with subprocess.Popen([program, "-c", config], stderr=subprocess.DEVNULL) as broker:
            try:
                _await_listening(port)
                for nodes in (1, _NODES):
                    ours = asyncio.run(_Intake(nodes).seconds(port, Path(directory), count))
                    floor = _paho_seconds(port, Path(directory), _Intake(nodes).payload, count)
                    title = f"{nodes} node{'s' if nodes > 1 else ''} a message"
                    figures += [
                        Figure("mqtt", f"processor time for a message, {title}", ours, floor, "paho, nothing done"),
                        Figure(
                            "mqtt", f"heartbeats a core takes in, {title}", nodes / ours, nodes / floor,
                            "paho, nothing done", Unit.RATE,
                        ),
                    ]  # fmt: skip
            finally:
                broker.terminate()
    return figures


class _Intake:
    """An engine that knows one agent, and a message of it."""

    def __init__(self, nodes: int) -> None:
        wiring = Wiring(make_spec(_NODES))
        self._engine = Engine(wiring, Settings())
        self._engine.handle(Restored(epoch=1), 0.0)
        self._topics = Topics(NAME)
        names = [wiring.name(position) for position in range(nodes)]
        hellos = tuple(
            NodeHello(name, "boot", inventory_of(wiring, position), wiring.loopback, {})
            for position, name in enumerate(names)
        )
        self._engine.handle(AgentHello("s1", "a1", "boot", 1, NAME, 0, hellos), 0.0)
        beats = [pb.NodeHeartbeat(node=name, digest=digest(wiring.loopback)) for name in names]
        published = pb.PublishedHeartbeat(agent_boot="boot", session="s1", heartbeat=pb.Heartbeat(nodes=beats))
        self.payload = published.SerializeToString()

    async def seconds(self, port: int, directory: Path, count: int) -> float:
        """Processor time of this process for each of so many messages."""
        connected, done = asyncio.Event(), asyncio.Event()
        left = count

        def take(message: Message) -> None:
            nonlocal left
            self._topics.agent_of(message.topic)
            published = pb.PublishedHeartbeat.FromString(message.payload)
            event = event_from(published.session, pb.AgentMessage(heartbeat=published.heartbeat))
            if event is None:
                raise RinglightError("a heartbeat means nothing to the engine")
            self._engine.handle(event, 0.0)
            left -= 1
            if not left:
                done.set()

        bus = Bus(
            Broker("127.0.0.1", port),
            identifier="bench",
            topics=[self._topics.every_heartbeat],
            on_message=take,
            on_change=lambda _: connected.set(),
            rng=Random(1),  # noqa: S311 - of pauses
        )
        running = asyncio.create_task(bus.run_forever())
        await connected.wait()
        began = time.process_time()
        publisher = _publish(port, self._topics.heartbeat("a1"), count, directory, self.payload)
        try:
            async with asyncio.timeout(_PATIENCE):
                await done.wait()
        except TimeoutError:
            raise RinglightError(f"{left} messages never came; {bus.tally.dropped_in} were dropped") from None
        spent = time.process_time() - began
        running.cancel()
        await asyncio.wait({running})
        publisher.wait(_PATIENCE)
        return spent / count


def _paho_seconds(port: int, directory: Path, payload: bytes, count: int) -> float:
    left = count

    def take(_client: Paho, _data: object, _message: MQTTMessage) -> None:
        nonlocal left
        left -= 1

    client = Paho(CallbackAPIVersion.VERSION2)
    client.on_message = take
    client.connect("127.0.0.1", port)
    topic = Topics(NAME).heartbeat("a1")
    client.subscribe(topic)
    _until(client.is_connected, client)
    began = time.process_time()
    publisher = _publish(port, topic, count, directory, payload)
    _until(lambda: not left, client)
    spent = time.process_time() - began
    client.disconnect()
    publisher.wait(_PATIENCE)
    return spent / count


def _until(condition: Callable[[], bool], client: Paho) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        client.loop(0.1)
        if time.monotonic() > deadline:
            raise RinglightError("the broker of the measurement does not answer")


def _publish(port: int, topic: str, count: int, directory: Path, payload: bytes) -> "subprocess.Popen[bytes]":
    file = directory / "payload"
    file.write_bytes(payload)
    return subprocess.Popen([sys.executable, "-c", _PUBLISHER, str(port), topic, str(count), file])


def _await_listening(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RinglightError("mosquitto does not listen")
