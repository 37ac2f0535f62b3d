"""The whole emulator process, inside this one."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path as FilePath
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ringlight.agents.drivers.emulator import emulator_hardware
from ringlight.emulator.daemon import run_emulator
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import RinglightError
from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import emulator_pb2_grpc

SERVICE = "ringlight.v1.EmulatorService"


class Running:
    """A running emulator and how to reach it."""

    def __init__(self, task: asyncio.Task[None], address: str, socket: FilePath, channel: grpc.aio.Channel) -> None:
        self.task = task
        self.address = address
        self.socket = socket
        self.channel = channel
        self.stub: Any = emulator_pb2_grpc.EmulatorServiceStub(channel)

    async def stop(self) -> None:
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task


RunEmulator = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def run(make_spec) -> RunEmulator:
    @asynccontextmanager
    async def start(nodes: int = 8, **options: Any) -> AsyncIterator[Running]:
        line: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        settings = {"controller": None, "listen": "127.0.0.1:0", "socket": None, "nodes_per_agent": 0}
        settings |= {"state_dir": None, "seed": 1} | options
        emulator = run_emulator(fabric=make_spec(nodes), ready=line.set_result, **settings)
        task = asyncio.create_task(emulator)
        await asyncio.wait({task, line}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        told = re.fullmatch(r"ready grpc=(\S+) socket=(\S+)", line.result())
        assert told is not None
        async with grpc.aio.insecure_channel(told[1]) as channel:
            running = Running(task, told[1], FilePath(told[2]), channel)
            yield running
            if not task.done():
                await running.stop()

    return start


async def test_when_it_says_ready_both_doors_are_open(run: RunEmulator) -> None:
    async with run() as emulator:
        driver, _ = emulator_hardware(emulator.socket)("n0")
        assert (await driver.open()).fabric == "test"
        assert (await driver.switch(0, Path.PATH_1)).path is Path.PATH_1
        await driver.close()
        traced = await emulator.stub.Trace(pb.TraceRequest())
        assert len(traced.cycles) == 7
        assert {name.split("/")[0] for chain in traced.dangling for name in chain.gpus} == {"n0"}


async def test_health_and_reflection_are_served(run: RunEmulator) -> None:
    async with run() as emulator:
        health = health_pb2_grpc.HealthStub(emulator.channel)
        for service in ("", SERVICE):
            reply = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        reflect = reflection_pb2_grpc.ServerReflectionStub(emulator.channel).ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        )
        async for reply in reflect:
            assert SERVICE in [service.name for service in reply.list_services_response.service]


async def test_agents_come_up_break_and_stop_with_it(
    run: RunEmulator, controller, tmp_path: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"controller": controller.address, "nodes_per_agent": 1, "state_dir": tmp_path / "state"}
    with caplog.at_level(logging.ERROR):
        async with run(20, **options) as emulator:
            agents = [f"agent-n{position}" for position in range(20)]
            await controller.until(lambda: all(controller.count(agent, "heartbeat") for agent in agents))
            await emulator.stub.Inject(pb.InjectRequest(kind=pb.FAULT_KIND_POWER_OFF, node="n3"))
            await controller.until(lambda: controller.ends("agent-n3") == 1)
            began = time.monotonic()
            await emulator.stop()
            assert time.monotonic() - began < 5
            await controller.until(lambda: not controller.live)
    assert [controller.count(agent, "goodbye") for agent in agents] == [agent != "agent-n3" for agent in agents]
    assert not emulator.socket.exists()
    assert not emulator.socket.parent.exists()
    assert len(_files(tmp_path / "state")) == 20
    assert caplog.records == []


async def test_hardware_boots_anew_with_each_emulator(run: RunEmulator) -> None:
    boots = []
    for _ in range(2):
        async with run() as emulator:
            driver, _ = emulator_hardware(emulator.socket)("n0")
            boots.append((await driver.open()).boot)
            await driver.close()
    assert boots[0] != boots[1]


async def test_addresses_that_cannot_be_used_end_it_with_a_clear_error(run: RunEmulator, tmp_path: FilePath) -> None:
    async with run(socket=tmp_path / "taken.sock") as emulator:
        bad = [
            ({"listen": emulator.address}, "cannot listen on"),
            ({"listen": "nonsense"}, "'nonsense' is not an address"),
            ({"socket": tmp_path / "taken.sock"}, "another process listens on the socket"),
            ({"socket": tmp_path / "missing" / "s.sock"}, "cannot (listen on|use) the socket"),
        ]
        for options, says in bad:
            with pytest.raises(RinglightError, match=says) as caught:
                async with run(**options):
                    pytest.fail("it started")
            assert caught.value.hint
        assert len((await emulator.stub.Trace(pb.TraceRequest())).cycles) == 8
    assert _files(tmp_path) == []


def _files(directory: FilePath) -> list[str]:
    return sorted(file.name for file in directory.iterdir())
