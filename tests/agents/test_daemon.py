"""The agent process."""

import asyncio
from dataclasses import replace

import pytest

from ringlight.agents.configuration import MqttFile, emulated_agent
from ringlight.agents.daemon import run_agent as run_daemon
from ringlight.fabric.errors import InvalidError


async def test_it_says_that_it_is_ready_once(controller, hardware, tmp_path):
    lines = []
    controller.interval = 0.05
    daemon = asyncio.create_task(
        run_daemon(
            emulated_agent(
                agent_id="a1", nodes=["n0"], controller=controller.address, socket=tmp_path / "none", state=tmp_path
            ),
            lambda _: (hardware.driver, hardware.gpus),
            ready=lines.append,
        )
    )
    await controller.until(lambda: controller.heartbeats)
    assert lines == ["ready agent=a1"]
    await controller.stop()
    await controller.start()
    await controller.hello(2)
    seen = len(controller.heartbeats)
    await controller.until(lambda: len(controller.heartbeats) > seen)
    daemon.cancel()
    await asyncio.wait({daemon})
    assert daemon.cancelled()
    assert lines == ["ready agent=a1"]


async def test_damaged_state_ends_it_before_it_dials(controller, hardware, tmp_path):
    (tmp_path / "agent-a1.json").write_text("{")
    with pytest.raises(InvalidError, match="is damaged"):
        await run_daemon(
            emulated_agent(
                agent_id="a1", nodes=["n0"], controller=controller.address, socket=tmp_path / "none", state=tmp_path
            ),
            lambda _: (hardware.driver, hardware.gpus),
            ready=lambda _: None,
        )
    assert hardware.opened == 0
    assert controller.hellos == []


async def test_heartbeats_over_mqtt_need_to_know_the_fabric(controller, hardware, tmp_path):
    configuration = emulated_agent(
        agent_id="a1", nodes=["n0"], controller=controller.address, socket=tmp_path / "none", state=tmp_path
    )
    file = configuration.file.model_copy(update={"mqtt": MqttFile(broker="mqtt://127.0.0.1")})
    with pytest.raises(InvalidError, match="need the name of the fabric"):
        await run_daemon(
            replace(configuration, file=file), lambda _: (hardware.driver, hardware.gpus), ready=lambda _: None
        )
    assert controller.hellos == []
