"""The boards: current, valid, complete, and about metrics that there are."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from ringlight.cli.metrics import sections
from ringlight.fabric.metric_family import Kind

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
BOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here (Debian: prometheus)")
OF_PROMETHEUS = {"up", "scrape_duration_seconds", "ALERTS"}


def boards():
    return [json.loads(path.read_text()) for path in BOARDS]


def panels():
    """Every panel that shows something, with the title of its board."""
    return [(board["title"], panel) for board in boards() for panel in board["panels"] if panel["type"] != "row"]


def queries():
    """Every query of a panel, of an annotation, and of a variable that asks for label values."""
    for title, panel in panels():
        for target in panel["targets"]:
            yield f"{title}: {panel['title']}", target["expr"]
    for board in boards():
        yield f"{board['title']}: annotation", board["annotations"]["list"][0]["expr"]


def asked(expression):
    """As Grafana would ask, with everything chosen."""
    for name, value in {
        "$__rate_interval": "1m", "$__range": "30m", "$fabric": ".*", "$node": ".*",
    }.items():  # fmt: skip
        expression = expression.replace(name, value)
    return expression


def test_the_files_are_what_the_code_says(tmp_path):
    subprocess.run([sys.executable, "-m", "deploy.grafana", tmp_path], check=True, cwd=ROOT, timeout=60)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in BOARDS}, "run 'make dashboards' and commit"


@pytest.mark.parametrize("board", boards(), ids=lambda board: board["uid"])
def test_grafanas_schema_knows_everything_that_is_in_a_board(board):
    """What its types do not know is lost on the way through them."""
    register_default_plugins()
    there_and_back = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))
    assert there_and_back == board


@pytest.mark.parametrize("board", boards(), ids=lambda board: board["uid"])
def test_panels_lie_beside_each_other(board):
    ids = [panel["id"] for panel in board["panels"]]
    assert ids == list(range(1, len(ids) + 1))
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells


def test_every_panel_says_what_it_shows_and_what_is_good():
    for title, panel in panels():
        where = f"{title}: {panel['title']}"
        assert len(panel["description"]) > 10, where
        assert panel["fieldConfig"]["defaults"]["unit"], where
        assert panel["targets"], where
        assert {target["refId"] for target in panel["targets"]} == {chr(65 + n) for n in range(len(panel["targets"]))}
        for step in panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])[1:]:
            assert step["value"] is not None, where


def test_a_person_gets_from_each_board_to_the_others_and_to_the_live_page():
    uids = [board["uid"] for board in boards()]
    assert sorted(uids) == ["ringlight-controller", "ringlight-fabric", "ringlight-healing", "ringlight-node"]
    for board in boards():
        assert "ringlight" in board["tags"]
        assert [link["type"] for link in board["links"]] == ["dashboards", "link"]
        names = [variable["name"] for variable in board["templating"]["list"]]
        used = set(re.findall(r"\$\{(\w+)\}", json.dumps(board)))
        assert used <= set(names)


def test_every_runbook_that_is_linked_exists():
    pages = {page.stem for page in (ROOT / "docs" / "runbooks").glob("*.md")}
    linked = {link["url"] for _, panel in panels() for link in panel["links"]}
    assert linked
    assert linked <= {f"${{runbooks}}/{page}.md" for page in pages}


def test_the_documented_command_puts_a_sites_addresses_into_all_links(tmp_path):
    shutil.copytree(GRAFANA / "dashboards", tmp_path / "dashboards")
    (command,) = re.findall(r"^sed .*?\.json$", (ROOT / "docs" / "deployment.md").read_text(), re.DOTALL | re.MULTILINE)
    assert "/etc/grafana" in command
    subprocess.run(["sh", "-c", command.replace("/etc/grafana", str(tmp_path))], check=True, timeout=60)
    for path in (tmp_path / "dashboards").iterdir():
        addresses = [v["query"] for v in json.loads(path.read_text())["templating"]["list"] if v["type"] == "textbox"]
        assert addresses == ["http://controller.site:7480", "https://wiki.site/ringlight/runbooks"]


def test_every_metric_that_is_asked_for_is_declared():
    suffixes = ("", "_bucket", "_count", "_sum")
    declared = OF_PROMETHEUS | {
        family.name + suffix
        for _, families in sections()
        for family in families
        for suffix in (suffixes if family.kind is Kind.HISTOGRAM else ("",))
    }
    for where, expression in queries():
        bare = re.sub(r'"[^"]*"', "", expression)
        assert set(re.findall(r"\b(?:ringlight_\w+|up|scrape_\w+|ALERTS)\b", bare)) <= declared, where
    labels = {
        variable["query"]["query"]
        for b in boards()
        for variable in b["templating"]["list"]
        if variable["type"] == "query"
    }
    for query in labels:
        assert re.match(r"label_values\((\w+)", query)[1] in declared


def test_every_family_of_the_controller_is_on_a_board():
    shown = " ".join(expression for _, expression in queries())
    families = [f for heading, several in sections() if heading.startswith("Controller") for f in several]
    missing = {family.name for family in families if family.name not in shown}
    # The first is said in another unit, the second is part of what is not ACTIVE.
    assert missing == {"ringlight_gpus_wasted", "ringlight_rings_waiting"}


@needs_promtool
def test_every_query_is_one(tmp_path):
    rules = [{"record": f"query:{n}", "expr": asked(expression)} for n, (_, expression) in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not any("$" in rule["expr"] for rule in rules)


def query_of(board, title):
    (found,) = [panel for name, panel in panels() if (name, panel["title"]) == (f"Ringlight / {board}", title)]
    return asked(found["targets"][0]["expr"])


@dataclass(frozen=True)
class Told:
    """What a panel shows: the values of its first query, by label value."""

    board: str
    title: str
    values: dict[str, float]

    def case(self):
        return {
            "expr": query_of(self.board, self.title),
            "eval_time": "1m",
            "exp_samples": [{"labels": labels or "{}", "value": value} for labels, value in self.values.items()],
        }


def promtool(tmp_path, series, expected):
    """Ask promtool what panels show of these series."""
    inputs = [{"series": name, "values": f"{value}x9"} for name, value in series.items()]
    file = tmp_path / "told.yml"
    case = {"interval": "15s", "input_series": inputs, "promql_expr_test": [told.case() for told in expected]}
    file.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "15s", "tests": [case]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def said_by(instance, leader, **values):
    where = f'fabric="lab",instance="{instance}"'
    gates = {f'ringlight_gate_open{{gate="{gate}",{where}}}': 1 for gate in ("silence", "breaker", "pause")}
    return {
        f"ringlight_leader{{{where}}}": leader,
        f'ringlight_rings{{state="ACTIVE",{where}}}': values["active"],
        f'ringlight_rings{{state="BROKEN",{where}}}': values["broken"],
        f"ringlight_gpus{{{where}}}": 256,
        f"ringlight_gpus_in_rings{{{where}}}": 32 * values["active"],
        f'ringlight_node_abnormal{{node="n3",verdict="{values["n3"]}",{where}}}': 1,
        f"ringlight_breaker_failures{{{where}}}": values["failed"],
        f"ringlight_breaker_allowance{{{where}}}": 4,
        f'ringlight_gate_open{{gate="term",{where}}}': leader,
        **gates,
    }


@needs_promtool
def test_a_controller_that_was_deposed_is_not_counted(tmp_path):
    now = said_by("b:7480", 1, active=6, broken=0, failed=1, n3="FAILED")
    former = said_by("a:7480", 0, active=4, broken=2, failed=4, n3="SUSPECT")
    promtool(
        tmp_path,
        {**now, **former},
        [
            Told("Fabric", "Rings that carry light", {"": 6}),
            Told("Fabric", "Rings that do not", {"": 0}),
            Told("Fabric", "GPUs in rings", {"": 0.75}),
            Told("Fabric", "Controller in charge", {"": 1}),
            Told("Controller", "In charge", {'{fabric="lab"}': 1}),
            Told("Healing", "Breaker", {"": 0.25}),
            Told("Fabric", "Nodes that are not healthy", {'{node="n3",verdict="FAILED"}': 1}),
            Told("Fabric", "Gates", {f'{{gate="{gate}"}}': 1 for gate in ("breaker", "pause", "silence", "term")}),
        ],
    )


@needs_promtool
def test_a_fabric_that_nobody_is_in_charge_of_is_not_hidden_by_another(tmp_path):
    leaders = {f'ringlight_leader{{fabric="{name}",instance="{name}:1"}}': each for name, each in (("a", 1), ("b", 0))}
    told = {'{fabric="a"}': 1, '{fabric="b"}': 0}
    promtool(
        tmp_path, leaders, [Told("Fabric", "Controller in charge", {"": 0}), Told("Controller", "In charge", told)]
    )


@needs_promtool
def test_no_controller_is_told_in_words(tmp_path):
    """And of the fabric nothing is told, since nobody knows."""
    expected = [
        Told("Fabric", "Controller in charge", {"": 0}),
        Told("Controller", "In charge", {"": 0}),
        Told("Fabric", "Rings that do not", {}),
    ]
    promtool(tmp_path, {'up{job="ringlight-controller",fabric="lab",instance="a:7480"}': 0}, expected)


def test_a_table_has_named_columns_and_a_node_leads_to_its_board():
    tables = {panel["title"]: panel for _, panel in panels() if panel["type"] == "table"}
    assert set(tables) == {"Nodes that are not healthy", "Versions of jobs"}
    for panel in tables.values():
        organize = panel["transformations"][-1]
        assert organize["id"] == "organize"
        columns = set(organize["options"]["renameByName"])
        several = len(panel["targets"]) > 1
        values = {f"Value #{target['refId']}" for target in panel["targets"]} if several else {"Value"}
        labels = set(re.search(r"by \(([^)]*)\)", panel["targets"][0]["expr"])[1].split(", "))
        hidden = {name for name, hides in organize["options"]["excludeByName"].items() if hides}
        assert labels <= columns
        assert values <= columns | hidden
        assert "Time" in hidden
        assert ("merge" in {each["id"] for each in panel["transformations"]}) == several
    (link,) = [
        value["value"][0]
        for override in tables["Nodes that are not healthy"]["fieldConfig"]["overrides"]
        for value in override["properties"]
        if (override["matcher"]["options"], value["id"]) == ("Node", "links")
    ]
    uid = re.match(r"/d/([\w-]+)\?", link["url"])[1]
    (board,) = [board for board in boards() if board["uid"] == uid]
    asked_for = set(re.findall(r"var-(\w+)=|\$\{(\w+):queryparam\}", link["url"]))
    assert {first or second for first, second in asked_for} <= {v["name"] for v in board["templating"]["list"]}


def test_grafana_is_told_where_everything_is():
    sources = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "ringlight.yml").read_text())
    assert [(each["type"], each["isDefault"]) for each in sources["datasources"]] == [("prometheus", True)]
    providers = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "ringlight.yml").read_text())["providers"]
    assert [each["options"]["path"] for each in providers] == ["/etc/grafana/dashboards"]
