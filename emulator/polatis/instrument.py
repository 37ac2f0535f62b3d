"""An emulated switch as its clients meet it: lines go in, answers come out, and what went wrong waits to be asked for.

Pure: a line is a generator that yields the time until which it has to wait, as ``*opc?`` does, and is sent the present
time then. Set commands return at once and say nothing. What the emulator's own commands order (drop every connection,
lose power) is left in `orders` for whoever holds the sockets.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from ringlight.emulator.polatis.commands import COMMANDS, Handler
from ringlight.emulator.polatis.errors import UNDEFINED_HEADER, ErrorQueue, RefusedError, is_command_error
from ringlight.emulator.polatis.matrix import Matrix
from ringlight.emulator.polatis.syntax import Unit, matches, units_of

Steps = Generator[float, float, str | None]


@dataclass(slots=True)
class Orders:
    """What is to be done with the connections.

    Attributes:
        drop: cut off every client.
        off_for: seconds without power from now on; None for a switch that has power.
    """

    drop: bool = False
    off_for: float | None = None


@dataclass(slots=True)
class Instrument:
    """A switch, without its sockets.

    Attributes:
        matrix: its optics.
        model: such as ``N-OST-16x16-LA1-DMHNS``; one that begins with I-OST has no power monitors.
        serial: number.
        errors: its queue.
        silent_until: it answers nobody before this time, but obeys.
        orders: see `Orders`.
    """

    matrix: Matrix
    model: str
    serial: str
    errors: ErrorQueue = field(default_factory=ErrorQueue)
    silent_until: float = 0.0
    orders: Orders = field(default_factory=Orders)

    @property
    def has_monitors(self) -> bool:
        """Whether it can measure power."""
        return not self.model.upper().startswith("I-OST")

    def take_orders(self) -> Orders:
        """What is to be done with the connections; it is taken as done."""
        orders, self.orders = self.orders, Orders()
        return orders

    def obey(self, line: str, now: float) -> Steps:
        """Carry out a line. Returns what is answered: the answers of its queries, or nothing if there are none."""
        answers: list[str] = []
        try:
            for unit in units_of(line):
                try:
                    handler = _handler(unit)
                    if handler.waits:
                        while (still := self.matrix.still_at(now)) > now:
                            now = yield still
                    answer = handler.act(self, unit.parameters, now)
                except RefusedError as refused:
                    if is_command_error(refused.error):
                        raise
                    self.errors.put(refused.error)
                    continue
                if answer is not None:
                    answers.append(answer)
        except RefusedError as refused:
            self.errors.put(refused.error)
        return ";".join(answers) if answers else None


def _handler(unit: Unit) -> Handler:
    for handler in COMMANDS:
        if handler.query is unit.query and _is_called(handler.names, unit.names):
            return handler
    raise RefusedError(UNDEFINED_HEADER)


def _is_called(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return len(patterns) == len(names) and all(map(matches, patterns, names))
