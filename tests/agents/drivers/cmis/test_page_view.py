import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN, decoded, hex_lines, pieces, same_bytes, title


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
        assert shown.text
        assert (shown.byte in known) == (shown.text != "not read")


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


@pytest.mark.parametrize(
    ("page", "byte", "content", "said"),
    [
        (LOWER, 1, "54", {"CMIS revision": "5.4"}),
        (LOWER, 39, "0102", {"active firmware": "1.2"}),
        (LOWER, 9, "41", {"temperature and supply flags": "temperature high alarm, supply high warning"}),
        (LOWER, 9, "00", {"temperature and supply flags": "none"}),
        (reg.OCSTRX, 204, "0a", {"switch flags": "heater open, switch stuck"}),
        (reg.OCSTRX, 204, "80", {"switch flags": "bit 7"}),
        (reg.ADVERTISING, 144, "34", {"longest data path init": "0.1 s", "longest data path deinit": "0.05 s"}),
        (reg.LANE_STATUS, 202, "c1111111", {"configuration status": "SUCCESS IN_PROGRESS" + " SUCCESS" * 6}),
        (reg.OCSTRX, 208, "7fff0106013600c8", {"insertion loss": "- 2.62 3.10 2 dB"}),
    ],
)
def test_values_are_told_in_words(page: int, byte: int, content: str, said: dict[str, str]) -> None:
    known = dict(enumerate(bytes.fromhex(content), start=byte))
    shown = {one.name: one.text for one in decoded(page, known) if one.values}

    assert said.items() <= shown.items()


def test_flags_that_were_left_out_are_named() -> None:
    known = {byte: 0 for piece in pieces(reg.OCSTRX, flags=False) for byte in piece}

    assert [one.name for one in decoded(reg.OCSTRX, known) if one.text == "not read"] == ["switch flags"]
    assert not [one for one in decoded(reg.OCSTRX, known | {204: 0}) if one.text == "not read"]


def test_pages_are_the_same_as_far_as_both_are_known() -> None:
    assert same_bytes({128: 1, 129: 2}, {129: 2, 130: 3})
    assert not same_bytes({128: 1, 129: 2}, {128: 1, 129: 3})
    assert not same_bytes({128: 1}, {129: 1})


@pytest.mark.parametrize("page", SHOWN)
def test_every_page_has_a_title(page: int) -> None:
    assert title(page)
    assert title(0x55) == "page 55h"
