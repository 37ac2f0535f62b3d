"""GPU health by a command: what it may print, and what becomes of runs that go wrong."""

import asyncio
import contextlib
import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.gpu.command import CommandHealth, command_problems, faults_of, read_report
from ringlight.agents.gpu.file import CommandGpus
from ringlight.agents.gpu.program import run
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import UnavailableError

LONG = 30.0


def report(*faults, **rest):
    return json.dumps({"faults": list(faults), **rest}).encode()


def test_a_report_says_what_is_wrong_now():
    read = read_report(
        report(
            {"gpu": 3, "code": "xid:79", "class": "fatal", "text": "fallen\noff  the bus"},
            {"gpu": 3, "code": "ras:umc"},
            {"gpu": 3, "code": "ras:umc", "recovery": "gpu-reset"},
            {"code": "fabric-manager", "class": "info"},
            temperatures={"0": 41.5, "1": 40},
        )
    )
    assert read.temperatures == {0: 41.5, 1: 40.0}
    assert list(faults_of(read).values()) == [
        Fault("gpu3:xid:79", "gpu3", FaultClass.FATAL, "xid:79", "fallen off the bus"),
        Fault("gpu3:ras:umc", "gpu3", FaultClass.DEGRADED, "ras:umc"),
        Fault("gpu3:ras:umc#2", "gpu3", FaultClass.DEGRADED, "ras:umc", recovery="gpu-reset"),
        Fault("gpus:fabric-manager", "gpus", FaultClass.INFO, "fabric-manager"),
    ]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", "Invalid JSON"),
        (b"all is well", "Invalid JSON"),
        (b"[]", "Input should be an object"),
        (b"{}", "faults: Field required"),
        (report({"gpu": -1, "code": "x"}), "faults.0.gpu: Input should be greater"),
        (report({"gpu": "3", "code": "x"}), "faults.0.gpu: Input should be a valid integer"),
        (report({"gpu": 1, "code": "Has Space"}), "faults.0.code: String should match"),
        (report({"gpu": 1, "code": "x", "class": "bad"}), "faults.0.class: Input should be"),
        (report({"gpu": 1, "code": "x", "sort": "bad"}), "faults.0.sort: Extra inputs"),
        (report({"code": "health-feed-lost"}), "let the command fail instead"),
        (report(*[{"code": "x"}] * 1001), "faults: List should have at most 1000"),
        (report(temperatures={"0": float("nan")}), "temperatures.0: Input should be a finite"),
    ],
)
def test_what_is_no_report_is_told_in_words(output, said):
    with pytest.raises(ValueError) as told:  # noqa: PT011
        read_report(output)
    assert said in str(told.value)


KEYS = st.sampled_from(["faults", "gpu", "code", "class", "temperatures", "0"])
JSON = st.recursive(
    st.none() | st.integers() | st.text() | st.floats(), lambda x: st.dictionaries(KEYS, x) | st.lists(x)
)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_is_printed_is_a_report_or_a_value_error(output):
    with contextlib.suppress(ValueError):
        faults_of(read_report(output))


def script(text):
    return [sys.executable, "-S", "-c", text]


async def test_output_comes_back():
    assert await run(script("print('hello')"), LONG) == b"hello\n"


@pytest.mark.parametrize(
    ("text", "within", "said"),
    [
        ("import sys; sys.exit('no\\n  driver')", LONG, "failed with status 1: no driver"),
        ("import sys; sys.exit(3)", LONG, "failed with status 3$"),
        ("import time; time.sleep(600)", 0.5, r"took more than 0\.5 s"),
        ("while True: print('x' * 65536)", LONG, "printed more than 1048576 bytes"),
        ("import sys\nwhile True: print('x' * 65536, file=sys.stderr)", 0.5, "took more than"),
        ("import sys; print('x' * 300_000, file=sys.stderr); sys.exit(1)", LONG, "failed with status 1: x{200}$"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", LONG, "failed with status -15"),
    ],
)
async def test_a_run_that_goes_wrong_is_told(text, within, said):
    with pytest.raises(UnavailableError, match=said):
        await run(script(text), within)


async def test_a_command_that_is_not_there():
    with pytest.raises(UnavailableError, match="cannot run /no/such/thing: No such file"):
        await run(["/no/such/thing"], LONG)


async def test_what_a_killed_run_started_is_killed_with_it(tmp_path, eventually):
    note = tmp_path / "pid"
    text = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid) + ' ')\n"
        "child.wait()\n"
    )
    running = asyncio.create_task(run(script(text), LONG))
    await eventually(lambda: note.exists() and note.read_text().endswith(" "))
    running.cancel()  # as when the agent stops
    await asyncio.wait({running})
    assert running.cancelled()
    child = int(note.read_text())

    def is_gone():
        try:
            with open(f"/proc/{child}/stat") as stat:  # noqa: PTH123
                return stat.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    await eventually(is_gone)


async def test_a_child_that_keeps_the_pipe_open_does_not_keep_the_agent_waiting():
    text = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        "print('{}')\n"
    )
    with pytest.raises(UnavailableError, match="took more than"):
        await run(script(text), 0.5)


@pytest.fixture
def command(tmp_path):
    """A command that prints what the test writes; its file is removed to make it fail."""
    said = tmp_path / "said.json"
    said.write_bytes(report())
    file = CommandGpus.model_construct(
        run=["/bin/cat", str(said)],
        every=0.01,
        answer_within=LONG,
    )
    return said, CommandHealth(file)


def say(said, output):
    new = said.with_suffix(".new")
    new.write_bytes(output)
    os.replace(new, said)  # noqa: PTH105


async def test_what_a_run_names_is_open_and_what_the_next_does_not_is_over(command, follow):
    said, source = command
    say(said, report({"gpu": 0, "code": "x"}, temperatures={"0": 50}))
    await source.open()
    assert [fault.id for fault in await source.read()] == ["gpu0:x"]
    assert [(one.family, one.value) for one in source.measurements()] == [("ringlight_gpu_temperature_celsius", 50.0)]
    following = follow(source)
    say(said, report({"gpu": 1, "code": "y"}))
    events = await following.until(lambda events: events if len(events) == 2 else None)
    assert events == [FaultOpened(Fault("gpu1:y", "gpu1", FaultClass.DEGRADED, "y")), FaultClosed("gpu0:x")]
    say(said, report({"gpu": 1, "code": "y", "class": "fatal"}))
    await following.until(lambda events: len(events) == 3)
    assert events[2].fault.fault_class is FaultClass.FATAL
    following.task.cancel()
    await source.close()


async def test_a_run_that_says_nothing_closes_nothing(command, follow):
    said, source = command
    say(said, report({"gpu": 0, "code": "x"}))
    await source.open()
    following = follow(source)
    say(said, b"")
    with pytest.raises(UnavailableError, match="printed no report: Invalid JSON"):
        await following.task
    assert following.events == []
    assert [fault.id for fault in await source.read()] == ["gpu0:x"]
    said.unlink()
    with pytest.raises(UnavailableError, match="failed with status 1"):
        await source.open()
    await source.close()


def test_the_first_run_is_part_of_opening():
    nodes = {"n0": CommandGpus(run=["x"], answer_within=5.0), "n1": CommandGpus(run=["x"], answer_within=4.9)}
    (told,) = command_problems(nodes, 5.0)
    assert told.path == "nodes.n0.gpus.command.answer_within"
