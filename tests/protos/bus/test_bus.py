"""A client that keeps its connection, beside a real broker that comes and goes."""

import asyncio
import signal
import subprocess
from contextlib import asynccontextmanager
from random import Random

import pytest

from ringlight.protos.bus import bus as bus_module
from ringlight.protos.bus.broker import Broker, broker_at
from ringlight.protos.bus.bus import Bus, Message
from tests.e2e.mosquitto import Mosquitto, needs_mosquitto

PATIENCE = 30.0  # seconds no healthy test ever waits for

# The library leaves the socket of a handshake that failed to the garbage collector.
leaves_a_socket = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
)


class Client:
    """A bus that runs, and what it heard."""

    def __init__(self, broker, identifier, **more):
        self.heard = []
        self.changes = []
        self._news = asyncio.Event()
        self.bus = Bus(
            broker,
            identifier=identifier,
            on_message=lambda message: self._note(self.heard, message),
            on_change=lambda lost: self._note(self.changes, lost),
            rng=Random(1),
            **more,
        )
        self.task = asyncio.create_task(self.bus.run_forever())

    def _note(self, where, what):
        where.append(what)
        self._news.set()

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE):
            while not (found := condition()):
                self._news.clear()
                await self._news.wait()
        return found

    async def connected(self, times=1):
        await self.until(lambda: self.changes.count(None) >= times)
        return self

    async def stop(self):
        self.task.cancel()
        await asyncio.wait({self.task})


@pytest.fixture
async def clients():
    """Starts clients; they are stopped after the test."""
    running = []

    def start(broker, identifier="one", **more):
        running.append(Client(broker, identifier, **more))
        return running[-1]

    yield start
    for client in running:
        await client.stop()


@pytest.fixture
async def mosquitto(tmp_path):
    broker = Mosquitto(tmp_path / "broker")
    await broker.start()
    yield broker
    await broker.stop()


def at(mosquitto):
    return Broker(mosquitto.host, mosquitto.port)


def said(client):
    return [(message.topic, message.payload) for message in client.heard]


@needs_mosquitto
async def test_what_is_said_is_heard_and_what_is_retained_is_heard_by_who_comes_later(mosquitto, clients):
    first = await clients(at(mosquitto), topics=["a/+"]).connected()
    acknowledged = asyncio.Event()
    first.bus.note(Message("a/note", b"1"))
    first.bus.state(Message("a/state", b"2"), acknowledged.set)
    await first.until(lambda: len(first.heard) == 2)
    async with asyncio.timeout(PATIENCE):
        await acknowledged.wait()
    second = await clients(at(mosquitto), "two", topics=["a/#"]).connected()
    await second.until(lambda: second.heard)
    assert [(m.topic, m.payload, m.retained) for m in second.heard] == [("a/state", b"2", True)]
    assert (first.bus.tally.sent, first.bus.tally.received) == (2, 2)


@needs_mosquitto
async def test_after_a_restart_of_a_broker_that_forgot_everything_it_goes_on(mosquitto, clients):
    """It subscribes anew, and whoever owns the states is told to say them again."""
    client = await clients(at(mosquitto), topics=["a/+"]).connected()
    for times in (2, 3):
        await mosquitto.stop()
        await client.until(lambda n=times: len(client.changes) == 2 * n - 2)
        assert client.changes[-1]
        assert not client.bus.connected
        client.bus.note(Message("a/x", b"said meanwhile"))
        await mosquitto.start()
        await client.connected(times)
        await client.until(lambda n=times: len(client.heard) == n - 1)
    assert (client.bus.tally.connections, client.bus.tally.losses) == (3, 2)


@needs_mosquitto
async def test_of_a_state_only_the_latest_is_said(mosquitto, clients):
    await mosquitto.stop()
    client = clients(at(mosquitto), topics=["s"])
    for number in range(100):
        client.bus.state(Message("s", str(number).encode()))
    await mosquitto.start()
    await client.until(lambda: client.heard)
    assert said(client) == [("s", b"99")]


