"""Requests of the module bus: however bytes arrive, the same requests come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator import i2c_wire as wire
from ringlight.fabric.errors import InvalidError

BYTES = st.integers(0, 255)
REQUESTS = st.builds(
    wire.Request,
    id=st.integers(0, 2**32 - 1),
    operation=BYTES,
    select=BYTES,
    address=BYTES,
    length=st.integers(0, 2**16 - 1),
    data=st.binary(max_size=300),
)


@given(st.lists(REQUESTS, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_requests_come_out_as_they_were_sent_however_they_are_cut(requests, cuts):
    stream = b"".join(wire.request(each) for each in requests)
    requests_in, received, at = wire.Requests(), [], 0
    turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        received += requests_in.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert received == requests


def test_the_bytes_are_those_of_the_page():
    sent = wire.request(
        wire.Request(id=0x01020304, operation=1, select=3, address=0x50, length=0x0102, data=b"\x7f\x10")
    )
    assert sent == bytes.fromhex("01020304 01 03 50 0002 0102 7f10")
    assert wire.reply(0x01020304, wire.Status.ACKNOWLEDGED, b"ab") == bytes.fromhex("00 01020304 00 0002 6162")
    assert wire.lines_changed(3, wire.lines(interrupt=True, present=True)) == bytes.fromhex("01 03 03")
    assert wire.opening("n17") == b"RLI2C1 n17\n"


@pytest.mark.parametrize("line", [b"", b"RLI2C2 n1", b"\xff\xfe", b"GET / HTTP/1.1"])
def test_a_line_that_opens_nothing_is_refused(line):
    with pytest.raises(InvalidError, match="RLI2C1"):
        wire.opened_bus(line)
