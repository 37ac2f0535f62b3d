"""The agent's metrics page, while it serves model hardware."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ringlight.agents.agent import Agent, AgentIdentity
from ringlight.agents.configuration import emulated_agent
from ringlight.agents.daemon import run_agent
from ringlight.agents.fencing import Fence
from ringlight.agents.gpu import metrics as gpu_metrics
from ringlight.agents.link import dial_controller
from ringlight.agents.metrics import AgentMetrics
from ringlight.agents.ports import Measurement, MetricFamily
from ringlight.agents.session_end import SessionEnd, SessionLostError, end_of
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import ConflictError, UnavailableError
from ringlight.protos.bus.bus import BusTally

FAMILIES = (
    MetricFamily("ringlight_module_power_dbm", "gauge", "Light.", ("bundle", "lane")),
    MetricFamily("ringlight_module_retries_total", "counter", "Tries.", ()),
)


def read(text):
    """Every sample: by its name alone, or by name and label values in order of the labels' names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class Serving:
    """An agent that runs, and what its page shows."""

    def __init__(self, agent, until):
        self.agent = agent
        self.until = until
        self.metrics = AgentMetrics(agent, FAMILIES)

    async def shown(self):
        return read((await self.metrics.render()).decode())


@pytest.fixture
async def serve(controller, fences, fast, eventually):
    """Starts an agent of model hardware; it is stopped after the test."""
    tasks = []

    def start(hardware, **changes):
        for one in hardware.values():
            one.driver.measurements = lambda: (Measurement(FAMILIES[0].name, {"lane": "3", "bundle": "0"}, -2.5),)
            one.gpus.measurements = lambda: (Measurement(FAMILIES[1].name, {}, 7.0),)
        agent = Agent(
            AgentIdentity("a1", "boot-1"),
            {name: (one.driver, one.gpus) for name, one in hardware.items()},
            dial=dial_controller(controller.address),
            fences=fences,
            rng=Random(1),
            settings=replace(fast, **changes),
        )
        tasks.append(asyncio.create_task(agent.run()))
        return Serving(agent, eventually)

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_sessions_commands_and_heartbeats_are_counted(controller, serve, hardware, paths):
    serving = serve({"n0": hardware})
    assert serving.agent.why_not_ready() == "the hardware of n0 does not answer"
    await controller.command(paths.ring)
    await controller.applied("t1")
    await controller.until(lambda: controller.heartbeats)
    shown = await serving.shown()
    assert shown["ringlight_agent_dials_total",] == shown["ringlight_agent_sessions_total",] == 1
    assert shown["ringlight_agent_connected",] == shown["ringlight_agent_epoch",] == 1
    assert shown["ringlight_agent_heartbeats_total",] >= 1
    assert shown["ringlight_agent_messages_total",] == 1
    assert shown["ringlight_agent_outbox",] == 0
    assert shown["ringlight_agent_commands_total", "n0", "applied"] == 1
    assert shown["ringlight_agent_commands_total", "n0", "failed"] == 0
    assert shown["ringlight_agent_switch_seconds_count", "n0"] == 1
    assert shown["ringlight_agent_switch_seconds_bucket", "1.0", "n0"] == 1
    assert shown["ringlight_agent_hardware_open", "n0"] == shown["ringlight_agent_hardware_openings_total", "n0"] == 1
    assert not any(value for (name, *_), value in shown.items() if name == "ringlight_agent_session_ends_total")
    assert serving.agent.why_not_ready() == ""


async def test_what_backends_measure_is_shown_by_node(serve, make_hardware):
    shown = await serve({"n1": make_hardware(), "n0": make_hardware()}).shown()
    for node in ("n0", "n1"):
        assert shown["ringlight_module_power_dbm", "0", "3", node] == -2.5
        assert shown["ringlight_module_retries_total", node] == 7.0


async def test_every_name_is_ours_and_every_label_set_is_closed(controller, serve, hardware):
    serving = serve({"n0": hardware})
    await controller.hello()
    before = await serving.shown()
    hardware.open_fault(Fault("f", "gpu3", FaultClass.FATAL, "xid:79", "whatever it says"))
    await controller.until(lambda: controller.messages)
    hardware.go()
    await controller.until(lambda: controller.ends)
    after = await serving.shown()
    assert before.keys() == after.keys()
    assert all(name.startswith("ringlight_") for name, *_ in after)
    # What is known of a node goes with its hardware only once that is read anew.
    assert after["ringlight_agent_faults", "fatal", "n0"] == 1


