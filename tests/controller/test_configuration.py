"""Every setting has a unit and a reason, and mistakes come with what would be right."""

import pytest
import yaml
from pydantic import TypeAdapter

from ringlight.controller.configuration import as_document, settings_of
from ringlight.controller.configuration_file import ConfigurationError, load_settings
from ringlight.controller.settings import Settings
from ringlight.fabric.errors import InvalidError

DIMENSIONLESS = {
    "breaker.burst",
    "flap.quarantine_faults",
    "flap.quarantine_flaps",
    "probe.command",
    "change.drift",
    "page.hosts",
    "store.events_kept",
    "store.generation_block",
}


def test_every_setting_has_a_reason_and_a_unit():
    for setting in settings_of(Settings()):
        assert len(setting.reason) > 20, setting.key
        assert setting.limits, setting.key
        assert bool(setting.unit) != (setting.key in DIMENSIONLESS), setting.key


def test_what_is_shown_is_a_configuration_with_every_key():
    document = yaml.safe_load(yaml.safe_dump(as_document(Settings())))
    assert TypeAdapter(Settings).validate_python(document) == Settings()


def test_the_defaults_are_the_defaults():
    for setting in settings_of(Settings()):
        assert setting.value == setting.default, setting.key


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("healthy: {}", "healthy: there is no such key; did you mean 'health'?"),
        ("probatoin: 5", "probatoin: there is no such key; did you mean health.probation?"),
        ("breaker: {drift: repair}", "breaker.drift: there is no such key; did you mean change.drift?"),
        ("flap: {faults_window: -1}", "(allowed is a number, more than 0, at most 31536000"),
        ("breaker: {burst: 3, burst: 30}", "breaker.burst: is written twice, in lines 1 and 1"),
        ("breaker:", "breaker: has no value; expected a section: its keys stand below it"),
        ("health: {probation: }", "has no value; Input should be a valid number (allowed is a number, at least 0"),
        ("probe: {command: [ping, '']}", "probe.command[1]: String should have at least 1 character"),
        ("gpu: {overrides: {'xid:63': deadly}}", "gpu.overrides.xid:63: Input should be 'ignore', 'info'"),
        ("gpu: {overrides: {'63': fatal}}", "gpu: '63' is not a code such as xid:79"),
        ("intervals: 5", "intervals: there is no such key; did you mean heartbeat.interval or probe.interval?"),
        ("zzz: {}", "zzz: there is no such key; sections are heartbeat, health,"),
        ("breaker: {share_: 1}", "breaker.share_: there is no such key; did you mean 'share'?"),
        (
            "change: {drift: fix}",
            "change.drift: Input should be 'report' or 'repair' (allowed is one of",
        ),
        ("breaker: {share: 2}", "breaker.share: Input should be less than or equal to 1 (allowed is a number"),
        ("flap: {reuse: 5000}", "flap: reuse must be less than suppress, 2000"),
        ("heartbeat: {confirm_after: 3}", "heartbeat: confirm_after must be more than suspect_after, 3"),
        ("doubt: {loop_lag: 4.5}", "doubt.loop_lag must be less than heartbeat.confirm_after - 1, 4"),
    ],
)
def test_a_mistake_comes_with_what_would_be_right(tmp_path, text, words):
    file = tmp_path / "controller.yaml"
    file.write_text(text)
    with pytest.raises(InvalidError) as refusal:
        load_settings(file)
    assert words in str(refusal.value)


def test_each_mistake_is_told_once(tmp_path):
    file = tmp_path / "controller.yaml"
    file.write_text("health: {probation: }\nbreaker:\nheartbeat: {interval: x, interval: y}\n")
    with pytest.raises(ConfigurationError) as refusal:
        load_settings(file)
    assert [problem.path for problem in refusal.value.problems] == [
        "health.probation",
        "breaker",
        "heartbeat.interval",
    ]
