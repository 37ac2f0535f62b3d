"""Messages on a byte stream: a 4-byte big-endian length, then that many bytes of one message.

Used on the socket between an agent and the emulated hardware. Both sides bound a frame, so a stream that is no such
stream is noticed at its first four bytes instead of filling the memory.
"""

import asyncio
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from ringlight.fabric.errors import InvalidError

MAX_FRAME = 1 << 20  # bytes; the largest message, a readout with thousands of faults, stays far below
_LENGTH_BYTES = 4

MessageT = TypeVar("MessageT", bound=Message)


def encode_frame(message: Message) -> bytes:
    """One message with its length in front.

    Raises:
        InvalidError: it is larger than `MAX_FRAME` bytes.
    """
    payload = message.SerializeToString()
    if len(payload) > MAX_FRAME:
        raise InvalidError(f"a message of {len(payload)} bytes does not fit a frame of at most {MAX_FRAME}")
    return len(payload).to_bytes(_LENGTH_BYTES, "big") + payload


async def read_frame(reader: asyncio.StreamReader, kind: type[MessageT]) -> MessageT | None:
    """The next message, or None when the stream ended or broke.

    Raises:
        InvalidError: the bytes are no frame, or hold no message of this kind; the stream cannot be read any further.
    """
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
        if length > MAX_FRAME:
            raise InvalidError(
                f"a frame of {length} bytes, at most {MAX_FRAME} are allowed",
                hint="the peer does not speak the protocol of hardware.proto",
            )
        payload = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    message = kind()
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise InvalidError(
            f"a frame of {length} bytes is no {kind.DESCRIPTOR.name}: {error}",
            hint="the peer does not speak the protocol of hardware.proto",
        ) from error
    return message
