"""The settings' file: what is not said is the default, and every mistake is named."""

import pytest

from ringlight.controller.configuration_file import load_settings
from ringlight.controller.settings import ChangeSettings, Settings
from ringlight.fabric.errors import InvalidError


@pytest.fixture
def load(tmp_path):
    def write_and_load(text):
        path = tmp_path / "controller.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_settings(path)

    return write_and_load


def test_without_a_file_everything_is_the_default():
    settings = load_settings(None)
    assert settings == Settings()
    assert (settings.suspect_seconds, settings.confirm_seconds) == (3.0, 5.0)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}"])
def test_an_empty_file_says_nothing(load, text):
    assert load(text) == Settings()


def test_what_the_file_says_replaces_the_default_and_the_rest_stays(load):
    settings = load("heartbeat: {interval: 2, suspect_after: 4}\nchange: {revert_after: 30.5}\nstore: {}")
    assert settings.suspect_seconds == 8.0
    assert settings.confirm_seconds == 10.0
    assert settings.change == ChangeSettings(revert_after=30.5)


def test_the_documented_file_is_the_default(load):
    documented = """
heartbeat: {interval: 1.0, suspect_after: 3, confirm_after: 5}
health: {start_grace: 10.0, light_settle: 0.02, probation: 600.0, dead_hop_retest: 3600.0}
change: {apply_timeout: 1.0, light_timeout: 1.0, revert_after: 10.0, retry_interval: 10.0}
store: {events_kept: 100000, generation_block: 1000}
"""
    assert load(documented) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("heartbeats: {}", ["heartbeats"]),
        ("heartbeat: {intervall: 1}", ["heartbeat.intervall"]),
        ("heartbeat: {interval: soon}", ["heartbeat.interval", "number"]),
        ("heartbeat: {interval: '2'}", ["heartbeat.interval", "number"]),
        ("heartbeat: {interval: true}", ["heartbeat.interval", "number"]),
        ("heartbeat: {suspect_after: 2.5}", ["heartbeat.suspect_after", "integer"]),
        ("heartbeat: {suspect_after: true}", ["heartbeat.suspect_after", "integer"]),
        ("heartbeat: {suspect_after: 0}", ["heartbeat.suspect_after", "greater than or equal to 1"]),
        ("heartbeat: {interval: 0}", ["heartbeat.interval", "greater than 0"]),
        ("heartbeat: {interval: .nan}", ["heartbeat.interval"]),
        ("heartbeat: {interval: 86401}", ["heartbeat.interval", "86400"]),
        ("health: {probation: -1}", ["health.probation", "greater than or equal to 0"]),
        ("health: {probation: .inf}", ["health.probation", "finite"]),
        ("health: {probation: }", ["health.probation", "number"]),
        ("store: {events_kept: many}", ["store.events_kept", "integer"]),
        ("heartbeat: 3", ["heartbeat", "section"]),
        ("[]", ["expected sections such as heartbeat, health"]),
        ("false", ["expected sections such as heartbeat, health"]),
        ("just words", ["expected sections such as heartbeat, health"]),
        ("{1: 2}", ["1"]),
    ],
)
def test_a_mistake_is_named_with_its_key(load, text, words):
    with pytest.raises(InvalidError) as refusal:
        load(text)
    for word in ("controller.yaml", *words):
        assert word in str(refusal.value)
    assert "ringlight config show" in refusal.value.hint


def test_every_mistake_is_listed_at_once(load):
    with pytest.raises(InvalidError) as refusal:
        load("heartbeat: {interval: -1, suspect_after: x}\nother: 1\nstore: {events_kept: 0}")
    for key in ("heartbeat.interval", "heartbeat.suspect_after", "other", "store.events_kept"):
        assert key in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("heartbeat: [", "line 1: is not YAML"),
        ("store: {}\na: b: c", "line 2: is not YAML"),
        ("\ttab: 1", "line 1: is not YAML"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"heartbeat: \x00", "line 1: is not YAML"),
    ],
)
def test_what_is_not_yaml_is_said_to_be_none(load, text, words):
    with pytest.raises(InvalidError, match=words):
        load(text)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidError, match=r"missing\.yaml has a mistake:\n  cannot be read: No such file"):
        load_settings(tmp_path / "missing.yaml")
    with pytest.raises(InvalidError, match="cannot be read: Is a directory"):
        load_settings(tmp_path)
