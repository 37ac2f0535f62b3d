"""Model hardware in memory, and a controller that does as the test says, over real gRPC."""

import asyncio
from collections import deque
from random import Random
from types import SimpleNamespace

import grpc.aio
import pytest

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.executor import Executor
from ringlight.agents.link import dial_controller
from ringlight.agents.node import ServedNode
from ringlight.agents.obedience import Command
from ringlight.agents.ports import FaultClosed, FaultOpened, HardwareIdentity, LightChanged, Readout, SwitchOutcome
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path, all_loopback
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import BundleInventory, Inventory
from ringlight.protos import codec, status
from ringlight.protos.v1 import agent_pb2 as pb
from ringlight.protos.v1 import agent_pb2_grpc

BUNDLES = 2
PATIENCE = 30.0  # seconds no healthy test ever waits for


async def until(condition):
    """Let everything that is ready run, until a condition holds; only for what no event tells."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is awaited is a plain value of the code under test
            await asyncio.sleep(0.001)


class ModelHardware:
    """The bundles and GPUs of one node: driver and GPU health in one, since nothing they have in common differs."""

    def __init__(self):
        peers = dict.fromkeys(EXTERNAL_PATHS, "n9/b0.p1")
        inventory = Inventory(4, tuple(BundleInventory(bundle, 8, peers) for bundle in range(BUNDLES)))
        self.identity = HardwareIdentity("lab", "power-1", inventory)
        self.table = list(all_loopback(BUNDLES))
        self.light = {(bundle, path): False for bundle in range(BUNDLES) for path in EXTERNAL_PATHS}
        self.module_faults = {}
        self.gpu_faults = {}
        self.writes = []
        self.stuck = set()
        self.away = False
        self.may_read = asyncio.Event()  # a reading is taken, then waits for this before it is returned
        self.may_read.set()
        self.may_switch = asyncio.Event()  # a switch happens after this
        self.may_switch.set()
        self.reading = asyncio.Event()
        self.switching = asyncio.Event()
        self.opened = 0
        self.driver = SimpleNamespace(
            open=self._open,
            read=self._read,
            switch=self._switch,
            powers=self._powers,
            close=self._nothing,
            events=self._module_events,
        )
        self.powers = {}
        self.may_measure = asyncio.Event()  # a measurement happens after this
        self.may_measure.set()
        self.gpus = SimpleNamespace(
            open=self._nothing_if_here, read=self._read_gpus, close=self._nothing, events=self._gpu_events
        )
        self._module_news = asyncio.Queue()
        self._gpu_news = asyncio.Queue()

    def _here(self):
        if self.away:
            raise UnavailableError("the model hardware is away")

    async def _nothing(self):
        pass

    async def _nothing_if_here(self):
        self._here()

    async def _open(self):
        self._here()
        self.opened += 1
        self._module_news, self._gpu_news = asyncio.Queue(), asyncio.Queue()
        return self.identity

    async def _read(self):
        self._here()
        readout = Readout(tuple(self.table), dict(self.light), tuple(self.module_faults.values()))
        self.reading.set()
        await self.may_read.wait()
        self._here()
        return readout

    async def _powers(self):
        self._here()
        await self.may_measure.wait()
        return dict(self.powers)

    async def _read_gpus(self):
        self._here()
        return tuple(self.gpu_faults.values())

    async def _switch(self, bundle, path):
        self._here()
        self.writes.append((bundle, path))
        self.switching.set()
        await self.may_switch.wait()
        self._here()
        if bundle not in self.stuck:
            self.table[bundle] = path
        return SwitchOutcome(self.table[bundle], 70e-6)

    async def _module_events(self):
        queue = self._module_news
        while (event := await queue.get()) is not None:
            yield event
        raise UnavailableError("the model hardware went away")

    async def _gpu_events(self):
        queue = self._gpu_news
        while (event := await queue.get()) is not None:
            yield event
        raise UnavailableError("the model GPUs went away")

    def shine(self, port, *, lit):
        """Light comes or goes."""
        self.light[port] = lit
        self._module_news.put_nowait(LightChanged(port, lit))

    def open_fault(self, fault, *, gpu=True):
        """A part breaks."""
        (self.gpu_faults if gpu else self.module_faults)[fault.id] = fault
        (self._gpu_news if gpu else self._module_news).put_nowait(FaultOpened(fault))

    def close_fault(self, fault_id):
        """A part works again."""
        in_gpu = self.gpu_faults.pop(fault_id, None) is not None
        self.module_faults.pop(fault_id, None)
        (self._gpu_news if in_gpu else self._module_news).put_nowait(FaultClosed(fault_id))

    def go(self):
        """Stop answering, and say so."""
        self.away = True
        self._module_news.put_nowait(None)

    def come_back(self, *, boot=None):
        """Answer again; with another boot id if the power was lost."""
        if boot is not None:
            self.identity = HardwareIdentity(self.identity.fabric, boot, self.identity.inventory)
        self.away = False


class FakeController(agent_pb2_grpc.AgentServiceServicer):
    """Records what agents say, and says what the test wants."""

    def __init__(self):
        self.epoch = 1
        self.interval = 0.05
        self.refusals = deque()  # errors that answer the next hellos
        self.refusal = None  # error that answers every other hello
        self.heard_every = 0.02  # seconds between signs of life; None for silence
        self.messages = []  # everything but heartbeats, of all sessions, in order
        self.hellos = []
        self.heartbeats = []
        self.ends = []  # whether a session ended after a goodbye
        self.address = ""
        self._news = asyncio.Event()
        self._context = None
        self._server = None
        self._writing = asyncio.Lock()  # a stream takes one write at a time

    async def start(self):
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        agent_pb2_grpc.add_AgentServiceServicer_to_server(self, self._server)
        port = self._server.add_insecure_port(self.address or "127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        await self._server.start()

    async def stop(self):
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(None)

    async def Session(self, request_iterator, context):  # noqa: N802 - gRPC prescribes the name
        first = await anext(aiter(request_iterator))
        self._note(self.hellos, first.hello)
        error = self.refusals.popleft() if self.refusals else self.refusal
        if error is not None:
            await status.abort(context, error)
        welcome = pb.Welcome(session="s1", epoch=self.epoch, heartbeat_interval=self.interval)
        await context.write(pb.ControllerMessage(welcome=welcome))
        self._context = context
        said_goodbye = False
        async with asyncio.TaskGroup() as signs:
            sign = signs.create_task(self._signs_of_life(context))
            try:
                async for message in request_iterator:
                    match message.WhichOneof("body"):
                        case "heartbeat":
                            self._note(self.heartbeats, message.heartbeat)
                        case "goodbye":
                            said_goodbye = True
                            self._note(self.messages, message)
                            break
                        case _:
                            self._note(self.messages, message)
            finally:
                sign.cancel()
                self._context = None
                self._note(self.ends, said_goodbye)

    async def _signs_of_life(self, context):
        while self.heard_every is not None:
            await asyncio.sleep(self.heard_every)
            await self._say(pb.ControllerMessage(heard=pb.Heard(epoch=self.epoch)), context)

    async def _say(self, message, context):
        async with self._writing:
            await context.write(message)

    def _note(self, where, what):
        where.append(what)
        self._news.set()

    async def until(self, condition):
        """Wait until what was heard fulfils a condition, and return what that gives."""
        async with asyncio.timeout(PATIENCE):
            while not (found := condition()):
                self._news.clear()
                await self._news.wait()
        return found

    async def hello(self, number=1):
        """The hello of the numberth session."""
        await self.until(lambda: len(self.hellos) >= number)
        return self.hellos[number - 1]

    async def applied(self, transaction):
        """The answer to a command."""
        return await self.until(
            lambda: next((m.applied for m in self.messages if m.applied.transaction == transaction), None)
        )

    async def light(self, count=1):
        """Light reports, once there are so many."""
        return await self.until(
            lambda: (
                reports
                if len(reports := [m.light for m in self.messages if m.WhichOneof("body") == "light"]) >= count
                else None
            )
        )

    async def command(self, table, *, node="n0", generation=1, transaction="t1", revert_after=0.0, epoch=None):
        await until(lambda: self._context is not None)
        command = pb.SetCircuits(
            epoch=self.epoch if epoch is None else epoch,
            generation=generation,
            transaction=transaction,
            node=node,
            table=codec.table_to(table),
            revert_after=revert_after,
        )
        await self._say(pb.ControllerMessage(set_circuits=command), self._context)

    async def measure(self, question, *, node="n0"):
        """Ask for the light of a node; the answer."""
        await until(lambda: self._context is not None)
        message = pb.ControllerMessage(measure=pb.Measure(question=question, node=node))
        await self._say(message, self._context)
        return await self.until(
            lambda: next((m.measured for m in self.messages if m.measured.question == question), None)
        )

    async def confirm(self, transaction, *, node="n0"):
        confirm = pb.Confirm(epoch=self.epoch, transaction=transaction, node=node)
        await self._say(pb.ControllerMessage(confirm=confirm), self._context)


class RunningNode:
    """A served node that runs, and what it reported."""

    def __init__(self, hardware):
        self.hardware = hardware
        self.node = None
        self.reports = []
        self.changes = 0

    def answers(self):
        return [report.applied for report in self.reports if report.WhichOneof("body") == "applied"]

    def measured(self):
        return [report.measured for report in self.reports if report.WhichOneof("body") == "measured"]

    def lights(self):
        return [report.light.changed[0].lit for report in self.reports if report.WhichOneof("body") == "light"]

    async def answer(self, number=1):
        await until(lambda: len(self.answers()) >= number)
        return self.answers()[number - 1]


@pytest.fixture
def eventually():
    return until


@pytest.fixture
def hardware():
    return ModelHardware()


@pytest.fixture
def make_hardware():
    return ModelHardware


@pytest.fixture
def fast():
    """Settings that make no test wait."""
    return AgentSettings(
        switch_timeout=0.1,
        read_timeout=0.2,
        measure_timeout=0.05,
        backoff_first=0.01,
        backoff_cap=0.02,
        welcome_timeout=5.0,
        duplicate_patience=0.1,
        fence_interval=0.01,
    )


@pytest.fixture
def fences(tmp_path):
    file = FenceFile(tmp_path, "a1")
    file.load()
    return file


@pytest.fixture
def order():
    """Makes a command."""

    def make(table, *, generation=1, epoch=1, transaction=None, revert_after=0.0):
        return Command("n0", epoch, generation, transaction or f"t{generation}", table, revert_after)

    return make


@pytest.fixture
def executor(hardware, fences, fast):
    return Executor(hardware.driver, hardware.identity.inventory, fences, fast)


@pytest.fixture
async def run_node(fences, fast):
    """Starts a node, and stops it after the test; a second stop in the test itself does no harm."""
    tasks = []

    async def start(hardware):
        running = RunningNode(hardware)

        def on_change(_):
            running.changes += 1

        running.node = ServedNode(
            "n0",
            hardware.driver,
            hardware.gpus,
            fences=fences,
            settings=fast,
            rng=Random(1),
            report=lambda _, message: running.reports.append(message),
            on_change=on_change,
        )
        tasks.append(asyncio.create_task(running.node.serve()))
        async with asyncio.timeout(PATIENCE):
            await running.node.tried.wait()
        return running

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def controller():
    fake = FakeController()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def run_agent(controller, tmp_path, fast):
    """Starts an agent as a task; it is stopped after the test."""
    tasks = []

    def start(hardware, *, settings=fast, boot="boot-1", on_welcome=lambda: None, dial=None, beat_elsewhere=None):
        fences = FenceFile(tmp_path, "a1")
        fences.load()
        agent = Agent(
            AgentIdentity("a1", boot),
            {name: (one.driver, one.gpus) for name, one in hardware.items()},
            dial=dial or dial_controller(controller.address),
            fences=fences,
            rng=Random(1),
            settings=settings,
            beat_elsewhere=beat_elsewhere,
            on_welcome=on_welcome,
        )
        task = asyncio.create_task(agent.run())
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def paths():
    """Tables by name."""
    return SimpleNamespace(
        home=all_loopback(BUNDLES),
        ring=(Path.PATH_1, Path.PATH_1),
        other=(Path.PATH_2, Path.PATH_1),
        half=(Path.PATH_1, Path.LOOPBACK),
    )
