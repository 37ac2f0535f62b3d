"""Why a session with the controller ended: a closed set of words, for the agent's metrics."""

from enum import StrEnum

from ringlight.fabric.errors import RinglightError, UnavailableError


class SessionEnd(StrEnum):
    """Why a session ended, or was never begun."""

    CONTROLLER = "controller"  # it ended the stream in order
    HARDWARE = "hardware"  # ours: hardware is back and needs a hello of its own, or none answers any more
    BROKEN = "broken"  # the stream broke, or there was nobody to talk to
    SILENT = "silent"  # nothing was heard for too long
    NO_WELCOME = "no-welcome"  # the hello was not answered, or not by a welcome
    OUTRANKED = "outranked"  # a controller with a higher epoch was obeyed before
    OVERFLOW = "overflow"  # more waited to be sent than may wait
    DUPLICATE = "duplicate"  # another agent of this id, or for one of its nodes, has a session


class SessionLostError(UnavailableError):
    """A session cannot go on, or cannot begin.

    Attributes:
        end: why.
    """

    def __init__(self, end: SessionEnd, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.end = end


def end_of(error: RinglightError) -> SessionEnd:
    """Why a session ended that ended with an error."""
    return error.end if isinstance(error, SessionLostError) else SessionEnd.BROKEN
