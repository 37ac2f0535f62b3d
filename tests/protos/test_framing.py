import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.fabric.errors import InvalidError
from ringlight.protos.framing import MAX_FRAME, encode_frame, read_frame
from ringlight.protos.v1 import hardware_pb2 as pb


def _read_all(data: bytes, pieces: int = 1) -> list[pb.HardwareRequest]:
    async def read() -> list[pb.HardwareRequest]:
        reader = asyncio.StreamReader()
        for start in range(0, len(data), pieces):
            reader.feed_data(data[start : start + pieces])
        reader.feed_eof()
        messages = []
        while (message := await read_frame(reader, pb.HardwareRequest)) is not None:
            messages.append(message)
        return messages

    return asyncio.run(read())


@given(
    nodes=st.lists(st.text(max_size=300), max_size=8),
    pieces=st.integers(1, 400),
    lost=st.integers(0, 3),
)
def test_messages_survive_any_cutting_and_a_torn_end_is_the_end(nodes: list[str], pieces: int, lost: int) -> None:
    sent = [pb.HardwareRequest(id=number, attach=pb.Attach(node=node)) for number, node in enumerate(nodes, 1)]
    data = b"".join(encode_frame(message) for message in sent)
    assert _read_all(data, pieces) == sent
    assert _read_all(data[: len(data) - lost], pieces) == (sent[:-1] if lost and sent else sent)


def test_an_empty_message_is_a_frame() -> None:
    assert _read_all(encode_frame(pb.HardwareRequest())) == [pb.HardwareRequest()]


def test_a_frame_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(InvalidError, match=f"a frame of {MAX_FRAME + 1} bytes"):
        _read_all((MAX_FRAME + 1).to_bytes(4, "big"))


def test_a_message_too_long_is_not_sent() -> None:
    with pytest.raises(InvalidError, match="does not fit a frame"):
        encode_frame(pb.HardwareRequest(attach=pb.Attach(node="n" * MAX_FRAME)))


def test_bytes_that_are_no_such_message_are_refused() -> None:
    with pytest.raises(InvalidError, match="no HardwareRequest"):
        _read_all((3).to_bytes(4, "big") + b"\xff\xff\xff")


def test_a_connection_that_breaks_is_the_end() -> None:
    async def read() -> pb.HardwareRequest | None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"\0\0")
        reader.set_exception(ConnectionResetError())
        return await read_frame(reader, pb.HardwareRequest)

    assert asyncio.run(read()) is None
