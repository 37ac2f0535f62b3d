"""A real broker between real daemons: heartbeats over it, events and jobs out, and what its outage does: nothing."""

import asyncio
import contextlib
import json
import shlex
from contextlib import asynccontextmanager
from pathlib import Path

import aiomqtt
import pytest

from ringlight.protos.v1 import emulator_pb2 as pb
from ringlight.protos.v1 import fabric_pb2
from tests.e2e.mosquitto import Mosquitto, needs_mosquitto
from tests.e2e.site import run_site

pytestmark = [pytest.mark.e2e, needs_mosquitto]

PATIENCE = 60.0  # seconds no healthy test ever waits for


class Listener:
    """Somebody who subscribes to everything of the fabric."""

    def __init__(self, client):
        self._client = client
        self.jobs = {}
        self.events = []
        self.beats = 0
        self.controller = None

    async def until(self, condition):
        """Listen until a condition holds; what it gives."""
        async with asyncio.timeout(PATIENCE):
            if found := condition():
                return found
            async for message in self._client.messages:
                self._take(str(message.topic), message.payload)
                if found := condition():
                    return found
        raise AssertionError("the broker ended it")

    def running_job(self):
        """The job, once all its rings carry light."""
        job = self.jobs.get("train")
        return job if job and job["state"] == "RUNNING" else None

    def _take(self, topic, payload):
        match topic.split("/")[2:]:
            case ["jobs", job]:
                self.jobs[job] = json.loads(payload) if payload else None
            case ["events"]:
                self.events.append(json.loads(payload))
            case ["agents", _, "heartbeat"]:
                self.beats += 1
            case ["controller"]:
                self.controller = payload.decode()


@asynccontextmanager
async def listening(broker):
    async with aiomqtt.Client(broker.host, broker.port, identifier="listener", timeout=5) as client:
        await client.subscribe("ringlight/lab/#", qos=1)
        yield Listener(client)


@pytest.fixture
async def broker(tmp_path):
    broker = Mosquitto(tmp_path / "broker")
    await broker.start()
    yield broker
    await broker.stop()


def run_over(broker, tmp_path):
    return run_site(tmp_path / "site", tp=16, mqtt=f"mqtt://{broker.address}")


async def ring_of(site):
    (ring,) = await site.observer.rings()
    return ring


async def verdicts(site, after):
    reply = await site.observer.fabric.ListEvents(fabric_pb2.ListEventsRequest(after=after))
    return [(event.kind, event.subject, event.text) for event in reply.events if event.kind == "verdict"]


async def test_events_and_jobs_are_told_and_heartbeats_heard(tmp_path, broker):
    async with run_over(broker, tmp_path) as site, listening(broker) as listener:
        job = await listener.until(listener.running_job)
        ring = await ring_of(site)
        assert (job["tp"], job["rings_active"]) == (16, 1)
        assert [(r["name"], r["nodes"], len(r["gpus"])) for r in job["rings"]] == [("train/0", list(ring.nodes), 16)]
        assert await listener.until(lambda: listener.controller) == "online"
        seen = listener.beats
        await listener.until(lambda: listener.beats >= seen + 6)

        lost = pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=ring.nodes[1], gpu=0)
        await site.observer.emulator.Inject(lost)
        changed = await listener.until(
            lambda: (now := listener.jobs["train"]) and now["generation"] > job["generation"] and now["rings_active"]
        )
        assert changed
        assert ring.nodes[1] not in listener.jobs["train"]["rings"][0]["nodes"]
        healed = await listener.until(lambda: [event for event in listener.events if event["data"].get("heal_seconds")])
        told = [(event["fabric"], event["kind"], event["subject"], event["data"]["reason"]) for event in healed]
        assert told == [("lab", "ring-active", "train/0", "node-failed")]

        await site.observer.fabric.ReleaseJob(fabric_pb2.ReleaseJobRequest(name="train"))
        await listener.until(lambda: "train" in listener.jobs and listener.jobs["train"] is None)
        await site.controller.stop()
        await listener.until(lambda: listener.controller == "offline")


async def test_an_outage_of_the_broker_changes_no_verdict_and_moves_nothing(tmp_path, broker):
    """Half a minute, many times what silence would need; agents go on over their streams."""
    async with run_over(broker, tmp_path) as site:
        ring, mark = await ring_of(site), site.observer.last_sequence
        async with listening(broker) as listener:
            await listener.until(lambda: listener.beats >= 4)
        await broker.stop()
        await site.observer.until(lambda event: event.kind == "gate-shut", after=mark)
        await asyncio.sleep(30.0)  # the outage is the test's own parameter
        assert await verdicts(site, mark) == []
        await broker.start()
        await site.observer.until(lambda event: event.kind == "gate-open", after=mark)
        async with listening(broker) as listener:  # the broker forgot everything, and is told anew
            job = await listener.until(listener.running_job)
            assert job["rings"][0]["nodes"] == list(ring.nodes)
            seen = listener.beats
            await listener.until(lambda: listener.beats >= seen + 4)
        assert await verdicts(site, mark) == []
        assert await ring_of(site) == ring


