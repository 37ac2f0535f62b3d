"""The trace replay as a user starts it, on small traces with everything that makes them hard."""

import asyncio
import json
import re
import sys

import pytest

from ringlight.emulator.fault_trace import SECONDS_PER_DAY

pytestmark = pytest.mark.e2e


def entry(server, seconds, kind, fault_class="GPU", description="GPU Lost"):
    fault_type = {"Level": "Fault", "Class": fault_class, "Desc": description}
    return {
        "node_id": server,
        "event_time": seconds / SECONDS_PER_DAY,
        "event_type": f"fault_{kind}",
        "fault_type": fault_type,
    }


TRACE = [
    entry("a", 0, "start"),
    entry("b", 1000, "start", "Parameter Plane Cable", "Link Down"),  # two more at one time stamp
    entry("c", 1000, "start", "Node", "Node Lost"),
    entry("a", 2000, "start", "Parameter Plane Cable", "Link Down"),  # overlaps the first of the same server
    entry("a", 3000, "end"),  # the other one is still open
    entry("d", 4000, "start"),  # over in the moment it begins
    entry("d", 4000, "end"),
    entry("c", 5000, "end", "Node", "Node Lost"),
    entry("b", 5000, "end", "Parameter Plane Cable", "Link Down"),
    entry("a", 6000, "end", "Parameter Plane Cable", "Link Down"),
    entry("e", 7000, "start"),  # never repaired
]


@pytest.fixture
def replay(tmp_path):
    """Replays a trace; exit code, standard output and standard error."""

    async def run(trace, *options):
        file = tmp_path / "trace.json"
        file.write_text(trace if isinstance(trace, str) else json.dumps(trace))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ringlight.cli", "emulator", "replay", str(file), *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 100)
        return process.returncode, out.decode(), errors.decode()

    return run


def facts(out):
    """The output's lines as names and values."""
    return dict(re.fullmatch(r"(.{44})(.*)", line).groups() for line in out.splitlines())


async def test_a_small_trace_with_all_that_is_hard(replay):
    code, out, errors = await replay(TRACE, "--servers", "24", "--speed", "20000", "--tp", "32", "--seed", "3")
    assert code == 0, out + errors
    assert errors == ""
    found = {name.strip(): value for name, value in facts(out).items()}
    assert found["seed"] == "3"
    assert found["faults"] == "6"
    assert found["quiet moments"] == "8"
    assert found["rings of nodes without faults touched"] == "0"
    assert found["light equal to plan at quiet moments"] == "always"
    assert found["commands refused by an invariant"] == "0"
    healed, waited = int(found["rings healed"]), int(found["rings that had to wait for a repair"])
    assert healed + waited >= 1, "19 of 24 servers work: of five that fail, one at least did"
    assert re.fullmatch(
        r"(nan|[\d.]+) / (nan|[\d.]+) / (nan|[\d.]+) ms", found["report to ring ACTIVE, p50 / p99 / max"]
    )


async def test_a_trace_of_one_moment(replay):
    trace = [entry("a", 0, "start"), entry("a", 0, "end")]
    code, out, errors = await replay(trace, "--servers", "8", "--tp", "16")
    assert code == 0, out + errors
    assert "quiet moments" in out


@pytest.mark.parametrize(
    ("trace", "options", "words"),
    [
        ("{}", (), ["trace.json is not a fault trace", "node_id, event_time in days"]),
        ([entry("a", 5, "end")], (), ["entry 0 ends a fault of a that never began", "is the file whole?"]),
        ([entry(str(n), 1, "start") for n in range(9)], ("--servers", "8"), ["9 servers", "8 nodes", "--servers"]),
        (TRACE, ("--servers", "8", "--tp", "12"), ["tp 12 is not a multiple of the 8 GPUs", "use tp 8 or 16"]),
        (TRACE, ("--servers", "8", "--tp", "8000"), ["error:", "hint:"]),
        (TRACE, ("--speed", "0"), ["--speed"]),
    ],
)
async def test_a_replay_that_cannot_be(replay, trace, options, words):
    code, out, errors = await replay(trace, *options)
    assert code == 1
    assert out == ""
    for word in words:
        assert word in errors
    assert "Traceback" not in errors


async def test_a_trace_that_is_not_there(replay, tmp_path):
    code, _, errors = await replay([], str(tmp_path / "missing.json"))
    assert code == 1
    assert "unexpected extra argument" in errors
