"""systemd takes the units as they are, and they keep the daemons away from all that they do not need."""

import json
import shutil
import subprocess

import pytest

from ringlight.cli.daemons import STOP_LIMIT
from tests.deploy.units import UNITS, read_unit

SERVICES = ["ringlight-controller", "ringlight-agent"]
EXPOSURE_LIMIT = 2.0  # of 10, by `systemd-analyze security`; the average service of a distribution has more than 9

pytestmark = pytest.mark.parametrize("name", SERVICES)


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze here: install Debian's package systemd")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def installed(name, tmp_path):
    """The unit, with a command that exists."""
    command = tmp_path / "ringlight"
    command.write_text("#!/bin/true\n")
    command.chmod(0o755)
    path = tmp_path / f"{name}.service"
    text = (UNITS / path.name).read_text(encoding="utf-8")
    path.write_text(text.replace("/opt/ringlight/bin/ringlight", str(command)), encoding="utf-8")
    return path


def test_systemd_finds_nothing_to_say(installed):
    found = analyze("verify", "--man=no", str(installed))
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_systemd_would_say_it_if_a_directive_were_misspelt(installed):
    text = installed.read_text(encoding="utf-8").replace("ProtectHome=", "ProtectHouse=")
    installed.write_text(text, encoding="utf-8")
    assert "ProtectHouse" in analyze("verify", "--man=no", str(installed)).stderr


def test_it_is_exposed_to_little(installed):
    found = analyze("security", "--offline=yes", "--no-pager", "--json=short", str(installed))
    worst = [row["name"] for row in json.loads(found.stdout) if float(row["exposure"] or 0) > 0.3 and not row["set"]]
    assert worst in ([], ["PrivateNetwork="]), "only the network is open"
    total = analyze("security", "--offline=yes", "--no-pager", f"--threshold={EXPOSURE_LIMIT * 10:.0f}", str(installed))
    assert total.returncode == 0, total.stdout


def test_a_stop_may_take_what_the_daemon_takes(name):
    limit = read_unit(UNITS / f"{name}.service").value("TimeoutStopSec")
    assert STOP_LIMIT < float(limit.removesuffix("s")) <= 2 * STOP_LIMIT


def test_a_service_that_never_starts_is_given_up_and_one_that_crashes_at_times_is_not(name):
    unit = read_unit(UNITS / f"{name}.service")
    assert unit.value("Restart") == "on-failure"
    interval = float(unit.value("StartLimitIntervalSec", "Unit").removesuffix("min")) * 60
    burst = int(unit.value("StartLimitBurst", "Unit"))
    pause = float(unit.value("RestartSec").removesuffix("s"))
    assert burst * (pause + 2) < interval / 2, "a start and its failure take two seconds at most"
    assert interval / burst < 60, "a crash a minute is lived with"


def test_only_agents_see_devices(name):
    unit = read_unit(UNITS / f"{name}.service")
    assert unit.value("DevicePolicy") == "closed"
    expected = ["char-i2c rw", "char-nvidia* rw"] if name == "ringlight-agent" else []
    assert unit.values("DeviceAllow") == expected
    assert unit.value("PrivateDevices") == ("no" if expected else "yes")


def test_both_have_their_own_state_below_one_directory(name):
    unit = read_unit(UNITS / f"{name}.service")
    assert unit.value("StateDirectory") == name.replace("-", "/")
    assert (unit.value("User"), unit.value("Group")) == ("ringlight", "ringlight")


def test_its_user_and_directory_are_made(name, tmp_path):
    for program, file in (("systemd-sysusers", "sysusers"), ("systemd-tmpfiles", "tmpfiles")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: install Debian's package systemd")
        create = ["--create"] if file == "tmpfiles" else []
        command = [program, f"--root={tmp_path}", *create, str(UNITS / f"ringlight.{file}.conf")]
        (tmp_path / "etc").mkdir(exist_ok=True)
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    users = (tmp_path / "etc/passwd").read_text(encoding="utf-8")
    assert f"{read_unit(UNITS / f'{name}.service').value('User')}:x:" in users
    assert (tmp_path / "etc/ringlight").stat().st_mode & 0o777 == 0o750
