"""Every command an emulated switch knows: the real switch's, and under ``:EMUL:`` what breaks and mends it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringlight.emulator.polatis.errors import (
    DATA_TYPE_ERROR,
    MISSING,
    NOT_ALLOWED,
    UNDEFINED_HEADER,
    RefusedError,
)
from ringlight.emulator.polatis.matrix import ILLEGAL_VALUE, OUT_OF_RANGE, TOO_MUCH_DATA, BootMode, PortState
from ringlight.emulator.polatis.syntax import list_of, matches, ports_in

if TYPE_CHECKING:
    from ringlight.emulator.polatis.instrument import Instrument

Parameters = Sequence[str]
Act = Callable[["Instrument", Parameters, float], str | None]

FIRMWARE = "6.5.2.18"
_MOST_POWERS = 256  # ports that one query of powers may name
_HAS_ERRORS = 4  # bit 2 of the status byte: the error queue is not empty


@dataclass(frozen=True, slots=True)
class Handler:
    """What one command does.

    Attributes:
        names: of its header, with the short form in capitals.
        query: it ends in a question mark, and is answered.
        least: parameters it takes, at least.
        most: and at most.
        waits: it is carried out when the mirrors stand still.
    """

    names: tuple[str, ...]
    query: bool
    body: Act
    least: int
    most: int
    waits: bool

    def act(self, instrument: "Instrument", parameters: Parameters, now: float) -> str | None:
        """Carry it out; what it answers, if anything.

        Raises:
            RefusedError: it cannot be carried out like that.
        """
        if len(parameters) < self.least:
            raise RefusedError(MISSING)
        if len(parameters) > self.most:
            raise RefusedError(NOT_ALLOWED)
        return self.body(instrument, parameters, now)


COMMANDS: list[Handler] = []


def _command(header: str, *, takes: int | tuple[int, int] = 0, waits: bool = False) -> Callable[[Act], Act]:
    """Add a command to the tree; one with a question mark is a query."""
    least, most = takes if isinstance(takes, tuple) else (takes, takes)

    def add(body: Act) -> Act:
        names = tuple(header.removesuffix("?").split(":"))
        COMMANDS.append(Handler(names, header.endswith("?"), body, least, most, waits))
        return body

    return add


def _quiet(header: str, does: Callable[["Instrument"], object]) -> None:
    """Add a set command without parameters."""

    @_command(header)
    def _act(instrument: "Instrument", _parameters: Parameters, _now: float) -> None:
        does(instrument)


# -- common ------------------------------------------------------------------------------------------------------------


@_command("*IDN?")
def _identify(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return f"Polatis,{instrument.model},{instrument.serial},{FIRMWARE}"


@_command("*OPC?", waits=True)
def _complete(_instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return "1"


@_command("*WAI", waits=True)
def _wait(_instrument: "Instrument", _parameters: Parameters, _now: float) -> None:
    """Waiting is all it does."""


@_command("*STB?")
def _status(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return str(_HAS_ERRORS if instrument.errors else 0)


@_command("*RST")
def _reset(instrument: "Instrument", _parameters: Parameters, now: float) -> None:
    instrument.matrix.disconnect_all(now)


_quiet("*CLS", lambda instrument: instrument.errors.clear())


@_command("SYSTem:ERRor?")
@_command("SYSTem:ERRor:NEXT?")
def _next_error(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return str(instrument.errors.take())


@_command("SYSTem:ERRor:ALL?")
def _all_errors(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return ",".join(map(str, instrument.errors.take_all()))


@_command("SYSTem:COMMunicate:NETWork:ADDRess?")
def _address(_instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return 'IP="127.0.0.1" Gateway="0.0.0.0" Mask="255.0.0.0" Broadcast="127.255.255.255"'


# -- cross-connects ----------------------------------------------------------------------------------------------------


@_command("OXC:SWITch:SIZE?")
def _size(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return f"{instrument.matrix.inputs},{instrument.matrix.outputs}"


@_command("OXC:SWITch:CONNect:ADD", takes=(2, 3))
def _add(instrument: "Instrument", parameters: Parameters, now: float) -> None:
    instrument.matrix.connect(_pairs(parameters), now)


@_command("OXC:SWITch:CONNect:ONLY", takes=(2, 3))
def _only(instrument: "Instrument", parameters: Parameters, now: float) -> None:
    instrument.matrix.connect_only(_pairs(parameters), now)


@_command("OXC:SWITch:CONNect:SUB", takes=2)
def _sub(instrument: "Instrument", parameters: Parameters, now: float) -> None:
    instrument.matrix.disconnect(ports_in(parameters[0]), ports_in(parameters[1]), now)


@_command("OXC:SWITch:DISConnect:ALL")
def _disconnect_all(instrument: "Instrument", _parameters: Parameters, now: float) -> None:
    instrument.matrix.disconnect_all(now)


@_command("OXC:SWITch:CONNect:STATe?")
def _connections(instrument: "Instrument", _parameters: Parameters, now: float) -> str:
    pairs = instrument.matrix.connections(now)
    return f"{list_of(list(pairs))},{list_of(list(pairs.values()))}"


@_command("OXC:SWITch:CONNect:PORT?", takes=1)
def _peer(instrument: "Instrument", parameters: Parameters, now: float) -> str:
    peer = instrument.matrix.peer(_whole(parameters[0]), now)
    return f'"{"" if peer is None else peer}"'


# -- ports and powers --------------------------------------------------------------------------------------------------


@_command("OXC:SWITch:PORT:ENABle", takes=1)
def _enable(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    instrument.matrix.set_state(ports_in(parameters[0]), PortState.ENABLED)


@_command("OXC:SWITch:PORT:DISable", takes=1)
def _disable(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    instrument.matrix.set_state(ports_in(parameters[0]), PortState.DISABLED)


@_command("OXC:SWITch:PORT:STATe?", takes=1)
def _states(instrument: "Instrument", parameters: Parameters, _now: float) -> str:
    return f"({','.join(state.value for state in instrument.matrix.states(ports_in(parameters[0])))})"


@_command("PMON:POWer?", takes=1)
def _powers(instrument: "Instrument", parameters: Parameters, now: float) -> str:
    if not instrument.has_monitors:
        raise RefusedError(UNDEFINED_HEADER)
    ports = ports_in(parameters[0])
    if len(ports) > _MOST_POWERS:
        raise RefusedError(TOO_MUCH_DATA)
    return f"({','.join(f'{instrument.matrix.power(port, now):.1f}' for port in ports)})"


# -- power cycles ------------------------------------------------------------------------------------------------------


@_command("OXC:BOOT:MODE?")
def _boot_mode(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    return instrument.matrix.boot_mode.value


@_command("OXC:BOOT:MODE", takes=1)
def _set_boot_mode(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    for pattern, mode in (("DARK", BootMode.DARK), ("RESTore", BootMode.RESTORE), ("AUTo", BootMode.AUTOMATIC)):
        if matches(pattern, parameters[0].upper()):
            instrument.matrix.boot_mode = mode
            return
    raise RefusedError(ILLEGAL_VALUE)


# -- the emulator's own ------------------------------------------------------------------------------------------------


@_command("EMULator:PORT:FAIL", takes=1)
def _fail(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    instrument.matrix.set_state(ports_in(parameters[0]), PortState.FAILED)


@_command("EMULator:PORT:MEND", takes=1)
def _mend(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    instrument.matrix.mend(ports_in(parameters[0]))


@_command("EMULator:LASer", takes=2)
def _laser(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    """The transceivers at these ingresses send this many dBm, or nothing: OFF."""
    off = parameters[1].upper() == "OFF"
    instrument.matrix.send(ports_in(parameters[0]), None if off else _number(parameters[1]))


@_command("EMULator:SLOW", takes=1)
def _slow(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    """Each move takes so many seconds longer from now on."""
    instrument.matrix.slower = max(0.0, _number(parameters[0]))


@_command("EMULator:DEAF", takes=1)
def _deaf(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    """So many set commands are ignored without a word."""
    instrument.matrix.deaf_for = _whole(parameters[0])


@_command("EMULator:MUTE", takes=1)
def _mute(instrument: "Instrument", parameters: Parameters, now: float) -> None:
    """Nobody is answered for so many seconds; what is commanded is done."""
    instrument.silent_until = now + _number(parameters[0])


@_command("EMULator:POWer:CYCLe", takes=1)
def _power_cycle(instrument: "Instrument", parameters: Parameters, _now: float) -> None:
    """No power for so many seconds: nobody can connect, and the boot mode decides what is left."""
    instrument.orders.off_for = max(0.0, _number(parameters[0]))
    instrument.matrix.lose_power()
    instrument.errors.clear()


@_command("EMULator:MOVes?")
def _moves(instrument: "Instrument", _parameters: Parameters, _now: float) -> str:
    """How many commands have moved a mirror."""
    return str(instrument.matrix.moves)


def _drop(instrument: "Instrument") -> None:
    instrument.orders.drop = True


_quiet("EMULator:DROP", _drop)


# -- parameters --------------------------------------------------------------------------------------------------------


def _pairs(parameters: Parameters) -> dict[int, int]:
    """Two lists of ports as cross-connects; the third parameter is a mode that changes nothing here."""
    ingresses, egresses = ports_in(parameters[0]), ports_in(parameters[1])
    if len(ingresses) != len(egresses) or len(set(ingresses)) != len(ingresses):
        raise RefusedError(ILLEGAL_VALUE)
    return dict(zip(ingresses, egresses, strict=True))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise RefusedError(DATA_TYPE_ERROR) from None
    if not abs(value) < 1e6:  # noqa: PLR2004 - also refuses what is no number
        raise RefusedError(OUT_OF_RANGE)
    return value


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004 - digits
        raise RefusedError(DATA_TYPE_ERROR)
    return int(text)
