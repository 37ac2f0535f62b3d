"""Agents' files: what passes, and that every mistake is told with its place and its cure."""

import json
from pathlib import Path
from random import Random

import pytest
import yaml

from ringlight.agents.backends import CIRCUITS, GPUS, families_of, hardware_of
from ringlight.agents.configuration import AgentFile, Circuits, EmulatorSocket, Gpus, settings_of
from ringlight.agents.configuration_file import AgentFileError, load_agent_file
from ringlight.agents.drivers.emulator import EmulatedDriver
from ringlight.agents.drivers.polatis.driver import PolatisDriver
from ringlight.agents.gpu.command import CommandHealth
from ringlight.agents.gpu.dcgm import DcgmHealth
from ringlight.agents.gpu.none import NoGpuHealth
from ringlight.agents.gpu.nvml import NvmlHealth
from ringlight.agents.settings import AgentSettings
from ringlight.fabric.file import FabricFileError

EMULATED = {"circuits": {"emulator": {"socket": "/run/e.sock"}}, "gpus": {"emulator": {"socket": "/run/e.sock"}}}
FABRIC = "name: lab\nk: 2\ngpus: 4\nnodes: {count: 5, prefix: n, first: 0}\n"


@pytest.fixture
def load(tmp_path):
    (tmp_path / "fabric.yaml").write_text(FABRIC)

    def load(_text=None, **changes):
        document = {"id": "a1", "controller": "c:7400", "state": "/s", "nodes": {"n0": EMULATED}} | changes
        file = tmp_path / "agent.yaml"
        file.write_text(yaml.safe_dump(document) if _text is None else _text)
        return load_agent_file(file)

    return load


def problems(load, _text=None, **changes):
    with pytest.raises(AgentFileError) as raised:
        load(_text, **changes)
    return [str(problem) for problem in raised.value.problems]


def test_an_emulated_node_needs_no_fabric_and_shares_one_connection(load):
    read = load()
    assert read.wiring is None
    assert read.file.settings == AgentSettings()
    driver, gpus = hardware_of(read.file, None, Random(1))("n0")
    assert isinstance(driver, EmulatedDriver)
    assert driver._attachment._shared is gpus._attachment._shared


def test_kinds_of_circuits_and_gpus_mix(load, tmp_path):
    ports = {
        f"n{node}": [{"in": [100 * node + 20 * bundle + module for module in range(1, 9)],
                      "out": [1000 + 100 * node + 20 * bundle + module for module in range(1, 9)]}
                     for bundle in range(2)]
        for node in range(5)
    }  # fmt: skip
    read = load(
        fabric=str(tmp_path / "fabric.yaml"),
        nodes={"n0": {"circuits": {"polatis": {"switch": "lab"}}, "gpus": "none"}, "n1": EMULATED},
        switches={"lab": {"address": "10.0.0.5:5025", "ports": ports}},
        settings={"switch_timeout": 0.25},
    )
    assert read.file.settings == AgentSettings(switch_timeout=0.25)
    hardware = hardware_of(read.file, read.wiring, Random(1))
    driver, gpus = hardware("n0")
    assert isinstance(driver, PolatisDriver)
    assert isinstance(gpus, NoGpuHealth)
    assert isinstance(hardware("n1")[0], EmulatedDriver)


def test_every_kind_that_a_file_may_name_can_be_made():
    assert set(CIRCUITS) == {field.alias or name for name, field in Circuits.model_fields.items()}
    assert set(GPUS) == {field.alias or name for name, field in Gpus.model_fields.items()}


def test_every_mistake_is_told_at_once(load):
    told = problems(
        load,
        id="-x",
        controller="nowhere",
        nodes={"n0": {"circuits": {"emulator": {"soket": "/e"}}, "gpus": "none"}},
        settings={"switch_timout": 1.0, "outbox": 0},
        colour="red",
    )
    assert told == [
        "id: expected up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        "controller: expected an address such as 127.0.0.1:7400",
        f"nodes.n0.circuits.emulator.socket: is missing: {EmulatorSocket.model_fields['socket'].description}",
        "nodes.n0.circuits.emulator.soket: there is no such key; did you mean 'socket'?",
        "settings.outbox: Input should be greater than or equal to 1 (allowed is a whole number, at least 1)",
        "settings.switch_timout: there is no such key; did you mean 'switch_timeout'?",
        f"colour: there is no such key; keys here are {', '.join(AgentFile.model_fields)}",
    ]


@pytest.mark.parametrize("kinds", [{}, {"emulator": {"socket": "/e"}, "polatis": {"switch": "s"}}])
def test_a_node_has_one_kind_of_circuits(load, kinds):
    (told,) = problems(load, nodes={"n0": {"circuits": kinds, "gpus": "none"}})
    assert told.startswith("nodes.n0.circuits: expected exactly one of emulator")


def test_a_node_must_say_who_watches_its_gpus(load):
    (told,) = problems(load, nodes={"n0": {"circuits": EMULATED["circuits"]}})
    assert told == "nodes.n0.gpus: is missing: Where its GPU health comes from; `none` when nobody reports it."


