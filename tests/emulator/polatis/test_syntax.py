"""How a line of a client is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.polatis.errors import RefusedError
from ringlight.emulator.polatis.syntax import list_of, matches, ports_in, shown, units_of

NAMES = ("OXC", "SWITch", "CONNect", "ADD")


def _headers(line):
    return [unit.names for unit in units_of(line)]


@given(st.lists(st.integers(1, 9999), max_size=40))
def test_lists_are_read_as_they_were_written(ports):
    assert ports_in(list_of(ports)) == ports


@given(st.tuples(*[st.booleans()] * len(NAMES)), st.randoms(use_true_random=False), st.booleans())
def test_long_and_short_forms_in_any_case_are_the_same_command(long, rng, colon):
    written = [
        name if full else name.rstrip("abcdefghijklmnopqrstuvwxyz") for name, full in zip(NAMES, long, strict=True)
    ]
    text = "".join(rng.choice((char.lower(), char.upper())) for char in ":".join(written))
    (unit,) = units_of(f"{':' * colon}{text} (@1),(@2)")
    assert all(map(matches, NAMES, unit.names))
    assert (unit.query, unit.parameters) == (False, ("(@1)", "(@2)"))


def test_nothing_between_the_two_forms_is_understood():
    assert matches("CONNect", "CONN")
    assert matches("CONNect", "CONNECT")
    assert not any(matches("CONNect", name) for name in ("CON", "CONNE", "CONNECTS", ""))


def test_a_command_without_a_colon_continues_where_the_one_before_stood():
    assert _headers(":oxc:swit:conn:sub (@1),(@2);add (@1),(@3);*opc?;stat?") == [
        ("OXC", "SWIT", "CONN", "SUB"),
        ("OXC", "SWIT", "CONN", "ADD"),
        ("*OPC",),
        ("OXC", "SWIT", "CONN", "STAT"),
    ]
    assert _headers(":oxc:swit:size?;:syst:err?")[1] == ("SYST", "ERR")


def test_blanks_quotes_and_brackets_hold_a_parameter_together():
    (unit,) = units_of(' \t:a:b\t( @1 , 2 ), "x;y,z" ,3 ')
    assert unit.parameters == ("( @1 , 2 )", '"x;y,z"', "3")
    assert ports_in(unit.parameters[0]) == [1, 2]
    assert list(units_of("")) == list(units_of(" ; ;")) == []


def test_ranges_go_either_way():
    assert ports_in("(@1:3,9,5:4)") == [1, 2, 3, 9, 5, 4]
    assert ports_in("(@)") == []


@pytest.mark.parametrize("parameter", ["", "1,2", "(1)", "(@a)", "(@1,)", "(@-1)", "(@1:999999999)", "(@1", '"(@1)"'])
def test_what_is_no_list_is_a_data_type_error(parameter):
    with pytest.raises(RefusedError, match="-104"):
        ports_in(parameter)


@pytest.mark.parametrize("line", ["1", ":oxc::size?", "?", "*", "(@1)", ":a (@1", ':a "x', "\ufffd", ":a:b??"])
def test_what_is_no_command_is_a_syntax_error(line):
    with pytest.raises(RefusedError, match="-102"):
        list(units_of(line))


@given(st.text(max_size=80))
def test_any_line_is_read_or_refused(line):
    try:
        units = list(units_of(line))
    except RefusedError:
        return
    assert all(unit.names for unit in units)


def test_long_lines_are_shown_in_part():
    assert shown("x" * 1000) == "x" * 200 + "..."
    assert shown("*idn?") == "*idn?"
