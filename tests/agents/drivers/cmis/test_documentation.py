"""What docs/ocstrx.md says of files, faults and registers is what there is."""

import re
from pathlib import Path as FilePath

import pytest
import yaml

from ringlight.agents.configuration_file import load_agent_file
from ringlight.agents.drivers.cmis.file import CmisNode
from ringlight.agents.drivers.cmis.judgement import _GRAVITY
from ringlight.agents.drivers.cmis.trouble import Trouble

PAGE = (FilePath(__file__).parents[4] / "docs" / "ocstrx.md").read_text(encoding="utf-8")


def test_the_example_is_a_file_that_an_agent_takes(tmp_path: FilePath) -> None:
    example = yaml.safe_load(re.search(r"```yaml\n(id: .*?)```", PAGE, re.DOTALL)[1])  # type: ignore[index]
    fabric = {
        "name": "lab",
        "k": 2,
        "gpus": 4,
        "nodes": {"count": 20},
        "bundles": [{"edge": 0, "modules": 2}, {"edge": 2, "modules": 2}],
    }
    (tmp_path / "fabric.yaml").write_text(yaml.safe_dump(fabric), encoding="utf-8")
    example["fabric"] = str(tmp_path / "fabric.yaml")
    (tmp_path / "agent.yaml").write_text(yaml.safe_dump(example), encoding="utf-8")

    loaded = load_agent_file(tmp_path / "agent.yaml")

    node = loaded.file.nodes["n17"].circuits.chosen
    assert isinstance(node, CmisNode)
    assert [len(modules) for modules in node.bundles] == [2, 2]


@pytest.mark.parametrize("key", CmisNode.model_fields)
def test_every_key_is_explained(key: str) -> None:
    assert f"| `{key}` |" in PAGE


@pytest.mark.parametrize("trouble", Trouble)
def test_every_fault_is_explained_with_its_class(trouble: Trouble) -> None:
    assert f"| `{trouble}` | {_GRAVITY[trouble].name} |" in PAGE
