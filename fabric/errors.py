"""The one root of all errors Ringlight raises on purpose.

An error says what happened and where (`str(error)`), what to do about it (`hint`), and carries a machine-readable
`code` that is mapped once to a gRPC status (`ringlight.protos.status`) and once to an exit code (`ringlight.cli`).
Anything that is not a `RinglightError` is a bug and is allowed to look like one.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """What kind of refusal or failure an error is; stable, for programs."""

    INVALID = "invalid"  # the request or file can never be right as it stands
    NOT_FOUND = "not-found"  # it names something that does not exist
    CONFLICT = "conflict"  # it contradicts what exists already
    REFUSED = "refused"  # a safety gate is shut
    UNAVAILABLE = "unavailable"  # try again later
    INTERNAL = "internal"  # our own fault


class RinglightError(Exception):
    """Root of all deliberate errors.

    Attributes:
        code: what kind of error it is.
        hint: what the reader can do about it; may be empty.
    """

    code: ErrorCode = ErrorCode.INTERNAL

    def __init__(self, message: str, *, hint: str = "", code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if code is not None:
            self.code = code


class InvalidError(RinglightError):
    """The input can never be accepted as it stands."""

    code = ErrorCode.INVALID


class NotFoundError(RinglightError):
    """The input names something that does not exist."""

    code = ErrorCode.NOT_FOUND


class ConflictError(RinglightError):
    """The input contradicts what exists already."""

    code = ErrorCode.CONFLICT


class UnavailableError(RinglightError):
    """The other side does not answer; the same request may succeed later."""

    code = ErrorCode.UNAVAILABLE