@needs_mosquitto
async def test_of_notes_the_oldest_are_dropped_and_counted(mosquitto, clients):
    await mosquitto.stop()
    client = clients(at(mosquitto), topics=["n"])
    for number in range(2_005):
        client.bus.note(Message("n", str(number).encode()))
    assert client.bus.tally.dropped_out == 5
    await mosquitto.start()
    await client.until(lambda: len(client.heard) == 2_000)
    assert [int(payload) for _, payload in said(client)] == list(range(5, 2_005))


@needs_mosquitto
async def test_what_comes_in_too_fast_is_dropped_and_counted(mosquitto, clients, monkeypatch):
    """A consumer that is slow for a while costs messages, and not memory."""
    monkeypatch.setattr(bus_module, "_INCOMING", 10)
    slow = await clients(at(mosquitto), topics=["n"]).connected()
    fast = await clients(at(mosquitto), "two").connected()
    real = slow.bus._on_message

    async def burst():
        for number in range(500):
            fast.bus.note(Message("n", str(number).encode()))
        while fast.bus.tally.sent < 500:  # noqa: ASYNC110 - a counter
            await asyncio.sleep(0.01)

    def hold_up(message):
        slow.bus._on_message = real
        real(message)
        subprocess.run(["sleep", "0.5"], check=True)  # the whole loop stands still; the broker does not

    slow.bus._on_message = hold_up
    await burst()
    fast.bus.note(Message("n", b"last"))
    tally = slow.bus.tally
    async with asyncio.timeout(PATIENCE):
        while tally.received + tally.dropped_in < 501:  # noqa: ASYNC110 - a counter
            await asyncio.sleep(0.01)
    assert tally.received + tally.dropped_in == 501


@asynccontextmanager
async def silent_server():
    """Accepts connections and says nothing; how many there were."""
    came = []

    async def accept(reader, writer):
        came.append(writer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], came
    server.close()
    for writer in came:
        writer.close()


async def test_a_broker_that_accepts_and_says_nothing_is_left_again(clients, monkeypatch):
    monkeypatch.setattr(bus_module, "_TIMEOUT", 0.2)
    async with silent_server() as (port, came):
        client = clients(Broker("127.0.0.1", port))
        async with asyncio.timeout(PATIENCE):
            while len(came) < 2:  # noqa: ASYNC110 - a plain list
                await asyncio.sleep(0.02)
        assert not client.bus.connected
        assert client.changes == []
        await client.stop()
        assert client.task.cancelled()


@leaves_a_socket
async def test_and_so_is_one_that_says_nothing_to_tls(clients, monkeypatch):
    monkeypatch.setattr(bus_module, "_KEEPALIVE", 1)  # the library gives a handshake as long as that
    async with silent_server() as (port, came):
        client = clients(broker_at(f"mqtts://127.0.0.1:{port}"))
        async with asyncio.timeout(PATIENCE):
            while len(came) < 2:  # noqa: ASYNC110 - a plain list
                await asyncio.sleep(0.02)
        assert client.changes == []
        assert not client.task.done()


@needs_mosquitto
async def test_a_state_that_was_withdrawn_is_not_said(mosquitto, clients):
    await mosquitto.stop()
    client = clients(at(mosquitto), topics=["a/+"])
    client.bus.state(Message("a/old", b"1"))
    client.bus.withdraw()
    client.bus.state(Message("a/new", b"2"))
    await mosquitto.start()
    await client.until(lambda: client.heard)
    assert said(client) == [("a/new", b"2")]


@needs_mosquitto
async def test_a_broker_that_stands_still_is_left(mosquitto, clients, monkeypatch):
    monkeypatch.setattr(bus_module, "_TIMEOUT", 0.5)
    monkeypatch.setattr(bus_module, "_PROOF", 0.2)
    client = await clients(at(mosquitto)).connected()
    mosquitto.signal(signal.SIGSTOP)
    await client.until(lambda: len(client.changes) == 2)
    mosquitto.signal(signal.SIGCONT)
    await client.connected(2)


