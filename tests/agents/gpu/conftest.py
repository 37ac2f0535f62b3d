"""What tests of GPU sources share."""

import asyncio
import contextlib

import pytest

from ringlight.agents.gpu.memory import XidMemory
from tests.agents.gpu.fake_nvml import FakeNvml


@pytest.fixture
def make_nvml():
    """Makes a machine with so many GPUs; whatever hangs there may return after the test."""
    made = []

    def make(gpus):
        made.append(FakeNvml(gpus))
        return made[-1]

    yield make
    for one in made:
        one.may_return.set()


class Following:
    """Reads the events of a source in a task."""

    def __init__(self, source):
        self.events = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._follow(source))

    async def _follow(self, source):
        async for event in source.events():
            self.events.append(event)
            self._news.set()

    async def until(self, condition):
        """Wait until the events fulfil a condition, and give what that gives."""
        async with asyncio.timeout(30):
            while not (found := condition(self.events)):
                self._news.clear()
                await self._news.wait()
        return found


@pytest.fixture
async def follow():
    started = []

    def start(source):
        started.append(Following(source))
        return started[-1]

    yield start
    for one in started:
        one.task.cancel()
        with contextlib.suppress(BaseException):
            await one.task


@pytest.fixture
def make_memory(tmp_path):
    """What an agent remembers when it starts, on a machine that does not boot during the test unless it says so."""
    return lambda boot="boot-1": XidMemory(tmp_path / "xids.json", boot=lambda: boot)


@pytest.fixture
def memory(make_memory):
    return make_memory()
