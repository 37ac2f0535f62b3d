"""The rules of access that docs/mqtt.md shows, in a real broker: who may say and hear what."""

import asyncio
import re
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import aiomqtt
import pytest

from tests.e2e.mosquitto import Mosquitto, needs_mosquitto

pytestmark = [pytest.mark.e2e, needs_mosquitto]

PATIENCE = 30.0  # seconds no healthy test ever waits for
JOB, EVENTS = "ringlight/lab/jobs/train", "ringlight/lab/events"
OWN, OTHER = "ringlight/lab/agents/a0/heartbeat", "ringlight/lab/agents/a1/heartbeat"


def rules():
    page = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```\n(user ringlight\n.*?)```", page, re.DOTALL)
    return block


def make_passwords(file, *users):
    """Everybody's password is his name."""
    file.touch(mode=0o600)
    for user in users:
        subprocess.run(["mosquitto_passwd", "-b", file, user, user], check=True, timeout=30)


@pytest.fixture
async def broker(tmp_path):
    passwords, access = tmp_path / "passwords", tmp_path / "access"
    make_passwords(passwords, "ringlight", "scheduler", "a0")
    access.write_text(rules(), encoding="utf-8")
    for file, mode in ((passwords, 0o644), (access, 0o600)):
        file.chmod(mode)
    lines = "allow_anonymous false", f"password_file {passwords}", f"acl_file {access}"
    broker = Mosquitto(tmp_path / "broker", *lines)
    await broker.start()
    yield broker
    await broker.stop()


async def test_everybody_may_do_what_he_needs_and_no_more(broker):
    """Each says a word on every topic; the controller, which hears all, says the last one."""
    async with AsyncExitStack() as stack:

        async def enter(user):
            client = aiomqtt.Client(broker.host, broker.port, username=user, password=user, identifier=user, timeout=5)
            return await stack.enter_async_context(client)

        controller, scheduler, agent = [await enter(user) for user in ("ringlight", "scheduler", "a0")]
        for listener in (controller, scheduler, agent):
            for topic in (JOB, EVENTS, "ringlight/lab/agents/+/heartbeat"):
                await listener.subscribe(topic, qos=1)
        for name, client in (("scheduler", scheduler), ("a0", agent), ("ringlight", controller)):
            for topic in (OWN, OTHER, JOB, EVENTS):
                await client.publish(topic, name, qos=1)

        assert await heard(controller) == {(OWN, "a0")} | {(t, "ringlight") for t in (OWN, OTHER, JOB, EVENTS)}
        assert await heard(scheduler) == {(JOB, "ringlight"), (EVENTS, "ringlight")}


async def heard(client):
    """What came until the controller's last word."""
    found = set()
    async with asyncio.timeout(PATIENCE):
        async for message in client.messages:
            found.add((str(message.topic), message.payload.decode()))
            if (EVENTS, "ringlight") in found:
                return found
    raise AssertionError("the broker ended it")
