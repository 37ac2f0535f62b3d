"""The lab of compose.yaml without containers: every command and every health check of the file, from an installed wheel.

What is replaced: mounted paths by folders of this machine, and addresses by free ones of it. That containers, images and
their isolation work, nothing here can tell.
"""

import shutil
import sys
from contextlib import AsyncExitStack
from graphlib import TopologicalSorter

import pytest

from tests.deploy.compose import DEPLOY, Host, services
from tests.deploy.processes import free_addresses, run, started, with_path

pytestmark = pytest.mark.e2e

OURS = {name: service for name, service in services().items() if "build" in service.definition}
START_ORDER = TopologicalSorter(
    {name: sorted(service.definition.get("depends_on", {})) for name, service in OURS.items()}
)


async def test_the_lab_comes_up_serves_a_job_and_stops_in_order(installation, tmp_path):
    environment = with_path(installation / "bin")
    grpc, http, emulator, first, second = free_addresses(5)
    told = {"0.0.0.0:7400": grpc, "controller:7400": grpc, "0.0.0.0:7500": emulator}
    told |= {"0.0.0.0:7480": http, "127.0.0.1:7480": http}
    pages = {"agent-0": first, "agent-1": second}
    environment |= {"RINGLIGHT_CONTROLLER": grpc, "RINGLIGHT_EMULATOR": emulator}
    async with AsyncExitStack() as exits:
        running = []
        for name in START_ORDER.static_order():
            service = OURS[name]
            page = {f"{host}:9404": pages.get(name, "") for host in ("0.0.0.0", "127.0.0.1")}
            here = Host(tmp_path, told | page).localise(service)
            command = ["ringlight", *map(here, service.command)]
            daemon = await exits.enter_async_context(started(command, environment, tmp_path))
            await daemon.healthy([here(argument) for argument in service.health_check], environment)
            running.append(daemon)
        code, told_by = await run(
            ["ringlight", "jobs", "submit", "train", "--rings=2", "--tp=16", "--wait=20"], environment
        )
        assert code == 0, told_by
        code, told_by = await run(["ringlight", "nodes", "--abnormal"], environment)
        assert code == 0, told_by
        for daemon in reversed(running):
            assert await daemon.terminate() == 0, daemon.output


@pytest.mark.parametrize("name", ["mosquitto", "prometheus"])
async def test_a_companion_starts_with_our_configuration_and_answers_its_health_check(name, tmp_path):
    service = services()[name]
    commands = {"mosquitto": ["mosquitto", "mosquitto_sub"], "prometheus": ["prometheus", "promtool"]}[name]
    if missing := [command for command in commands if shutil.which(command) is None]:
        pytest.skip(f"no {', '.join(missing)} here: install Debian's packages of {name}")
    if not all((DEPLOY / mount.source).is_dir() for mount in service.mounts if not mount.volume):
        pytest.skip(f"the files that {name} needs are not there")
    (address,) = free_addresses(1)
    port = address.rpartition(":")[2]
    here = Host(tmp_path, {"127.0.0.1:9090": address, "listener 1883": f"listener {port} 127.0.0.1"}).localise(service)
    command, check = [here(argument) for argument in service.command], [here(each) for each in service.health_check]
    if name == "prometheus":
        command = ["prometheus", *command, f"--web.listen-address={address}"]
        if (await run(["promtool", "check", "ready", "--help"], with_path()))[0] != 0:  # older than the image's
            check = [sys.executable, "-c", f"from urllib.request import urlopen; urlopen('http://{address}/-/ready')"]
    else:
        check += ["-p", port]
    environment = with_path()
    async with started(command, environment, tmp_path) as broker:
        await broker.healthy(check, environment)
        assert await broker.terminate() == 0, broker.output
