import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN, decoded, hex_lines, lanes, pieces, title


def test_flags_are_left_out_unless_they_are_asked_for() -> None:
    assert pieces(LOWER, flags=False) == [range(8), range(14, 128)]
    assert pieces(reg.LANE_STATUS, flags=False) == [range(128, 134), range(154, 256)]
    assert pieces(reg.OCSTRX, flags=False) == [range(128, 204), range(205, 256)]
    assert pieces(0x2C, flags=False) == []
    assert pieces(reg.LANE_STATUS, flags=True) == [range(128, 256)]
    assert pieces(reg.ADMINISTRATIVE, flags=False) == [range(128, 256)]


@given(st.sampled_from(SHOWN), st.dictionaries(st.integers(0, 255), st.integers(0, 255)))
def test_nothing_is_told_of_bytes_that_were_not_read(page: int, known: dict[int, int]) -> None:
    for shown in decoded(page, known):
        assert shown.byte in known
        assert shown.text
    for row in lanes(known, known):
        assert row["lane"] in "12345678"


@given(st.binary(min_size=128, max_size=128))
def test_any_bytes_can_be_shown(content: bytes) -> None:
    known = dict(enumerate(content, start=128))
    for page in SHOWN:
        assert all(shown.text.isprintable() for shown in decoded(page, known))
    assert all(line.isprintable() for line in hex_lines(known, range(128, 256)))


def test_hex_lines_name_addresses_and_leave_gaps() -> None:
    known = {byte: byte for byte in range(130, 140)}

    assert list(hex_lines(known, range(129, 141))) == [
        "128     .. 82 83 84 85 86 87  88 89 8a 8b ..            ............"
    ]


def test_lanes_are_told_by_name() -> None:
    status = dict.fromkeys(range(128, 256), 0x44)
    switch = dict.fromkeys(range(128, 256), 1)

    rows = lanes(status, switch)

    assert len(rows) == 8
    assert rows[0]["state"] == "ACTIVATED"
    assert (rows[0]["path"], rows[0]["result"]) == ("path 1", "success")
    assert "path" not in lanes(status, {})[0]


@pytest.mark.parametrize("page", SHOWN)
def test_every_page_has_a_title(page: int) -> None:
    assert title(page)
    assert title(0x55) == "page 55h"
