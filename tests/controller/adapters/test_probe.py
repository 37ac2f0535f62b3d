"""The site's own witness: real programs, good and bad."""

import asyncio
import os
import stat
import time
from pathlib import Path

import pytest

from ringlight.controller.adapters import probe as module
from ringlight.controller.adapters.probe import ProbeHook
from ringlight.controller.engine.events import ProbeAnswered
from ringlight.controller.health.settings import ProbeSettings

PATIENCE = 30.0


@pytest.fixture
def program(tmp_path):
    """Makes a shell script."""

    def make(body):
        path = tmp_path / "probe"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.fixture
async def asked():
    """Asks about nodes and gives the answers by node."""
    running = []

    async def ask(command, *nodes, limit=PATIENCE):
        answers, done = {}, asyncio.Event()

        def take(answer):
            answers[answer.node] = answer
            if len(answers) == len(set(nodes)):
                done.set()

        hook = ProbeHook(ProbeSettings(command=tuple(command), timeout=limit), take)
        running.append(asyncio.create_task(hook.run_forever()))
        for node in nodes:
            hook.ask(node)
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        return answers

    yield ask
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


@pytest.mark.parametrize(("status", "up"), [(0, True), (1, False), (2, None), (127, None)])
async def test_the_exit_status_is_the_answer(asked, program, status, up):
    answers = await asked([program(f"exit {status}")], "n1")
    assert answers["n1"].up is up
    assert bool(answers["n1"].text) is (up is None)


async def test_the_node_is_named_where_the_command_says_so(asked, program, tmp_path):
    await asked([program(f'echo "$1" > {tmp_path}/asked'), "bmc-{node}.lab"], "n7")
    assert (tmp_path / "asked").read_text() == "bmc-n7.lab\n"


async def test_one_that_hangs_does_not_know_and_is_ended_with_what_it_started(asked, program, tmp_path):
    body = f"sleep 1000 & echo $! > {tmp_path}/child; wait"
    answers = await asked([program(body)], "n1", limit=0.5)
    assert answers["n1"].up is None
    assert "did not end within 0.5 s" in answers["n1"].text
    child = int((tmp_path / "child").read_text())
    await asyncio.to_thread(wait_for_end, child)


def wait_for_end(process):
    """Wait until a process that is not our child has ended, or is only waiting to be buried."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {process} is still running")


async def test_one_that_is_not_there_does_not_know(asked):
    answers = await asked(["/no/such/program"], "n1")
    assert answers["n1"] == ProbeAnswered("n1", None, "cannot run /no/such/program: No such file or directory")


async def test_a_node_waits_once_and_only_a_few_are_asked_at_once(asked, program, tmp_path):
    body = f"mkdir -p {tmp_path}/running; touch {tmp_path}/running/$$; ls {tmp_path}/running | wc -l >> {tmp_path}/most"
    nodes = [f"n{number}" for number in range(30)]
    answers = await asked([program(f"{body}; sleep 0.02; rm {tmp_path}/running/$$")], *nodes, *nodes)
    assert len(answers) == len(nodes)
    at_once = [int(line) for line in (tmp_path / "most").read_text().split()]
    assert len(at_once) == len(nodes)
    assert max(at_once) <= 8
    assert list((tmp_path / "running").iterdir()) == []


async def test_one_that_may_not_be_ended_keeps_nobody_waiting(asked, program, monkeypatch, caplog):
    """As when it runs by sudo: the system says no, and the controller goes on."""
    start, started = asyncio.create_subprocess_exec, []

    async def remember(*command, **how):
        started.append(await start(*command, **how))
        return started[-1]

    def refuse(_group, _signal):
        raise PermissionError

    monkeypatch.setattr(asyncio, "create_subprocess_exec", remember)
    monkeypatch.setattr(os, "killpg", refuse)
    monkeypatch.setattr(module, "_LAST_WAIT", 0.05)
    answers = await asked([program("exec sleep 1000")], "n1", limit=0.1)
    assert answers["n1"].up is None
    assert started[0].returncode is None
    started[0].kill()
    await started[0].wait()
    assert "did not end within 0.1 s" in answers["n1"].text
    assert "another user" in caplog.text


async def test_a_stop_leaves_no_program_behind(program, tmp_path):
    """Neither one that runs, nor what that started; and who waits is not asked any more."""
    body = f"sleep 1000 & echo $! $$ > {tmp_path}/$1; mv {tmp_path}/$1 {tmp_path}/$1.started; wait"
    answers = []
    hook = ProbeHook(ProbeSettings(command=(program(body), "{node}"), timeout=PATIENCE), answers.append)
    running = asyncio.create_task(hook.run_forever())
    for number in range(20):
        hook.ask(f"n{number}")
    async with asyncio.timeout(PATIENCE):
        while len(started := list(tmp_path.glob("*.started"))) < 8:  # noqa: ASYNC110 - only the file system tells
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for file in started:
        for process in file.read_text().split():
            await asyncio.to_thread(wait_for_end, int(process))
    assert len(list(tmp_path.glob("*.started"))) == 8
    assert answers == []