async def test_a_restarted_controller_clears_what_is_over_and_leaves_what_a_later_term_said(tmp_path, broker):
    async with run_over(broker, tmp_path) as site:
        async with aiomqtt.Client(broker.host, broker.port, timeout=5) as stranger:
            for job, epoch in (("over", 1), ("later", 99), ("nonsense", "x")):
                payload = json.dumps({"job": job, "epoch": epoch})
                await stranger.publish(f"ringlight/lab/jobs/{job}", payload, qos=1, retain=True)
            old = json.dumps({"job": "train", "epoch": 0, "generation": 1, "rings": []})
            await stranger.publish("ringlight/lab/jobs/train", old, qos=1, retain=True)
        await site.controller.kill()
        await site.controller.start()
        async with listening(broker) as listener:
            await listener.until(lambda: listener.jobs.get("train", {}).get("epoch", 0) > 1)
            await listener.until(lambda: "over" not in listener.jobs or listener.jobs["over"] is None)
            await listener.until(lambda: "nonsense" not in listener.jobs or listener.jobs["nonsense"] is None)
        async with listening(broker) as listener:
            await listener.until(lambda: "later" in listener.jobs and "train" in listener.jobs)
            assert "over" not in listener.jobs
            assert "nonsense" not in listener.jobs


async def test_a_heartbeat_that_a_broker_kept_is_no_sign_of_life(tmp_path, broker):
    """Somebody publishes an agent's last heartbeat with the retain flag, again and again, after it died."""
    async with run_over(broker, tmp_path) as site:
        caught = asyncio.get_running_loop().create_future()

        async def catch():
            async with aiomqtt.Client(broker.host, broker.port, timeout=5) as client:
                await client.subscribe("ringlight/lab/agents/a1/heartbeat")
                async for message in client.messages:
                    caught.set_result(message.payload)
                    return

        await asyncio.gather(catch(), asyncio.sleep(0))
        mark = site.observer.last_sequence
        await site.agents[1].kill()
        await site.observer.until(lambda event: event.kind == "agent-lost", after=mark)

        async def replay():
            async with aiomqtt.Client(broker.host, broker.port, timeout=5) as client:
                while True:
                    await client.publish("ringlight/lab/agents/a1/heartbeat", caught.result(), retain=True)
                    await asyncio.sleep(0.05)

        replaying = asyncio.create_task(replay())
        silent = ("SUSPECT", "UNREACHABLE", "UNKNOWN")
        await site.observer.until(
            lambda event: event.kind == "verdict" and event.subject == "n7" and event.data["verdict"] in silent,
            after=mark,
        )
        replaying.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await replaying


async def test_mosquitto_sub_shows_what_the_documentation_says(tmp_path, broker):
    """Every example of the page, word for word but for where the broker is, and ended by its first message."""
    page = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text(encoding="utf-8")
    commands = [shlex.split(line, comments=True) for line in page.splitlines() if line.startswith("mosquitto_sub ")]
    assert len(commands) >= 3
    async with run_over(broker, tmp_path) as site, asyncio.TaskGroup() as tasks:
        shown = [tasks.create_task(first_line(command, broker)) for command in commands]
        lost = pb.InjectRequest(kind=pb.FAULT_KIND_GPU_LOST, node=(await ring_of(site)).nodes[1], gpu=0)
        while not all(task.done() for task in shown):  # events are told once: one comes for whoever listens by now
            await site.observer.emulator.Inject(lost)
            await site.observer.emulator.Repair(pb.RepairRequest(all=True))
            await asyncio.wait(shown, timeout=1.0)
    for task in shown:
        document = json.loads(task.result()[task.result().index("{") :])
        assert document["fabric"] == "lab"
        assert document.get("job") == "train" or document["kind"]


async def first_line(command, broker):
    assert command[:3] == ["mosquitto_sub", "-h", "broker.lab"]
    there = ["mosquitto_sub", "-h", broker.host, "-p", str(broker.port), *command[3:], "-C", "1", "-W", "30"]
    process = await asyncio.create_subprocess_exec(*there, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0, there
    return out.decode()
