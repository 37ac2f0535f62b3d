"""The bytes of the module bus over a socket, as docs/i2c-socket.md lays them down: the emulator's side.

Pure: bytes in, requests out, and messages back into bytes. Nothing here knows a module.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from ringlight.fabric.errors import InvalidError

LONGEST_OPENING = 256  # bytes of the client's first line
_OPENING = "RLI2C1 "
_REQUEST = struct.Struct(">IBBBHH")
_REPLY = struct.Struct(">BIBH")
_REPLIED, _LINES_CHANGED = 0, 1
_INTERRUPT, _PRESENT = 0x01, 0x02


class Status(IntEnum):
    """How a request ended."""

    ACKNOWLEDGED = 0
    NO_ANSWER = 1
    REFUSED = 2
    NONSENSE = 3
    IN_USE = 4


class Operation(IntEnum):
    """What a client asks for."""

    TRANSFER = 1
    SET_LINES = 2
    GET_LINES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came: nothing in it is known to make sense."""

    id: int
    operation: int
    select: int
    address: int
    length: int
    data: bytes


def opening(bus: str) -> bytes:
    """The line with which a client opens a bus."""
    return f"{_OPENING}{bus}\n".encode()


def opened_bus(line: bytes) -> str:
    """The bus that a client's first line asks for.

    Args:
        line: without its line feed.

    Raises:
        InvalidError: it is no such line.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.startswith(_OPENING):
        raise InvalidError("the first line must be RLI2C1 and the name of a bus")
    return text.removeprefix(_OPENING)


class Requests:
    """Cuts what a client sends into requests. Every sequence of bytes is a sequence of requests, good or bad."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Request]:
        """The requests that are complete now."""
        self._rest += data
        requests: list[Request] = []
        at = 0
        while len(self._rest) - at >= _REQUEST.size:
            id_, operation, select, address, written, length = _REQUEST.unpack_from(self._rest, at)
            content = at + _REQUEST.size
            if len(self._rest) - content < written:
                break
            at = content + written
            requests.append(Request(id_, operation, select, address, length, bytes(self._rest[content:at])))
        del self._rest[:at]
        return requests


def request(message: Request) -> bytes:
    """A request in bytes, for clients of our own."""
    header = (message.id, message.operation, message.select, message.address, len(message.data), message.length)
    return _REQUEST.pack(*header) + message.data


def reply(id_: int, status: Status, data: bytes = b"") -> bytes:
    """The answer to a request."""
    return _REPLY.pack(_REPLIED, id_, status, len(data)) + data


def lines(*, interrupt: bool, present: bool) -> int:
    """The lines of a module in one byte."""
    return _INTERRUPT * interrupt | _PRESENT * present


def lines_changed(select: int, state: int) -> bytes:
    """Lines of a module changed."""
    return bytes((_LINES_CHANGED, select, state))
