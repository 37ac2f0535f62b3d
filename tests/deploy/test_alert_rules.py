"""Every alert of deploy/prometheus, tried by promtool: pending, firing and resolved, and no other with it.

A case says which series make the alert fire. All other series are as in a fabric that is well.
"""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import click
import pytest
import yaml

from ringlight.cli.main import ringlight
from ringlight.cli.metrics import sections
from ringlight.fabric.metric_family import Kind

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "ringlight.rules.yml"
RUNBOOKS = ROOT / "docs" / "runbooks"
STEP = 15  # seconds between samples
WELL = 120  # seconds before anything happens
BAD = 2  # how many times the waiting period of an alert it goes on, and as long as its range looks back

needs_promtool = pytest.mark.skipif(which("promtool") is None, reason="promtool (Debian: prometheus) is not installed")

CONTROLLER = 'fabric="lab",instance="c:7480"'
AGENT = 'fabric="lab",instance="a:9404",node="n3"'
MODULE = f'{AGENT},bundle="0",module="1"'

GOOD = {
    f'up{{job="ringlight-controller",{CONTROLLER}}}': 1,
    'up{job="ringlight-agent",fabric="lab",instance="a:9404"}': 1,
    f"ringlight_leader{{{CONTROLLER}}}": 1,
    f'ringlight_gate_open{{gate="silence",{CONTROLLER}}}': 1,
    f'ringlight_gate_open{{gate="breaker",{CONTROLLER}}}': 1,
    f'ringlight_gate_open{{gate="pause",{CONTROLLER}}}': 1,
    f'ringlight_gate_open{{gate="term",{CONTROLLER}}}': 1,
    f'ringlight_rings{{state="ACTIVE",{CONTROLLER}}}': 6,
    f'ringlight_rings{{state="BROKEN",{CONTROLLER}}}': 0,
    f"ringlight_rings_waiting{{{CONTROLLER}}}": 0,
    f'ringlight_nodes{{verdict="SUSPECT",{CONTROLLER}}}': 0,
    f'ringlight_nodes{{verdict="UNREACHABLE",{CONTROLLER}}}': 0,
    f"ringlight_nodes_quarantined{{{CONTROLLER}}}": 1,
    f'ringlight_hops{{state="dead",{CONTROLLER}}}': 0,
    f"ringlight_spares{{{CONTROLLER}}}": 4,
    f"ringlight_gpus_in_rings{{{CONTROLLER}}}": 192,
    f"ringlight_waste_ratio{{{CONTROLLER}}}": 0.02,
    f"ringlight_loop_lag_seconds{{{CONTROLLER}}}": 0.01,
    f"ringlight_store_ok{{{CONTROLLER}}}": 1,
    f'ringlight_job_generation{{job="train",{CONTROLLER}}}': 7,
    f'ringlight_export_generation{{job="train",{CONTROLLER}}}': 7,
    f"ringlight_bus_connected{{{CONTROLLER}}}": 1,
    f"ringlight_agent_connected{{{AGENT}}}": 1,
    f"ringlight_agent_hardware_open{{{AGENT}}}": 1,
    f"ringlight_agent_health_feed_open{{{AGENT}}}": 1,
    f"ringlight_module_up{{{MODULE}}}": 1,
    f"ringlight_module_temperature_celsius{{{MODULE}}}": 52,
    f'ringlight_module_rx_power_dbm{{lane="3",{MODULE}}}': 1.5,
    f'ringlight_module_tx_power_dbm{{lane="3",{MODULE}}}': 4.5,
    f'ringlight_module_receiving{{lane="3",{MODULE}}}': 1,
    f"ringlight_module_switch_failed{{{MODULE}}}": 0,
}
COUNTERS = (
    f"ringlight_stale_epoch_rejections_total{{{CONTROLLER}}}",
    f"ringlight_invariant_violations_total{{{CONTROLLER}}}",
    f'ringlight_queue_drops_total{{queue="watch",{CONTROLLER}}}',
    f"ringlight_reverts_total{{{CONTROLLER}}}",
    f"ringlight_drift_total{{{CONTROLLER}}}",
    f'ringlight_session_ends_total{{reason="broken",{CONTROLLER}}}',
    f'ringlight_reconfiguration_seconds_count{{phase="total",{CONTROLLER}}}',
    f'ringlight_reconfiguration_seconds_bucket{{phase="total",le="1.0",{CONTROLLER}}}',
)


@dataclass(frozen=True)
class Case:
    """One way to make an alert fire.

    Attributes:
        series: those that are not well, by the beginning of their name, and their value meanwhile; None for a series
            that is not there. A counter grows by so much with each sample.
        with_it: other alerts that must fire, too.
    """

    alert: str
    series: dict[str, float | None]
    with_it: frozenset[str] = field(default_factory=frozenset)


