"""Example files are what a person starts from: the commands that their comments name find nothing wrong with them."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ringlight.cli.main import ringlight
from tests.deploy.containerfile import ROOT
from tests.deploy.units import UNITS, read_unit

EXAMPLES = ROOT / "deploy" / "examples"
FABRICS = sorted([*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*/fabric.yaml"), ROOT / "deploy/lab/fabric.yaml"])
SETTINGS = sorted((ROOT / "deploy").rglob("controller.yaml"))
AGENTS = sorted((ROOT / "deploy").rglob("agent*.yaml"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT / "deploy"))


def fine(*arguments: str) -> str:
    done = CliRunner().invoke(ringlight, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("path", FABRICS, ids=name_of)
def test_fabrics(path):
    assert fine("fabric", "check", str(path)).rstrip().endswith("fine")


@pytest.mark.parametrize("path", SETTINGS, ids=name_of)
def test_settings_change_something(path):
    assert not fine("config", "check", str(path)).rstrip().endswith("nothing")


@pytest.mark.parametrize("path", AGENTS, ids=name_of)
def test_agents_together_with_the_fabric_beside_them(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    assert "fabric: /etc/ringlight/fabric.yaml" in text
    here = tmp_path / path.name
    here.write_text(text.replace("/etc/ringlight/fabric.yaml", str(path.parent / "fabric.yaml")), encoding="utf-8")
    fine("config", "check", "--agent", str(here))


@pytest.mark.parametrize("path", [path for path in AGENTS if path.parent.parent == EXAMPLES], ids=name_of)
def test_agents_of_a_rack_keep_their_state_where_the_unit_lets_them(path):
    unit = read_unit(UNITS / "ringlight-agent.service")
    assert f"state: /var/lib/{unit.value('StateDirectory')} " in path.read_text(encoding="utf-8")


def test_what_the_environment_file_sets_is_what_the_unit_takes():
    lines = (EXAMPLES / "rack-16/controller.env").read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in lines if re.match(r"\w+=", line)]
    assert names == list(read_unit(UNITS / "ringlight-controller.service").environment())
