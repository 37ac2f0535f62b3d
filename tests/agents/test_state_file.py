"""The fence on disk."""

import asyncio
import json
import os
import threading

import pytest

from ringlight.agents.fencing import Fence
from ringlight.agents.state_file import FenceFile
from ringlight.fabric.errors import InvalidError, UnavailableError


def reload(directory, agent="a1"):
    file = FenceFile(directory, agent)
    file.load()
    return file.fence


def test_an_agent_without_a_file_has_seen_nothing(tmp_path):
    assert reload(tmp_path) == Fence()


async def test_what_is_saved_is_loaded(tmp_path):
    file = FenceFile(tmp_path / "made" / "for-it", "a1")
    file.load()
    await file.see(7)
    file.note_applied("n0", 12)
    file.note_applied("n1", 3)
    await file.save()
    assert reload(tmp_path / "made" / "for-it") == Fence(7, {"n0": 12, "n1": 3})


async def test_an_epoch_is_on_disk_when_see_returns(tmp_path):
    file = FenceFile(tmp_path, "a1")
    await file.see(7)
    assert reload(tmp_path).epoch == 7
    await file.see(6)
    assert (file.fence.epoch, reload(tmp_path).epoch) == (7, 7)


async def test_two_agents_share_a_directory(tmp_path):
    await FenceFile(tmp_path, "a1").see(7)
    await FenceFile(tmp_path, "a2").see(8)
    assert (reload(tmp_path, "a1").epoch, reload(tmp_path, "a2").epoch) == (7, 8)


async def test_nothing_new_writes_nothing(fences, monkeypatch):
    await fences.see(7)
    monkeypatch.setattr(fences, "_replace", lambda _: pytest.fail("nothing had changed"))
    await fences.see(7)
    await fences.save()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"epoch": -1, "generations": {}}',
        b'{"epoch": 1}',
        b'{"epoch":"1","generations":{}}',
    ],
)
def test_a_damaged_file_is_refused_with_a_hint(tmp_path, content):
    (tmp_path / "agent-a1.json").write_bytes(content)
    with pytest.raises(InvalidError, match=r"agent-a1\.json is damaged") as refused:
        reload(tmp_path)
    assert refused.value.hint


def test_a_file_that_cannot_be_read_is_unavailable(tmp_path):
    (tmp_path / "agent-a1.json").mkdir()
    with pytest.raises(UnavailableError, match="cannot read") as refused:
        reload(tmp_path)
    assert refused.value.hint


@pytest.mark.parametrize("agent", ["", "../a", "a/b", "-a", "a" * 64])
def test_an_id_that_is_no_file_name_is_refused(tmp_path, agent):
    with pytest.raises(InvalidError, match="is not an agent id"):
        FenceFile(tmp_path, agent)


async def test_an_epoch_that_cannot_be_written_shuts_out_lower_ones_and_is_reported(tmp_path):
    (tmp_path / "file").touch()
    file = FenceFile(tmp_path / "file" / "directory", "a1")
    with pytest.raises(UnavailableError, match="cannot write") as refused:
        await file.see(7)
    assert refused.value.hint
    assert file.fence == Fence(epoch=7)


async def test_a_crash_while_writing_leaves_the_former_file(tmp_path, monkeypatch):
    file = FenceFile(tmp_path, "a1")
    await file.see(7)

    def crash(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(UnavailableError):
        await file.see(8)
    assert reload(tmp_path).epoch == 7
    monkeypatch.undo()
    await file.see(8)
    assert reload(tmp_path).epoch == 8


async def test_concurrent_sights_leave_the_highest_epoch_on_disk(tmp_path):
    file = FenceFile(tmp_path, "a1")
    await asyncio.gather(*(file.see(epoch) for epoch in (9, 4, 7, 2, 8)))
    assert (file.fence.epoch, reload(tmp_path).epoch) == (9, 9)


async def test_a_cancelled_write_is_finished_before_the_next_begins(tmp_path, monkeypatch, eventually):
    file = FenceFile(tmp_path, "a1")
    began, may_end = threading.Event(), threading.Event()
    replace, running, most = file._replace, [], []

    def slow(fence):
        running.append(fence)
        most.append(len(running))
        began.set()
        assert may_end.wait(30)
        replace(fence)
        running.remove(fence)

    monkeypatch.setattr(file, "_replace", slow)
    first = asyncio.create_task(file.see(7))
    await eventually(began.is_set)
    first.cancel()
    file.note_applied("n0", 5)
    second = asyncio.create_task(file.save())
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert max(most) == 1
    assert json.loads((tmp_path / "agent-a1.json").read_text()) == {"epoch": 7, "generations": {"n0": 5}}
    assert file.fence == Fence(7, {"n0": 5})
