"""Our errors as gRPC statuses, and back: the only such mapping.

The hint travels as trailing metadata, so that a client shows it apart from the message. It is always there, if only
empty: so a client tells our own refusals from those of gRPC.
"""

from typing import Any, NoReturn

import grpc
import grpc.aio

from ringlight.fabric.errors import ErrorCode, RinglightError

HINT_KEY = "ringlight-hint"

# Message and hint share the 8 KiB that gRPC allows for metadata; a byte of the message may travel as three.
_LONGEST_MESSAGE = 2_000  # bytes
_LONGEST_HINT = 1_000  # bytes

_STATUS_OF_CODE = {
    ErrorCode.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.CONFLICT: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.REFUSED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
}
_CODE_OF_STATUS = {status: code for code, status in _STATUS_OF_CODE.items()} | {
    grpc.StatusCode.DEADLINE_EXCEEDED: ErrorCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED: ErrorCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ErrorCode.UNAVAILABLE,
}


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: RinglightError) -> NoReturn:
    """End a call with our error."""
    # Metadata must be printable ASCII; the message itself may be anything.
    printable = "".join(character if character.isprintable() else " " for character in error.hint)
    hint = _shortened(printable.encode("ascii", "replace"), _LONGEST_HINT)
    message = _shortened(str(error).encode(), _LONGEST_MESSAGE)
    await context.abort(_STATUS_OF_CODE[error.code], message, ((HINT_KEY, hint),))
    raise AssertionError("abort always raises")


def _shortened(text: bytes, longest: int) -> str:
    """Text of at most so many bytes; what was cut off shows as an ellipsis."""
    if len(text) <= longest:
        return text.decode()
    return text[: longest - 3].decode(errors="ignore") + "..."


def error_of(call_error: grpc.aio.AioRpcError, *, peer: str) -> RinglightError:
    """The error a failed call stands for. `peer` says whom we called, for the message when nobody answered."""
    code = _CODE_OF_STATUS.get(call_error.code(), ErrorCode.INTERNAL)
    hint = dict(call_error.trailing_metadata() or ()).get(HINT_KEY)
    message = call_error.details() or call_error.code().name
    if code is ErrorCode.UNAVAILABLE and hint is None:
        message = f"no answer from {peer}: {message}"
        hint = f"is it running, and is {peer} its address?"
    return RinglightError(message, hint=str(hint or ""), code=code)
