"""docs/polatis.md: its example is a real file, and its tables name what there is."""

import re
from pathlib import Path

import pytest
import yaml

from ringlight.agents.drivers.polatis import metrics, readings
from ringlight.agents.drivers.polatis.backend import polatis_drivers, polatis_problems
from ringlight.agents.drivers.polatis.file import PolatisNode, PolatisSwitch

PAGE = (Path(__file__).parents[4] / "docs" / "polatis.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def example():
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return yaml.safe_load(block)


def test_the_example_is_sound_and_every_path_of_every_node_is_a_cross_connect(example, wiring, patch):
    switches = {name: PolatisSwitch.model_validate(file) for name, file in example["switches"].items()}
    nodes = {name: PolatisNode.model_validate(file["circuits"]["polatis"]) for name, file in example["nodes"].items()}
    assert polatis_problems(switches, nodes, wiring) == []
    driver = polatis_drivers(switches, nodes, wiring, None)("n7")
    found = driver._switch.patch
    assert (found.plugs, found.peers) == (patch.plugs, patch.peers), "it is the plan that all tests use"
    assert all(len(found.peers[place]) == 2 for place in found.places)


def test_every_key_fault_and_metric_is_explained():
    keys = {field.alias or name for name, field in PolatisSwitch.model_fields.items()}
    assert keys <= set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    for code in (readings.PORT_FAILED, readings.PORT_DISABLED, readings.EGRESS_TAKEN, readings.BOOT_MODE_DARK):
        assert f"| `{code}` |" in PAGE
    for family in metrics.FAMILIES:
        assert f"`{family.name}`" in PAGE
