import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.registers import DURATIONS, FIELDS, Field, duration, power, text


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.page:02x}-{field.byte}-{field.name}")
def test_every_field_lies_within_its_page(field: Field) -> None:
    first = 0 if field.byte < 128 else 128
    assert first <= field.byte
    assert field.byte + field.length <= first + 128
    assert len(field.decode(bytes(field.length))) == field.count


@pytest.mark.parametrize(
    ("field", "data", "values"),
    [
        (reg.TEMPERATURE, "2d80", (45.5,)),
        (reg.TEMPERATURE, "ff00", (-1.0,)),
        (reg.SUPPLY, "80e8", (3.3,)),
        (reg.MODULE_STATE, "07", (3.0,)),
        (reg.MAX_INIT, "34", (4.0,)),
        (reg.MAX_DEINIT, "34", (3.0,)),
        (reg.DATA_PATH_STATE, "41444442", (1.0, 4.0, 4.0, 4.0, 4.0, 4.0, 2.0, 4.0)),
        (reg.RX_VALID, "05", (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (reg.TX_BIAS, "7530" * 8, (60.0,) * 8),
        (reg.RX_POWER, "2710" * 8, (0.0,) * 8),
        (reg.OCS_LOSSES, "7fff013601170190", (327.67, 3.10, 2.79, 4.00)),
        (reg.OCS_COMMITS, "00000102", (258.0,)),
        (reg.VENDOR, b"ACME            ".hex(), ("ACME",)),
        (reg.SCRATCHPAD, "524c000000000001", ("524c000000000001",)),
    ],
)
def test_known_bytes_decode(field: Field, data: str, values: tuple[float | str, ...]) -> None:
    decoded = field.decode(bytes.fromhex(data))
    assert decoded == tuple(value if isinstance(value, str) else pytest.approx(value) for value in values)


def test_no_light_is_no_number_but_less_than_any() -> None:
    assert power(0) == -math.inf
    assert power(1) == pytest.approx(-40.0)


@given(st.binary(min_size=16, max_size=16))
def test_any_name_can_be_told(data: bytes) -> None:
    told = text(data)
    assert told.isprintable()
    assert told.isascii()


@pytest.mark.parametrize("code", range(16))
def test_a_duration_is_an_upper_bound_and_never_shorter_than_the_code_before(code: int) -> None:
    assert duration(code) in DURATIONS
    assert code == 0 or duration(code) >= duration(code - 1)
