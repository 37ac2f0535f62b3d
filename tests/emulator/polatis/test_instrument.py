"""An emulated switch as a client meets it, line by line, without a socket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.polatis.instrument import Instrument
from ringlight.emulator.polatis.matrix import MOVE_SECONDS, BootMode, Matrix


class Bench:
    """Somebody who types, and a clock."""

    def __init__(self, model: str = "N-OST-4x4-LA1-DMHNS") -> None:
        self.instrument = Instrument(Matrix(4, 4, seed=1), model, "4711")
        self.now = 0.0

    def say(self, line: str) -> str | None:
        """Say a line, wait for its end, and return the answer."""
        steps = self.instrument.obey(line, self.now)
        try:
            until = next(steps)
            while True:
                assert until > self.now, "it waits only for what is to come"
                self.now = until
                until = steps.send(until)
        except StopIteration as end:
            return end.value

    def error(self) -> int:
        return int(self.say(":syst:err?").split(",")[0])


@pytest.fixture
def bench():
    return Bench()


def test_the_table_of_commands(bench):
    """Every row of the real switch's table, in its order."""
    assert bench.say("*idn?") == "Polatis,N-OST-4x4-LA1-DMHNS,4711,6.5.2.18"
    assert bench.say(":oxc:swit:size?") == "4,4"
    assert bench.say(":oxc:swit:conn:add (@1,2,3),(@5,6,7)") is None
    assert bench.say("*opc?;:oxc:swit:conn:stat?") == "1;(@1,2,3),(@5,6,7)"
    assert bench.say(":oxc:swit:conn:only (@1,2),(@6,5);*opc?;stat?") == "1;(@1,2),(@6,5)"
    assert bench.say(":oxc:swit:conn:sub (@1),(@6);*opc?;stat?") == "1;(@2),(@5)"
    assert bench.say(":oxc:swit:conn:sub (@2),(@);*opc?;stat?") == "1;(@),(@)"
    assert bench.say(":oxc:swit:conn:add (@1,2,3),(@7,6,5),1;*opc?;port? 2") == '1;"6"'
    assert bench.say(":oxc:swit:conn:port? 8") == '""'
    assert bench.say(":oxc:swit:disc:all;*opc?;:oxc:swit:conn:stat?") == "1;(@),(@)"
    assert bench.say(":oxc:swit:port:dis (@2,6)") is None
    assert bench.say(":oxc:swit:port:stat? (@2,4,6)") == "(D,E,D)"
    assert bench.say(":oxc:swit:port:enab (@2,6);stat? (@2,4,6)") == "(E,E,E)"
    assert bench.say(":pmon:pow? (@1,5)") == "(0.0,-50.0)"
    assert bench.say(":oxc:boot:mode?") == "AUT"
    assert bench.say(":oxc:boot:mode dark;mode?") == "DARK"
    assert bench.say(":oxc:boot:mode REST;mode?") == "REST"
    assert bench.say("*stb?") == "0"
    assert bench.say(":syst:err?") == '0,"No error"'
    assert bench.say(":syst:comm:netw:addr?").startswith('IP="')
    assert bench.say("*rst") is None


def test_long_forms_and_any_case(bench):
    bench.say("oxc:SWITCH:connect:Add (@1),(@5)")
    assert bench.say("*OPC?;:OXC:Swit:Connect:State?") == "1;(@1),(@5)"
    assert bench.say("system:error:next?") == '0,"No error"'


def test_sets_are_silent_even_when_they_fail_and_the_queue_tells(bench):
    for line, code in (
        (":oxc:swit:conn:add (@1),(@9)", -222),
        (":oxc:swit:conn:add (@1),(@5,6)", -224),
        (":oxc:swit:conn:add (@1,1),(@5,6)", -224),
        (":oxc:swit:conn:sub (@1),(@)", -221),
        (":oxc:swit:conn:add (@1)", -109),
        (":oxc:swit:disc:all 1", -108),
        (":oxc:swit:conn:add 1,5", -104),
        (":oxc:swit:conn:make (@1),(@5)", -113),
        (":oxc:swit:size", -113),
        ("*idn", -113),
        ("!", -102),
        (":oxc:boot:mode bright", -224),
        (":oxc:swit:conn:port? x", -104),
        (":pmon:pow? (@9)", -222),
        (f":pmon:pow? (@{','.join('1' * 257)})", -223),
    ):
        assert bench.say(line) is None, line
        assert bench.say("*stb?") == "4"
        assert bench.error() == code, line
    assert bench.say("*stb?;:syst:err?") == '0;0,"No error"'


