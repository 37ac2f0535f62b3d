"""XIDs that are open survive the agent, and not the machine's boot."""

import pytest

from ringlight.agents.gpu.ledger import Ledger
from ringlight.agents.gpu.memory import XidMemory, boot_id

OPEN = {0: (48, 95), 3: (79,)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "xids.json"


def booted(path, boot):
    return XidMemory(path, boot=lambda: boot)


def test_what_was_saved_is_there_until_the_machine_boots(path):
    booted(path, "1").save(OPEN)
    assert booted(path, "1").load() == OPEN
    assert booted(path, "2").load() == {}
    path.unlink()
    assert booted(path, "1").load() == {}


def test_where_no_boot_can_be_told_nothing_is_remembered(path):
    booted(path, "").save(OPEN)
    assert booted(path, "").load() == {}


@pytest.mark.parametrize("content", ["", "{", '{"boot": "1"}', '{"boot": "1", "xids": {"a": [1]}}'])
def test_a_damaged_file_is_said_and_forgotten(path, content, caplog):
    path.write_text(content)
    assert booted(path, "1").load() == {}
    assert "cannot read which XIDs were open" in caplog.text


def test_a_disk_that_cannot_be_written_is_said(tmp_path, caplog):
    booted(tmp_path / "nowhere" / "xids.json", "1").save(OPEN)
    assert "cannot write which XIDs are open" in caplog.text


async def test_a_ledger_is_told_once_and_kept_when_it_changes(path):
    booted(path, "1").save(OPEN)
    memory, ledger = booted(path, "1"), Ledger(10.0)
    await memory.recall(ledger, 0.0)
    assert ledger.xids() == OPEN
    await memory.keep(ledger)
    written = path.stat().st_mtime_ns
    await memory.keep(ledger)
    assert path.stat().st_mtime_ns == written
    ledger.xid(1, 13, 1.0)
    await memory.keep(ledger)
    assert booted(path, "1").load() == OPEN | {1: (13,)}
    fresh = Ledger(10.0)
    await memory.recall(fresh, 0.0)
    assert fresh.xids() == {}


def test_linux_tells_its_boot():
    assert boot_id() == boot_id()
