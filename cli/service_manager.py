"""What a daemon tells the service manager that started it, over systemd's notification socket.

Only `Type=notify` units set `NOTIFY_SOCKET`; everywhere else this does nothing. A manager that cannot be reached costs
a line in the log and never the daemon: the circuits matter more than who watches us.
"""

import logging
import os
import socket

SOCKET_VARIABLE = "NOTIFY_SOCKET"

_PATIENCE = 1.0  # seconds a manager may take to have room for a datagram

_log = logging.getLogger(__name__)


def tell_ready(text: str) -> None:
    """The daemon does what it is for; `text` is shown by ``systemctl status``."""
    _tell(f"READY=1\nSTATUS={text}")


def tell_stopping() -> None:
    """The daemon was asked to end, and is about it."""
    _tell("STOPPING=1")


def _tell(state: str) -> None:
    path = os.environ.get(SOCKET_VARIABLE)
    if not path:
        return
    address = "\0" + path[1:] if path.startswith("@") else path  # an abstract socket is written with an @
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(_PATIENCE)
            manager.connect(address)
            manager.send(state.encode())
    except OSError as error:
        _log.warning("cannot tell the service manager %r at %s: %s", state, path, error)
