"""The measurements run as a user runs them, and hand out what their README promises."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from bench.lives import Site
from bench.spares import heaped_chains, play
from ringlight.emulator.fault_trace import TraceEvent

ROOT = Path(__file__).parents[2]


def run(*arguments, module="bench"):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_figure_is_shown_and_written_with_its_floor_and_ratio(tmp_path):
    done = run(
        "--quick", "--only", "trace", "--only", "store", "--only", "modules", "--json", str(tmp_path / "figures.json")
    )
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "figures.json").read_text())
    assert {figure["measurement"] for figure in document["figures"]} == {"trace", "store", "modules"}
    for figure in document["figures"]:
        assert figure["value"] > 0
        less_is_better = figure["unit"] == "s"
        worse, better = ("value", "floor") if less_is_better else ("floor", "value")
        assert figure["ratio"] == pytest.approx(figure[worse] / figure[better])
        assert figure["name"] in done.stdout


def test_a_measurement_that_does_not_exist_is_refused_with_those_that_do():
    done = run("--only", "speed")
    assert done.returncode == 2
    assert "'healing', 'planner', 'engine', 'trace', 'store', 'sessions', 'modules'" in done.stderr


def test_figures_that_cannot_be_written_are_an_error_that_names_the_file(tmp_path):
    done = run("--quick", "--only", "trace", "--json", str(tmp_path / "no" / "figures.json"))
    assert done.returncode == 1
    assert "no/figures.json: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_planner_is_measured_on_any_size_and_written_as_json(tmp_path):
    file = tmp_path / "scales.json"
    sizes = "--nodes", "400", "--repairs", "5", "--bursts", "2"
    done = run(*sizes, "--json", str(file), module="bench.scaling")
    assert done.returncode == 0, done.stderr
    (scale,) = json.loads(file.read_text())
    assert scale["nodes"] == 400
    assert scale["repair_p50"] <= scale["repair_p99"]
    assert scale["full"] > scale["repair_p50"]
    assert scale["bytes_a_node"] < 400
    assert "BYTES A NODE" in done.stdout


def test_spread_spares_are_nearer_to_a_fault_than_heaped_ones():
    random = Random(1)
    events = []
    for number in range(120):
        day, server = float(number), f"s{random.randrange(120)}"
        events.append(TraceEvent(day, server, number, True, "GPU", "GPU Lost"))
        events.append(TraceEvent(day + 0.5, server, number, False, "GPU", "GPU Lost"))
    outcomes = []
    for heaped in (False, True):
        site = Site(120, 2, 4)
        site.lay(heaped_chains(site, 26) if heaped else [placed.chain for placed in site.plan(26).placed])
        outcomes.append(play(site, 26, events))
    spread, heaped = outcomes
    assert spread.distance < heaped.distance
    assert spread.short == heaped.short == 0