@needs_mosquitto
async def test_two_clients_of_one_id_do_not_fight_without_a_pause(mosquitto, clients):
    """The broker throws out the one when the other comes; both pause longer and longer."""
    one, two = clients(at(mosquitto), "same"), clients(at(mosquitto), "same")
    await asyncio.sleep(6.0)  # how often they meet in that time is what the test is about
    connections = one.bus.tally.connections + two.bus.tally.connections
    assert 2 <= connections <= 30
    assert one.bus.tally.losses + two.bus.tally.losses >= 1


@needs_mosquitto
async def test_the_last_will_is_said_by_the_broker_or_by_ourselves(mosquitto, clients):
    will = Message("w", b"gone")
    watcher = await clients(at(mosquitto), "watcher", topics=["w"]).connected()
    client = await clients(at(mosquitto), "one", will=will).connected()
    await client.stop()
    await watcher.until(lambda: watcher.heard)
    assert said(watcher) == [("w", b"gone")]


@needs_mosquitto
async def test_user_and_password(tmp_path, clients):
    passwords, password, wrong = tmp_path / "passwords", tmp_path / "password", tmp_path / "wrong"
    make_passwords(passwords)
    password.write_text("secret\n")
    wrong.write_text("guessed\n")
    mosquitto = Mosquitto(tmp_path / "broker", "allow_anonymous false", f"password_file {passwords}")
    passwords.chmod(0o644)
    await mosquitto.start()
    address = f"mqtt://rack@{mosquitto.address}"
    await clients(broker_at(address, password_file=password)).connected()
    refused = clients(broker_at(address, password_file=wrong), "two")
    await asyncio.sleep(1.0)  # time enough for some attempts
    assert refused.changes == []
    assert not refused.task.done()
    await mosquitto.stop()


def make_passwords(file):
    subprocess.run(["mosquitto_passwd", "-b", "-c", file, "rack", "secret"], check=True, timeout=30)


def certificates(directory):
    """An authority of our own, a broker's certificate by it, and a second authority that nobody trusts."""
    directory.mkdir()

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=directory, capture_output=True, timeout=60)

    making = "req -x509 -newkey rsa:2048 -nodes -days 1 -keyout {0}.key -out {0}.pem -subj /CN={0}"
    for name in ("ca", "other"):
        openssl(*making.format(name).split())
    openssl(*"req -newkey rsa:2048 -nodes -keyout broker.key -out broker.csr -subj /CN=broker".split())  # noqa: SIM905
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signing = "x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out broker.pem -days 1 -extfile names"
    openssl(*signing.split())
    (directory / "broker.key").chmod(0o644)
    directory.chmod(0o755)
    return directory


@needs_mosquitto
@leaves_a_socket
async def test_tls(tmp_path, clients):
    files = certificates(tmp_path / "certificates")
    keys = f"certfile {files / 'broker.pem'}", f"keyfile {files / 'broker.key'}"
    mosquitto = Mosquitto(tmp_path / "broker", "allow_anonymous true", *keys)
    await mosquitto.start()
    address = f"mqtts://{mosquitto.address}"
    client = await clients(broker_at(address, ca_file=files / "ca.pem"), topics=["a"]).connected()
    client.bus.note(Message("a", b"1"))
    await client.until(lambda: client.heard)
    for number, broker in enumerate((broker_at(address, ca_file=files / "other.pem"), at(mosquitto))):
        refused = clients(broker, f"refused-{number}")
        await asyncio.sleep(0.5)  # time enough for some attempts
        assert refused.changes == []
        assert not refused.task.done()
    await mosquitto.stop()


@needs_mosquitto
async def test_it_ends_when_it_is_told_to_and_leaves_nothing(mosquitto, clients):
    before = asyncio.all_tasks()
    client = await clients(at(mosquitto), topics=["a"]).connected()
    await client.stop()
    assert client.task.cancelled()
    assert asyncio.all_tasks() - before <= {client.task}
