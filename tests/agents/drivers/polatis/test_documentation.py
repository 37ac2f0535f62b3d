"""docs/polatis.md: its example is a real file, and its tables name what there is."""

import re
from pathlib import Path
from random import Random

from ringlight.agents.backends import hardware_of
from ringlight.agents.configuration_file import load_agent_file
from ringlight.agents.drivers.polatis import metrics, readings
from ringlight.agents.drivers.polatis.file import PolatisSwitch

FABRIC = """
name: lab
k: 2
gpus: 4
bundles: [{edge: 0, modules: 1}, {edge: 2, modules: 1}]
nodes: {count: 8}
"""
PAGE = (Path(__file__).parents[4] / "docs" / "polatis.md").read_text(encoding="utf-8")


def test_the_example_is_sound_and_every_path_of_every_node_is_a_cross_connect(tmp_path, patch):
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "fabric.yaml").write_text(FABRIC)
    (tmp_path / "agent.yaml").write_text(block.replace("/etc/ringlight", str(tmp_path)))
    configuration = load_agent_file(tmp_path / "agent.yaml")
    driver, _ = hardware_of(configuration.file, configuration.wiring, Random(1))("n7")
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