CASES = [
    Case("RinglightControllerAbsent", {'up{job="ringlight-controller"': 0}),
    Case("RinglightControllerAbsent", {'up{job="ringlight-controller"': None}),
    Case("RinglightNoLeader", {"ringlight_leader": 0}),
    Case("RinglightTwoLeaders", {'ringlight_leader{fabric="lab",instance="other"}': 1}),
    Case("RinglightDeposed", {'ringlight_gate_open{gate="term"': 0}),
    Case("RinglightStaleEpoch", {"ringlight_stale_epoch_rejections_total": 1}),
    Case("RinglightInvariantViolation", {"ringlight_invariant_violations_total": 1}),
    Case("RinglightStoreNotWritable", {"ringlight_store_ok": 0}),
    Case("RinglightQueueDrops", {"ringlight_queue_drops_total": 3}),
    Case("RinglightLoopLag", {"ringlight_loop_lag_seconds": 0.8}),
    Case("RinglightExportsBehind", {"ringlight_job_generation": 8}),
    Case("RinglightBrokerLost", {"ringlight_bus_connected": 0}),
    Case("RinglightSilenceGateShut", {'ringlight_gate_open{gate="silence"': 0}),
    Case("RinglightBreakerTripped", {'ringlight_gate_open{gate="breaker"': 0}),
    Case("RinglightPausedTooLong", {'ringlight_gate_open{gate="pause"': 0}),
    Case("RinglightRingBroken", {'ringlight_rings{state="BROKEN"': 1}),
    Case(
        "RinglightRingBroken",
        {'ringlight_rings{state="BROKEN"': 2, "ringlight_rings_waiting": 1},
        frozenset({"RinglightNoWayAround"}),
    ),
    Case("RinglightNoWayAround", {'ringlight_rings{state="BROKEN"': 1, "ringlight_rings_waiting": 1}),
    Case("RinglightSlowHealing", {"ringlight_reconfiguration_seconds_count": 1}),
    Case("RinglightReverts", {"ringlight_reverts_total": 1}),
    Case("RinglightDrift", {"ringlight_drift_total": 1}),
    Case("RinglightHopsDead", {'ringlight_hops{state="dead"': 2}),
    Case("RinglightWaste", {"ringlight_waste_ratio": 0.051}),
    Case("RinglightNoSpares", {"ringlight_spares": 0}),
    Case("RinglightNodeFailed", {f'ringlight_node_abnormal{{node="n3",verdict="FAILED",{CONTROLLER}}}': 1}),
    Case("RinglightNodesSilent", {'ringlight_nodes{verdict="SUSPECT"': 1}),
    Case("RinglightNodesSilent", {'ringlight_nodes{verdict="UNREACHABLE"': 2}),
    Case("RinglightFlapping", {"ringlight_session_ends_total": 12}),
    Case("RinglightQuarantineGrows", {"ringlight_nodes_quarantined": 2}),
    Case("RinglightAgentAbsent", {'up{job="ringlight-agent"': 0}),
    Case("RinglightAgentDisconnected", {"ringlight_agent_connected": 0}),
    Case("RinglightHardwareGone", {"ringlight_agent_hardware_open": 0}),
    Case("RinglightHealthFeedLost", {"ringlight_agent_health_feed_open": 0}),
    Case("RinglightModuleHot", {"ringlight_module_temperature_celsius": 71}),
    Case("RinglightModulePower", {"ringlight_module_rx_power_dbm": -14}),
    Case("RinglightModulePower", {"ringlight_module_tx_power_dbm": -1}),
    Case("RinglightModuleSwitchFailed", {"ringlight_module_switch_failed": 1}),
]
WELL_ALL_THE_SAME = [
    ("dark, since its path is not selected", {"ringlight_module_rx_power_dbm": -60, "ringlight_module_receiving": 0}),
    ("its laser is off, since it is not up", {"ringlight_module_tx_power_dbm": -60, "ringlight_module_up": 0}),
    ("nothing runs that could need a spare", {"ringlight_spares": 0, "ringlight_gpus_in_rings": 0}),
    ("rings heal, quickly", {"ringlight_reconfiguration_seconds": 1}),
    ("nothing is published", {"ringlight_export_generation": None, "ringlight_job_generation": 9}),
    ("there is no broker", {"ringlight_bus_connected": None}),
    ("somebody was released from quarantine", {"ringlight_nodes_quarantined": 0}),
]


def rules():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def seconds(text):
    return sum(int(n) * {"s": 1, "m": 60, "h": 3600}[unit] for n, unit in re.findall(r"(\d+)([smh])", text))