def test_the_whole_queue_at_once_and_a_queue_that_was_cleared(bench):
    bench.say("!")
    bench.say(":a?")
    assert bench.say(":syst:err:all?") == '-102,"Syntax error",-113,"Undefined header"'
    bench.say("!")
    bench.say("*cls")
    assert bench.error() == 0


def test_the_queue_overflows(bench):
    for _ in range(50):
        bench.say("!")
    assert bench.say(":syst:err:all?").split(",")[-2:] == ["-350", '"Queue overflow"']


def test_a_wrong_line_is_left_at_the_mistake_and_a_wrong_value_is_not(bench):
    assert bench.say("*stb?;:nonsense;*idn?") == "0"
    assert bench.error() == -113
    assert bench.say(":oxc:swit:conn:add (@1),(@9);*opc?") == "1"
    assert bench.error() == -222


def test_complete_is_said_when_the_mirrors_stand_still(bench):
    assert bench.say(":oxc:swit:conn:add (@1),(@5);stat?") == "(@),(@)"
    assert bench.now == 0.0
    bench.say("*opc?")
    assert MOVE_SECONDS[0] <= bench.now <= MOVE_SECONDS[1]
    assert bench.say(":oxc:swit:conn:stat?") == "(@1),(@5)"
    before = bench.now
    bench.say(":oxc:swit:conn:sub (@1),(@5);*wai")
    assert bench.now > before


def test_a_model_without_monitors_knows_no_power():
    bench = Bench("I-OST-4x4-LA1-DMHNS")
    assert bench.say(":pmon:pow? (@1)") is None
    assert bench.error() == -113


def test_what_the_emulator_itself_can_be_told(bench):
    bench.say(":emul:port:fail (@2,6)")
    assert bench.say(":oxc:swit:port:stat? (@1,2,6)") == "(E,F,F)"
    bench.say(":oxc:swit:port:enab (@2)")
    assert bench.error() == -240
    bench.say(":emul:port:mend (@2,6)")
    assert bench.say(":oxc:swit:port:stat? (@1,2,6)") == "(E,E,E)"
    bench.say(":emul:las (@1),-7.5")
    bench.say(":emul:laser (@2),off")
    assert bench.say(":pmon:pow? (@1,2)") == "(-7.5,-50.0)"
    bench.say(":emul:slow 2")
    bench.say(":oxc:swit:conn:add (@1),(@5);*opc?")
    assert bench.now > 2.0
    bench.say(":emul:deaf 1;:oxc:swit:conn:add (@2),(@6);*opc?")
    assert bench.say(":oxc:swit:conn:stat?") == "(@1),(@5)"
    assert bench.say(":emul:moves?") == "1"
    bench.say(":emul:mute 3")
    assert bench.instrument.silent_until == bench.now + 3.0
    bench.say(":emul:slow abc")
    assert bench.error() == -104
    bench.say(":emul:slow nan")
    assert bench.error() == -222


def test_orders_for_whoever_holds_the_sockets_are_given_once(bench):
    bench.say(":emul:drop")
    assert bench.instrument.take_orders().drop
    assert not bench.instrument.take_orders().drop
    bench.say(":oxc:swit:conn:add (@1),(@5);*opc?")
    bench.say("!")
    bench.instrument.matrix.boot_mode = BootMode.DARK
    bench.say(":emul:pow:cycl 1.5")
    assert bench.instrument.take_orders().off_for == 1.5
    assert bench.error() == 0, "the queue does not outlive its power"
    assert bench.say(":oxc:swit:conn:stat?") == "(@),(@)"


words = st.sampled_from(
    [":oxc:swit:conn:add", ":oxc:swit:conn:stat?", "*opc?", ":syst:err?", ":emul:slow", "(@1),(@5)"]
)


@given(st.lists(st.one_of(words, st.text(max_size=8)), max_size=6).map(" ".join))
def test_no_line_breaks_it(line):
    bench = Bench()
    answer = bench.say(line)
    assert answer is None or answer.isprintable()
    assert bench.say("*idn?").startswith("Polatis,")
