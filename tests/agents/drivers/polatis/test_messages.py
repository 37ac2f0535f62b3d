"""What is said to a switch and what its answers mean."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.polatis import messages
from ringlight.agents.drivers.polatis.messages import DeviceError, Identity, NotUnderstoodError, PortState

ports = st.integers(1, 2000)
pairs = st.dictionaries(ports, ports).filter(lambda found: len(set(found.values())) == len(found))


@given(pairs)
def test_connections_are_read_as_they_were_written(found):
    written = f"{messages.port_list(found)},{messages.port_list(found.values())}"
    assert messages.connections_from(written) == found
    assert messages.connect(found) == f":oxc:swit:conn:add {written}"
    assert messages.disconnect(found) == f":oxc:swit:conn:sub {written}"


@given(st.text(max_size=60))
def test_whatever_a_switch_says_is_understood_or_refused(answer):
    for read in (
        messages.identity_from,
        messages.size_from,
        messages.connections_from,
        messages.error_from,
        lambda text: messages.port_states_from(text, [1, 2]),
        lambda text: messages.powers_from(text, [1, 2]),
    ):
        with contextlib.suppress(NotUnderstoodError):
            read(answer)
        messages.boot_mode_from(answer)


def test_what_is_not_understood_is_shown_in_part():
    with pytest.raises(NotUnderstoodError) as caught:
        messages.connections_from("x" * 10_000)
    assert len(str(caught.value)) < 200


@given(st.lists(ports, unique=True, max_size=600))
def test_powers_are_asked_for_in_portions_and_of_each_port_once(wanted):
    asked = []
    for query, some in messages.powers(wanted):
        assert len(some) <= messages.MOST_POWERS
        assert query == f":pmon:pow? {messages.port_list(some)}"
        asked += some
    assert asked == wanted


def test_no_connections_at_all():
    assert messages.connections_from("(@),(@)") == {}


def test_blanks_and_ranges_are_understood():
    assert messages.connections_from("(@1, 2, 3), (@19,18,22)") == {1: 19, 2: 18, 3: 22}
    assert messages.connections_from("(@1:3),(@22:20)") == {1: 22, 2: 21, 3: 20}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "(@1)",
        "(@1,2),(@3)",
        "(@1,1),(@3,4)",
        "(@1,2),(@3,3)",
        "(@a),(@b)",
        "1,2",
        "(@1),(@2);0",
        "(@1:999999999),(@1)",
    ],
)
def test_half_an_answer_is_no_answer(answer):
    with pytest.raises(NotUnderstoodError, match=re.escape(":oxc:swit:conn:stat?")):
        messages.connections_from(answer)


def test_who_it_is():
    identity = messages.identity_from("Polatis,N-OST-24x24-LA1-DMHNS,12345,6.5.2.18")
    assert identity == Identity("Polatis", "N-OST-24x24-LA1-DMHNS", "12345", "6.5.2.18")
    assert identity.size == (24, 24)
    assert Identity("Polatis", "OST", "1", "1").size is None


def test_states_and_powers_belong_to_the_ports_that_were_asked_for():
    states = messages.port_states_from("(D,E,F)", [2, 4, 6])
    assert states == {2: PortState.DISABLED, 4: PortState.ENABLED, 6: PortState.FAILED}
    assert messages.powers_from("(-12.3, -40.0, NaN, -inf)", [1, 2, 3, 4]) == {
        1: -12.3,
        2: -40.0,
        3: None,
        4: -float("inf"),
    }
    for too_few in ("(D,E)", "(D,E,X)", "D,E,F", "()"):
        with pytest.raises(NotUnderstoodError):
            messages.port_states_from(too_few, [2, 4, 6])
    with pytest.raises(NotUnderstoodError):
        messages.powers_from("(-12.3)", [1, 2])


def test_the_error_queue():
    assert messages.error_from('-221, "Settings conflict"') == DeviceError(-221, "Settings conflict")
    assert messages.error_from('0,"No error"') is None
    assert messages.error_from("+0, No error") is None


def test_the_size_and_the_boot_mode():
    assert messages.size_from(" 16, 16") == (16, 16)
    assert [messages.boot_mode_from(text) for text in ("DARK", '"Auto"', "rest ")] == ["DARK", "AUTO", "REST"]
