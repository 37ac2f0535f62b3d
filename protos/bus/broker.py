"""Which broker, and who we are there: from an address and files to what a connection needs."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ringlight.fabric.errors import InvalidError

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_HINT = "write mqtt://HOST[:PORT], or mqtts://USER@HOST[:PORT] for TLS"


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker.

    Attributes:
        tls: how its certificate is checked; None for a connection that anybody may read.
        password: of the user; never shown.
    """

    host: str
    port: int
    user: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        """Its address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"

    def __repr__(self) -> str:
        """Without what must not be in a log."""
        return f"Broker({self})"


def broker_at(address: str, *, password_file: Path | None = None, ca_file: Path | None = None) -> Broker:
    """The broker at an address.

    Args:
        address: ``mqtt://HOST``, or ``mqtts://`` for TLS; with a port and a user if need be.
        password_file: holds the user's password in its first line, and nothing else.
        ca_file: certificates that the broker's is checked by, in place of the system's.

    Raises:
        InvalidError: the address is none, or a file cannot be used.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
        (parts.hostname or "").encode("idna")  # as the resolver does, which would fail only later
    except ValueError as error:
        raise InvalidError(f"{address!r} is no address of a broker: {error}", hint=_HINT) from error
    if parts.scheme not in _PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query or port == 0:
        raise InvalidError(f"{address!r} is no address of a broker", hint=_HINT)
    if parts.password is not None:
        raise InvalidError("a password stands in the address of the broker", hint="put it into a file of its own")
    if ca_file is not None and parts.scheme != "mqtts":
        raise InvalidError("certificates are of no use to mqtt://", hint="write mqtts:// for TLS")
    user = unquote(parts.username) if parts.username else None
    if password_file is not None and user is None:
        raise InvalidError("there is a password for the broker, and no user", hint=_HINT)
    return Broker(
        parts.hostname,
        port or _PORTS[parts.scheme],
        user,
        _first_line(password_file) if password_file is not None else None,
        _context(ca_file) if parts.scheme == "mqtts" else None,
    )


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        text = f"the password file {path} cannot be read: {error}"
        raise InvalidError(text, hint="may this user read it?") from error
    if not lines or not lines[0]:
        raise InvalidError(f"the password file {path} is empty", hint="its first line is the password")
    return lines[0]


def _context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidError(f"the certificates in {ca_file} cannot be used: {error}", hint="expected PEM") from error
