"""The error queue of an instrument, as SCPI-99 (21.8) has it: first in, first out, and its overflow is an entry too."""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScpiError:
    """An entry of the queue: why a command was not carried out. Negative codes are the standard's."""

    code: int
    text: str

    def __str__(self) -> str:
        return f'{self.code},"{self.text}"'


class RefusedError(Exception):
    """A command is not carried out. Made anew each time: an exception remembers everywhere it was raised."""

    def __init__(self, error: ScpiError) -> None:
        super().__init__(str(error))
        self.error = error


UNDEFINED_HEADER = ScpiError(-113, "Undefined header")
SYNTAX_ERROR = ScpiError(-102, "Syntax error")
DATA_TYPE_ERROR = ScpiError(-104, "Data type error")
NOT_ALLOWED = ScpiError(-108, "Parameter not allowed")
MISSING = ScpiError(-109, "Missing parameter")
QUEUE_OVERFLOW = ScpiError(-350, "Queue overflow")
NO_ERROR = ScpiError(0, "No error")

_COMMAND_ERRORS = range(-199, -99)


def is_command_error(error: ScpiError) -> bool:
    """Whether the line itself was wrong, so that nothing that follows in it can be trusted."""
    return error.code in _COMMAND_ERRORS


class ErrorQueue:
    """Entries of an instrument, shared by all its clients. When it is full, its newest entry becomes the overflow."""

    def __init__(self, size: int = 20) -> None:
        self._size = size
        self._entries: deque[ScpiError] = deque()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def put(self, error: ScpiError) -> None:
        """Add an entry."""
        if len(self._entries) < self._size:
            self._entries.append(error)
        else:
            self._entries[-1] = QUEUE_OVERFLOW

    def take(self) -> ScpiError:
        """The oldest entry, which is gone then."""
        return self._entries.popleft() if self._entries else NO_ERROR

    def take_all(self) -> list[ScpiError]:
        """Every entry, oldest first; at least one that says that there is none."""
        entries = list(self._entries) or [NO_ERROR]
        self._entries.clear()
        return entries

    def clear(self) -> None:
        """Forget every entry."""
        self._entries.clear()