def longest_look_back(alert):
    return max((seconds(each) for each in re.findall(r"\[(\w+)\]", rules()[alert]["expr"])), default=0)


def input_series(changed, bad):
    """Every series: well, then for `bad` seconds otherwise if its name begins with one of those, then well again."""
    before, meanwhile = WELL // STEP, bad // STEP
    after = 3 * 3600 // STEP
    every = {name: float(value) for name, value in GOOD.items()} | dict.fromkeys(COUNTERS, 0.0)
    every |= {name: 0.0 for name in changed if name.endswith("}") and name not in every}
    series = []
    for name, well in every.items():
        value = next((value for start, value in changed.items() if name.startswith(start)), well)
        if name in COUNTERS:
            values = f"0x{before} {value:g}+{value:g}x{meanwhile} {value * (meanwhile + 1):g}x{after}"
        elif value is None:
            values = f"{well:g}x{before} stale _x{meanwhile} {well:g}x{after}"
        else:
            values = f"{well:g}x{before} {value:g}x{meanwhile} {well:g}x{after}"
        series.append({"series": name, "values": values})
    return series


def only(alerts, at):
    """These alerts fire, and no other."""
    each = [expects(f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', at, 1) for alert in sorted(alerts)]
    return [*each, expects('count(ALERTS{alertstate="firing"}) or vector(0)', at, len(alerts))]


def expects(query, at, value):
    return {"expr": query, "eval_time": f"{at}s", "exp_samples": [{"labels": "{}", "value": value}]}


def promtool(tmp_path, name, series, queries):
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": f"{STEP}s",
        "tests": [{"name": name, "interval": f"{STEP}s", "input_series": series, "promql_expr_test": queries}],
    }
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}-{len(case.series)}")
def test_an_alert_is_pending_then_fires_alone_and_resolves(tmp_path, case):
    waits, looks_back = seconds(rules()[case.alert]["for"]), longest_look_back(case.alert)
    bad = BAD * waits + looks_back // 2 + 300
    pending = WELL + waits - STEP if looks_back == 0 else WELL + 2 * STEP
    queries = [
        *only([], WELL - STEP),
        expects(f'count(ALERTS{{alertname="{case.alert}",alertstate="pending"}})', pending, 1),
        *only({case.alert, *case.with_it}, WELL + bad - STEP),
        *only([], WELL + bad + looks_back + 600),
    ]
    promtool(tmp_path, case.alert, input_series(case.series, bad), queries)


@needs_promtool
@pytest.mark.parametrize(("why", "series"), WELL_ALL_THE_SAME)
def test_what_is_well_wakes_nobody(tmp_path, why, series):
    promtool(tmp_path, why, input_series(series, 7200), only([], WELL + 7000))


@needs_promtool
def test_the_files_are_in_order():
    for check, file in (("rules", RULES), ("config", RULES.parent / "prometheus.yml")):
        done = subprocess.run(
            ["promtool", "check", check, file], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case():
    assert {case.alert for case in CASES} == set(rules())


def test_every_alert_says_what_a_person_needs():
    for name, rule in rules().items():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert seconds(rule["for"]) > 0
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks/{name}.md"


def test_every_metric_that_is_named_is_declared():
    suffixes = ("", "_bucket", "_count", "_sum")
    declared = {
        family.name + suffix
        for _, families in sections()
        for family in families
        for suffix in (suffixes if family.kind is Kind.HISTOGRAM else ("",))
    }
    named = {metric for rule in rules().values() for metric in re.findall(r"ringlight_\w+", rule["expr"])}
    assert named <= declared
    assert {re.split(r"[{]", series)[0] for series in (*GOOD, *COUNTERS)} <= declared | {"up"}


def test_every_alert_has_a_runbook_and_every_runbook_an_alert():
    pages = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == set(rules())
    index = (RUNBOOKS / "README.md").read_text()
    for name in pages:
        text = (RUNBOOKS / f"{name}.md").read_text()
        assert text.startswith(f"# {name}\n")
        assert [line for line in text.splitlines() if line.startswith("## ")] == [
            "## What it means",
            "## What is affected",
            "## What to do",
            "## When it ends",
        ]
        assert f"[{name}]({name}.md)" in index


def commands():
    """Every line of a runbook that starts `ringlight`."""
    for page in sorted(RUNBOOKS.glob("*.md")):
        for block in re.findall(r"```\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("ringlight "):
                    yield page.stem, line.partition("#")[0].strip()


def test_every_command_of_a_runbook_exists():
    seen = list(commands())
    assert seen
    for page, line in seen:
        words = line.split()[1:]
        command: click.Command = ringlight
        while words and isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, f"{page}: {line}"
            command = found
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for word in words:
            assert not word.startswith("-") or word in known, f"{page}: {line}: no option {word}"
