"""The demo as a user starts it: to its end, interrupted, and kept running. Nothing is ever left behind."""

import asyncio
import json
import os
import re
import signal
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import grpc.aio
import pytest

from ringlight.protos.v1 import emulator_pb2, emulator_pb2_grpc, fabric_pb2, fabric_pb2_grpc

pytestmark = pytest.mark.e2e

PATIENCE = 100.0
QUICKLY = 10.0  # seconds in which an interrupted demo must be over


class Demo:
    """A demo in a session of its own, so that everything it starts can be found."""

    def __init__(self, process, errors, temporary):
        self.process = process
        self.lines = []
        self.temporary = temporary
        self._errors = errors

    async def until(self, words):
        """Read its output up to a line with these words."""
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                self.lines.append(line)
                if words in line:
                    return line
        raise AssertionError(f"{words!r} never came:\n{''.join(self.lines)}{self.errors}")

    async def end(self):
        """Wait for its end, its output read; its exit code."""
        self.lines += (await self.process.stdout.read()).decode().splitlines(keepends=True)
        return await self.process.wait()

    @property
    def errors(self):
        return self._errors.read_text()

    def processes(self):
        """Every process of its session, itself included, that is no zombie."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError):
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(stat[3]) == self.process.pid and stat[0] != "Z":
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def assert_nothing_is_left(self):
        assert self.processes() == {}
        assert list(self.temporary.iterdir()) == []
        assert "Traceback" not in self.errors
        assert "Warning" not in self.errors
        assert "Traceback" not in "".join(self.lines)


@pytest.fixture
async def start(tmp_path):
    """Starts a demo; whatever of it still runs after the test is killed."""
    demos = []

    async def start_demo(*options):
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        errors = tmp_path / "errors"
        with errors.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-X", "dev", "-m", "ringlight.cli", "demo", *options),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=file,
                start_new_session=True,
                env=os.environ | {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"},
            )
        demos.append(Demo(process, errors, temporary))
        return demos[-1]

    yield start_demo
    for demo in demos:
        for pid in demo.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await demo.end()


@pytest.mark.parametrize("modules", ["fast", "registers"])
async def test_the_demo_heals_everything_and_says_so(start, modules):
    demo = await start("--modules", modules)
    await demo.until("Ringlight demo")
    assert await demo.end() == 0, "".join(demo.lines) + demo.errors
    summary = "".join(demo.lines)
    for step in ("job submitted", "GPU died", "node lost power", "fibre cut", "agent crashed", "all repaired"):
        assert re.search(rf"^ ?{step} .* light = plan .*ok", summary, re.MULTILINE), summary
    assert re.search(r"report to ring ACTIVE, 30 GPUs: p50 [\d.]+ ms, p99 [\d.]+ ms", summary)
    assert "commands refused by an invariant: 0" in summary
    assert "WRONG" not in summary
    assert re.search(r"^live page  http://127\.0\.0\.1:\d+/$", summary, re.MULTILINE)
    assert demo.errors == ""
    demo.assert_nothing_is_left()


@pytest.mark.parametrize("whom", ["the demo", "all of it"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["starting", "in the middle"])
async def test_an_interrupted_demo_leaves_nothing_behind(start, moment, number, whom):
    """Ctrl-C in a terminal reaches every process of the demo at once, a `kill` only its parent."""
    demo = await start()
    if moment == "starting":
        async with asyncio.timeout(PATIENCE):
            while len(demo.processes()) < 2:  # noqa: ASYNC110 - nothing tells when another process starts a third
                await asyncio.sleep(0.005)
    else:
        await demo.until("falls off the bus")
    if whom == "the demo":
        demo.process.send_signal(number)
    else:
        os.killpg(demo.process.pid, number)
    async with asyncio.timeout(QUICKLY):
        code = await demo.end()
    assert code == 130, demo.errors
    demo.assert_nothing_is_left()


async def test_a_killed_demo_takes_its_processes_along(start):
    demo = await start()
    await demo.until("falls off the bus")
    demo.process.kill()
    async with asyncio.timeout(QUICKLY):
        assert await demo.end() == -signal.SIGKILL
        while demo.processes():  # noqa: ASYNC110 - they are nobody's children any more
            await asyncio.sleep(0.02)


async def test_a_kept_demo_answers_at_the_addresses_it_prints(start):
    demo = await start("--keep")
    controller = (await demo.until("controller  ")).split()[1]
    emulator = (await demo.until("emulator    ")).split()[1]
    metrics = (await demo.until("metrics     ")).split()[1]
    page = (await demo.until("live page   ")).split()[2]
    await demo.until("Ctrl-C ends it")
    async with grpc.aio.insecure_channel(controller) as north, grpc.aio.insecure_channel(emulator) as control:
        fabric = await fabric_pb2_grpc.FabricServiceStub(north).GetFabric(fabric_pb2.GetFabricRequest(), timeout=20)
        faults = await emulator_pb2_grpc.EmulatorServiceStub(control).ListFaults(
            emulator_pb2.ListFaultsRequest(), timeout=20
        )
    assert (fabric.nodes, fabric.ring_states["ACTIVE"]) == (64, 6)
    assert not faults.faults
    with await asyncio.to_thread(urllib.request.urlopen, metrics, timeout=20) as reply:
        assert b'ringlight_rings{state="ACTIVE"} 6.0' in reply.read()
    with await asyncio.to_thread(urllib.request.urlopen, page, timeout=20) as reply:
        assert b"Can I train now?" in reply.read()
    with await asyncio.to_thread(urllib.request.urlopen, f"{page}api/fabric", timeout=20) as reply:
        assert json.load(reply)["answer"]["word"] == "yes"
    demo.process.send_signal(signal.SIGINT)
    async with asyncio.timeout(QUICKLY):
        assert await demo.end() == 130
    demo.assert_nothing_is_left()
