"""How fast the real controller takes in agents and their heartbeats, over the same streams to a server that only reads.

The agents are streams of this process, over a few connections. It works as hard as the server that it drives, so the
rates say what both manage together; what the server itself spends shows in its processor time. A heartbeat counts
once it was handled: each agent says goodbye behind its last one, and the controller ends the stream only when it
comes to the goodbye.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.echo import run_echo
from bench.fabrics import make_document, make_spec
from bench.figures import Figure, Unit
from bench.streams import Stream, heartbeat_of, hello_of, open_channels
from ringlight.emulator.stack import Daemon
from ringlight.fabric.wiring import Wiring
from ringlight.protos.v1 import agent_pb2 as pb

_AGENTS, _AGENTS_QUICK = 500, 100
_BEATS = 40  # of each agent
_CHANNELS = 4
_SETTINGS = {
    "heartbeat": {"interval": 60},  # seconds: nobody is missed, and no sign of life disturbs
    "sessions": {"rate": 100_000.0, "burst": 1_000},  # so that the controller is measured, and not its turnstile
}


@dataclass(frozen=True, slots=True)
class _Rates:
    connect: float  # seconds until every agent was welcomed
    beats: float  # heartbeats a second
    cpu: float  # seconds of the server's processor time for each


def measure(*, quick: bool) -> list[Figure]:
    """Connect agents, let all send heartbeats at once, and let them go."""
    agents = _AGENTS_QUICK if quick else _AGENTS
    wiring = Wiring(make_spec(agents))
    hellos = [hello_of(wiring, position) for position in range(agents)]
    beats = [heartbeat_of(wiring, position) for position in range(agents)]
    floor = asyncio.run(_against_echo(hellos, beats))
    real = asyncio.run(_against_controller(hellos, beats))
    floor_name = "the same streams, nothing decided"
    return [
        Figure("sessions", f"{agents:,} agents welcomed", real.connect, floor.connect, floor_name),
        Figure("sessions", f"heartbeats of {agents:,} agents", real.beats, floor.beats, floor_name, Unit.RATE),
        Figure("sessions", "processor time of the server for a heartbeat", real.cpu, floor.cpu, floor_name),
    ]


async def _against_controller(hellos: Sequence[pb.AgentMessage], beats: Sequence[pb.AgentMessage]) -> _Rates:
    with tempfile.TemporaryDirectory(prefix="ringlight-bench-") as directory:
        root = Path(directory)
        (root / "fabric.yaml").write_text(yaml.safe_dump(make_document(len(hellos))), encoding="utf-8")
        (root / "controller.yaml").write_text(yaml.safe_dump(_SETTINGS), encoding="utf-8")
        files = ["--fabric", str(root / "fabric.yaml"), "--config", str(root / "controller.yaml")]
        places = ["--state", str(root / "state"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        controller = Daemon("controller", ["controller", *files, *places], root / "controller.log")
        await controller.start()
        try:
            return await _drive(controller.addresses["grpc"], controller.pid, hellos, beats)
        finally:
            await controller.stop()


async def _against_echo(hellos: Sequence[pb.AgentMessage], beats: Sequence[pb.AgentMessage]) -> _Rates:
    async with run_echo() as echo:
        return await _drive(echo.address, echo.pid, hellos, beats)


async def _drive(address: str, pid: int, hellos: Sequence[pb.AgentMessage], beats: Sequence[pb.AgentMessage]) -> _Rates:
    async with open_channels(address, _CHANNELS) as channels:
        began = time.perf_counter()
        streams = [Stream(channels[turn % _CHANNELS], hello.hello.agent) for turn, hello in enumerate(hellos)]
        await asyncio.gather(*(stream.introduce(hello) for stream, hello in zip(streams, hellos, strict=True)))
        connected = time.perf_counter()
        cpu_before = _cpu_seconds(pid)
        await asyncio.gather(*(_beat(stream, beat) for stream, beat in zip(streams, beats, strict=True)))
        ended = time.perf_counter()
        sent = len(beats) * _BEATS
        return _Rates(connected - began, sent / (ended - connected), (_cpu_seconds(pid) - cpu_before) / sent)


def _cpu_seconds(pid: int) -> float:
    """Processor time a process has used so far, by all its threads; Linux counts it in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _beat(stream: Stream, beat: pb.AgentMessage) -> None:
    for _ in range(_BEATS):
        await stream.say(beat)
    await stream.leave()