async def test_lost_hardware_ends_the_session_and_is_counted(controller, serve, hardware):
    serving = serve({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    hardware.go()
    await controller.until(lambda: controller.ends)
    await serving.until(lambda: not serving.agent.connected)
    shown = await serving.shown()
    assert shown["ringlight_agent_hardware_losses_total", "n0"] == 1
    assert shown["ringlight_agent_hardware_open", "n0"] == 0
    assert shown["ringlight_agent_session_ends_total", "hardware"] == 1
    assert serving.agent.why_not_ready() == "the hardware of n0 does not answer"
    hardware.come_back()
    await controller.hello(2)
    await serving.until(lambda: serving.agent.connected)
    shown = await serving.shown()
    assert shown["ringlight_agent_hardware_openings_total", "n0"] == 2
    assert shown["ringlight_agent_sessions_total",] == 2


async def test_a_lost_feed_is_counted_once_and_no_obstacle(controller, serve, hardware):
    serving = serve({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    assert (await serving.shown())["ringlight_agent_health_feed_open", "n0"] == 1

    async def gone():
        raise UnavailableError("the GPUs' library hangs")

    hardware.gpus.open = gone
    hardware._gpu_news.put_nowait(None)
    await serving.until(lambda: not serving.agent.nodes[0].feed.is_open)
    await controller.until(lambda: controller.messages)
    shown = await serving.shown()
    assert shown["ringlight_agent_health_feed_losses_total", "n0"] == 1
    assert shown["ringlight_agent_health_feed_open", "n0"] == 0
    assert serving.agent.why_not_ready() == ""


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda controller, _: setattr(controller, "heard_every", None), "silent"),
        (lambda _, agent: setattr(agent._fences, "fence", Fence(9)), "outranked"),
        (lambda controller, _: setattr(controller, "interval", 0.0), "no-welcome"),
        (lambda controller, _: controller.refusals.append(ConflictError("twin")), "duplicate"),
        (lambda controller, _: controller.refusals.append(UnavailableError("busy")), "broken"),
    ],
)
async def test_why_a_session_ended_is_counted(controller, serve, hardware, spoil, reason):
    serving = serve({"n0": hardware})
    spoil(controller, serving.agent)
    await serving.until(lambda: serving.agent.tally.ends)
    assert (await serving.shown())["ringlight_agent_session_ends_total", reason] >= 1
    assert list(serving.agent.tally.ends) == [reason]


async def test_a_controller_that_ends_a_session_in_order_is_told_from_one_that_breaks(controller, serve, hardware):
    serving = serve({"n0": hardware})
    await controller.until(lambda: controller.heartbeats)
    await controller.stop()
    await serving.until(lambda: serving.agent.tally.ends)
    assert set(serving.agent.tally.ends) <= {SessionEnd.BROKEN, SessionEnd.CONTROLLER}
    assert serving.agent.why_not_ready() == "there is no session with the controller"


def test_an_error_without_a_reason_is_a_broken_stream():
    assert end_of(UnavailableError("x")) is SessionEnd.BROKEN
    assert end_of(SessionLostError(SessionEnd.OVERFLOW, "x")) is SessionEnd.OVERFLOW


async def test_the_page_is_served_beside_the_agent(controller, hardware, tmp_path):
    hardware.driver.measurements = hardware.gpus.measurements = lambda: ()
    configuration = emulated_agent(
        agent_id="a1", nodes=["n0"], controller=controller.address, socket=tmp_path / "none", state=tmp_path
    )
    configuration = replace(configuration, file=configuration.file.model_copy(update={"metrics": "127.0.0.1:0"}))
    lines = asyncio.Queue()
    parts = hardware.driver, hardware.gpus
    daemon = asyncio.create_task(run_agent(configuration, lambda _: parts, ready=lines.put_nowait))
    async with asyncio.timeout(30):
        line = await lines.get()
    address = line.removeprefix("ready agent=a1 metrics=")
    async with aiohttp.ClientSession() as client, client.get(f"http://{address}/metrics") as reply:
        assert read(await reply.text())["ringlight_agent_sessions_total",] == 1
    async with aiohttp.ClientSession() as client, client.get(f"http://{address}/readyz") as reply:
        assert (reply.status, await reply.text()) == (200, "ok\n")
    daemon.cancel()
    await asyncio.wait({daemon})


def documented():
    """Names in the table of docs/agent.md; ``_b_total`` after ``a_x_total`` is short for ``a_b_total``."""
    chapter = Path(__file__).parents[2] / "docs" / "agent.md"
    for line in chapter.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `ringlight_"):
            full, *more = re.findall(r"`(\w+)`", line.split("|")[1])
            yield full
            yield from ("_".join(full.split("_")[: -suffix.count("_")]) + suffix for suffix in more)


async def test_the_chapter_names_every_metric_and_no_other(serve, hardware):
    shown = {name for name, *_ in await serve({"n0": hardware}).shown() if name.startswith("ringlight_agent_")}
    histogram = {name for name in shown if name.startswith("ringlight_agent_switch_seconds")}
    gpus = {family.name for family in gpu_metrics.FAMILIES}
    assert sorted(documented()) == sorted((shown - histogram) | gpus | {"ringlight_agent_switch_seconds"})


async def test_what_its_connection_to_a_broker_counts_is_shown(fences, controller):
    dial = dial_controller(controller.address)
    agent = Agent(AgentIdentity("a1", "boot-1"), {}, dial=dial, fences=fences, rng=Random(1))
    bus = BusTally()
    metrics = AgentMetrics(agent, (), bus)
    bus.losses, bus.dropped_out = 2, 7  # counted since
    shown = read((await metrics.render()).decode())
    assert shown["ringlight_agent_bus_losses_total",] == 2
    assert shown["ringlight_agent_bus_drops_total",] == 7
