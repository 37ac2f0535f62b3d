"""The lab of compose.yaml without containers: the commands and health checks of the file, from an installed wheel.

What is replaced: mounted paths by folders of this machine, and addresses by free ones of it. That containers, images
and their isolation work, nothing here can tell.
"""

import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.deploy.compose import Host, services
from tests.deploy.processes import Process, free_addresses, run, started, with_path

pytestmark = pytest.mark.e2e

OURS = {name: service for name, service in services().items() if "build" in service.definition}
ANY, SAME = "0.0.0.0", "127.0.0.1"  # noqa: S104  # as it stands in the file; here all is on the loopback
AGENT_PAGE = 9404

# Fails unless the page and everything that it refers to is there.
PAGE = """
import re, sys
from urllib.parse import urljoin
from urllib.request import urlopen

html = urlopen(sys.argv[1], timeout=3).read().decode()
parts = re.findall(r'(?:src|href)="([^"#]+)"', html)
assert parts
for part in parts:
    urlopen(urljoin(sys.argv[1], part), timeout=3)
"""

# Fails until so many targets are up, and all rules were evaluated without an error.
SCRAPED = """
import json, sys
from urllib.request import urlopen

def ask(what):
    return json.load(urlopen(f"http://{sys.argv[1]}/api/v1/{what}", timeout=3))["data"]

(up,) = ask("query?query=sum(up)")["result"]
rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
assert up["value"][1] == sys.argv[2], up
assert rules and {rule["health"] for rule in rules} == {"ok"}, rules
"""


def needs(*programs: str) -> None:
    if missing := [program for program in programs if shutil.which(program) is None]:
        pytest.skip(f"no {', '.join(missing)} here: install Debian's packages mosquitto, mosquitto-clients, prometheus")


@dataclass
class Lab:
    """Everything of ours that the file starts, healthy."""

    daemons: list[Process]
    addresses: dict[str, str]
    environment: dict[str, str]

    async def ringlight(self, *arguments: str) -> str:
        code, output = await run(["ringlight", *arguments], self.environment)
        assert code == 0, output
        return output


@asynccontextmanager
async def lab(installation: Path, directory: Path) -> AsyncIterator[Lab]:
    grpc, http, emulator, nobody, *pages = free_addresses(6)
    agents = dict(zip(("agent-0", "agent-1"), pages, strict=True))
    shared = {f"{ANY}:7400": grpc, "controller:7400": grpc, f"{ANY}:7500": emulator}
    shared |= {f"{ANY}:7480": http, f"{SAME}:7480": http}
    shared |= {"mosquitto:1883": nobody}  # its own test starts it; without it the controller does everything else
    environment = with_path(installation / "bin") | {"RINGLIGHT_CONTROLLER": grpc, "RINGLIGHT_EMULATOR": emulator}
    order = TopologicalSorter(
        {name: sorted(OURS.keys() & each.definition.get("depends_on", {}).keys()) for name, each in OURS.items()}
    )
    async with AsyncExitStack() as exits:
        daemons = []
        for name in order.static_order():
            own = {f"{host}:{AGENT_PAGE}": agents[name] for host in (ANY, SAME) if name in agents}
            here = Host(directory, shared | own).localise(OURS[name])
            command = ["ringlight", *map(here, OURS[name].command)]
            daemons.append(await exits.enter_async_context(started(command, environment, directory)))
            await daemons[-1].healthy([here(argument) for argument in OURS[name].health_check], environment)
        named = {"controller:7480": http} | {f"{name}:{AGENT_PAGE}": page for name, page in agents.items()}
        yield Lab(daemons, named, environment)


async def test_it_comes_up_serves_a_job_and_stops_in_order(installation, tmp_path):
    async with lab(installation, tmp_path) as running:
        await running.ringlight("jobs", "submit", "train", "--rings=2", "--tp=16", "--wait=20")
        await running.ringlight("nodes", "--abnormal")
        page = [sys.executable, "-c", PAGE, f"http://{running.addresses['controller:7480']}/"]
        assert await run(page, running.environment) == (0, "")
        for daemon in reversed(running.daemons):
            assert await daemon.terminate() == 0, daemon.output


async def test_its_prometheus_reaches_the_controller_and_every_agent_and_has_our_rules(installation, tmp_path):
    needs("prometheus", "promtool")
    service = services()["prometheus"]
    async with lab(installation, tmp_path) as running:
        (address,) = free_addresses(1)
        here = Host(tmp_path, running.addresses | {f"{SAME}:9090": address}).localise(service)
        command = ["prometheus", *map(here, service.command), f"--web.listen-address={address}"]
        async with started(command, with_path(), tmp_path) as prometheus:
            await prometheus.healthy(await ready_check(service.health_check, address), with_path())
            scraped = [sys.executable, "-c", SCRAPED, address, "3"]
            await prometheus.healthy(scraped, with_path())
            assert await prometheus.terminate() == 0, prometheus.output


async def ready_check(check: Sequence[str], address: str) -> list[str]:
    """The health check of the file; Debian's promtool is older than the image's, and does not know it."""
    code, _ = await run(["promtool", "check", "ready", "--help"], with_path())
    if code == 0:
        return [argument.replace(f"{SAME}:9090", address) for argument in check]
    return [sys.executable, "-c", f"from urllib.request import urlopen; urlopen('http://{address}/-/ready')"]


async def test_its_broker_starts_with_our_configuration_and_answers_its_health_check(tmp_path):
    needs("mosquitto", "mosquitto_sub")
    service = services()["mosquitto"]
    port = free_addresses(1)[0].rpartition(":")[2]
    here = Host(tmp_path, {"listener 1883": f"listener {port} {SAME}"}).localise(service)
    async with started([here(argument) for argument in service.command], with_path(), tmp_path) as broker:
        await broker.healthy([*service.health_check, "-p", port], with_path())
        assert await broker.terminate() == 0, broker.output
        assert "Error" not in broker.output
