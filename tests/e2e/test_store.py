"""A store that is full, or taken away, under a running controller: circuits stay, rings heal, and it is got over."""

import asyncio
import shutil
import subprocess

import aiohttp
import pytest

from ringlight.emulator.stack import Daemon, StackError
from ringlight.protos.v1 import emulator_pb2 as pb

pytestmark = pytest.mark.e2e

PATIENCE = 30.0


async def ready(running) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(f"http://{running.stack.http}/readyz") as answer:
        return answer.status, await answer.text()


async def until_ready(running, status):
    """Wait until /readyz says so: the controller tries to write once a second."""
    async with asyncio.timeout(PATIENCE):
        while (answer := await ready(running))[0] != status:  # noqa: ASYNC110 - HTTP can only be asked
            await asyncio.sleep(0.1)
    return answer[1]


async def heal_one(running, index):
    """A GPU dies, and its ring is led around it."""
    ring = await running.ring(index)
    mark = running.observer.last_sequence
    await running.fail(pb.FAULT_KIND_GPU_LOST, ring.nodes[1], gpu=0)
    await running.event("ring-active", ring.name, after=mark)
    assert ring.nodes[1] not in (await running.ring(index)).nodes
    return ring.name


async def chains_after_restart(running):
    mark = running.observer.last_sequence
    await running.stack.controller_daemon.kill()
    await running.stack.restart_controller()
    await running.event("gate-open", "silence", after=mark)
    await running.assert_light_becomes_plan(3)  # an agent may take longer to dial in than the grace period
    return {ring.name: list(ring.nodes) for ring in await running.observer.rings()}


async def test_a_store_that_is_taken_away_is_written_anew_from_memory(lab):
    async with lab() as running:
        state = running.stack.directory / "state"
        for file in state.iterdir():
            file.unlink()
        await heal_one(running, 0)
        told = await running.observer.until(lambda event: event.kind == "store-begun-anew")
        assert "removed or replaced" in told.text
        await until_ready(running, 200)
        chains = {ring.name: list(ring.nodes) for ring in await running.observer.rings()}
        assert await chains_after_restart(running) == chains


async def test_a_store_that_is_lost_while_the_controller_is_away_loses_no_light(lab):
    async with lab() as running:
        chains = sorted(list(ring.nodes) for ring in await running.observer.rings())
        await running.stack.controller_daemon.kill()
        shutil.rmtree(running.stack.directory / "state")
        running.observer.events.clear()
        await running.stack.restart_controller()
        await running.event("gate-open", "silence")
        await running.assert_light_becomes_plan(3)  # an agent may take longer to dial in than the grace period
        assert sorted(list(ring.nodes) for ring in await running.observer.rings()) == chains


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few megabytes, where the lab keeps its state."""
    place = tmp_path / "small" / "state"
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "ringlight-test", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=False)


async def test_a_full_disk_stops_no_healing_and_is_got_over(lab, small_disk):
    async with lab(name="small") as running:
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        healed = set()
        for index in range(3):
            healed.add(await heal_one(running, index))
        reason = await until_ready(running, 503)
        assert "the store cannot be written" in reason
        fabric = await running.observer.settled()
        assert "full" in fabric.store
        await running.assert_light_is_plan(3)
        ballast.unlink()
        await until_ready(running, 200)
        chains = {ring.name: list(ring.nodes) for ring in await running.observer.rings()}
        assert await chains_after_restart(running) == chains
        assert len(healed) == 3


async def test_a_damaged_store_is_refused_at_the_start_and_once_moved_away_loses_no_light(lab):
    async with lab() as running:
        chains = sorted(list(ring.nodes) for ring in await running.observer.rings())
        await running.stack.controller_daemon.stop()
        store = running.stack.directory / "state" / "controller.sqlite"
        with store.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 4096)
        damaged = store.read_bytes()
        log = running.stack.directory / "refused.log"
        with pytest.raises(StackError) as refusal:
            await Daemon("controller", running.stack.controller_arguments(), log).start()
        message = str(refusal.value)
        for words in ("error:", str(store), "hint:", "move it away", "keep their light"):
            assert words in message
        assert "Traceback" not in message
        assert store.read_bytes() == damaged
        store.rename(store.with_name("for-later"))
        running.observer.events.clear()
        await running.stack.restart_controller()
        # Agents dial again after pauses of up to five seconds, and a ring is adopted when all of its nodes are back.
        for name in ("adopted-16/0", "adopted-16/1", "adopted-16/2"):
            await running.event("ring-adopted", name)
        await running.assert_light_is_plan(3)
        assert sorted(list(ring.nodes) for ring in await running.observer.rings()) == chains
