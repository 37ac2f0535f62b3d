"""What a service manager hears of a daemon, and that a daemon lives on when nobody hears it."""

import logging
import socket
import uuid
from contextlib import closing

import pytest

from ringlight.cli import daemons, service_manager
from ringlight.cli.service_manager import SOCKET_VARIABLE


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path, monkeypatch):
    """systemd's end of the socket, in both forms in which it is named."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@ringlight-{uuid.uuid4()}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as bound:
        bound.bind("\0" + name[1:] if name.startswith("@") else name)
        bound.settimeout(1)
        monkeypatch.setenv(SOCKET_VARIABLE, name)
        yield bound


def test_ready_and_its_text_are_told_when_the_daemon_announces_itself(manager, capsys):
    daemons.announce("ready grpc=127.0.0.1:7400")
    assert manager.recv(4096) == b"READY=1\nSTATUS=ready grpc=127.0.0.1:7400"
    assert capsys.readouterr().out == "ready grpc=127.0.0.1:7400\n"


def test_the_end_is_told(manager):
    service_manager.tell_stopping()
    assert manager.recv(4096) == b"STOPPING=1"


def test_without_a_manager_nothing_is_told(monkeypatch, caplog):
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    service_manager.tell_ready("ready")
    assert not caplog.records


def test_a_manager_that_is_gone_costs_a_line_in_the_log(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv(SOCKET_VARIABLE, str(tmp_path / "nobody"))
    with caplog.at_level(logging.WARNING):
        service_manager.tell_ready("ready")
    assert "cannot tell the service manager" in caplog.text