def test_hardware_that_does_not_know_its_cabling_needs_the_fabric(load):
    (told,) = problems(load, nodes={"n0": {"circuits": {"polatis": {"switch": "lab"}}, "gpus": "none"}})
    assert told == "fabric: is missing: nodes.n0.circuits.polatis does not know its cabling"


def test_what_does_not_fit_the_fabric_is_told(load, tmp_path):
    fabric = str(tmp_path / "fabric.yaml")
    assert problems(load, fabric=fabric, nodes={"n9": EMULATED}) == ["nodes.n9: the fabric 'lab' has no such node"]
    circuits = {"polatis": {"switch": "lba"}}
    told = problems(load, fabric=fabric, nodes={"n0": {"circuits": circuits, "gpus": "none"}})
    assert told == ["nodes.n0.circuits.polatis.switch: there is no switch 'lba'; known are none"]


def test_a_wrong_fabric_file_is_its_own_error(load, tmp_path):
    (tmp_path / "fabric.yaml").write_text("name: lab\n")
    with pytest.raises(FabricFileError):
        load(fabric=str(tmp_path / "fabric.yaml"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["expected keys such as id, controller, state, fabric, found nothing"]),
        ("[1, 2]", ["expected keys such as id, controller, state, fabric, found a list"]),
        ("id: [", ["line 1: is not YAML: expected the node content, but found '<stream end>'"]),
    ],
)
def test_what_is_no_mapping_is_told(load, text, told):
    assert problems(load, text) == told


def test_a_key_written_twice_is_a_mistake(load):
    text = "id: a1\nid: a2\ncontroller: c:1\nstate: /s\nnodes: {n0: {circuits: {emulator: {socket: e}}, gpus: none}}\n"
    assert problems(load, text) == ["id: is written twice, in lines 1 and 2"]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(AgentFileError, match="cannot be read"):
        load_agent_file(tmp_path / "none.yaml")


def test_every_setting_has_a_unit_and_a_reason():
    every = settings_of(AgentSettings())
    assert {setting.key.removeprefix("settings.") for setting in every} == set(AgentSettings.__slots__)
    assert all(setting.unit and setting.reason and setting.value == setting.default for setting in every)


def test_a_path_is_kept_as_it_is_written(load):
    assert load(state="here").file.state == Path("here")


@pytest.mark.parametrize("value", [".nan", ".inf", "-1", "true", "'1'"])
def test_seconds_are_a_number_of_them(load, value):
    nodes = f"nodes: {{n0: {json.dumps(EMULATED)}}}"
    text = f"id: a1\ncontroller: c:1\nstate: /s\n{nodes}\nsettings: {{read_timeout: {value}}}\n"
    (told,) = problems(load, text)
    assert told.startswith("settings.read_timeout: ")


def test_numbers_of_gpu_sources_are_numbers(load):
    for gpus in ({"nvml": {"every": float("nan")}}, {"command": {"run": ["x"], "every": float("inf")}}):
        (told,) = problems(load, nodes={"n0": EMULATED | {"gpus": gpus}})
        assert ".every: " in told


def test_every_source_of_gpu_health_is_made_from_its_part(load, tmp_path):
    sources = {
        "n0": ({"nvml": {"devices": []}}, NvmlHealth),
        "n1": ({"dcgm": {"url": "http://h:9400/metrics"}}, DcgmHealth),
        "n2": ({"command": {"run": ["gpus", "4"]}}, CommandHealth),
    }
    nodes = {name: EMULATED | {"gpus": gpus} for name, (gpus, _) in sources.items()}
    read = load(fabric=str(tmp_path / "fabric.yaml"), nodes=nodes)
    hardware = hardware_of(read.file, read.wiring, Random(1))
    for name, (_, kind) in sources.items():
        assert isinstance(hardware(name)[1], kind)
    names = [family.name for family in families_of(read.file)]
    assert "ringlight_gpu_present" in names
    assert len(names) == len(set(names))


def test_sources_that_must_know_how_many_gpus_there_are_need_the_fabric(load):
    (told,) = problems(load, nodes={"n0": EMULATED | {"gpus": {"nvml": {}}}})
    assert told == "fabric: is missing: nodes.n0.gpus.nvml must be told how many GPUs there are"
    assert load(nodes={"n0": EMULATED | {"gpus": {"command": {"run": ["x"]}}}}).wiring is None


def test_what_a_source_cannot_do_is_told_with_the_rest(load, tmp_path):
    nodes = {
        "n0": EMULATED | {"gpus": {"nvml": {"devices": ["17:00.0"]}}},
        "n1": EMULATED | {"gpus": {"dcgm": {"url": "http://h/metrics", "devices": [1]}}},
        "n2": EMULATED | {"gpus": {"command": {"run": ["x"], "answer_within": 9}}},
    }
    assert [one.split(":")[0] for one in problems(load, fabric=str(tmp_path / "fabric.yaml"), nodes=nodes)] == [
        "nodes.n2.gpus.command.answer_within",
        "nodes.n1.gpus.dcgm.devices",
        "nodes.n0.gpus.nvml.devices",
    ]
