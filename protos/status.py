"""Our errors as gRPC statuses, and back: the only such mapping.

The hint travels as trailing metadata, so that a client shows it apart from the message.
"""

from typing import Any, NoReturn

import grpc
import grpc.aio

from ringlight.fabric.errors import ErrorCode, RinglightError

HINT_KEY = "ringlight-hint"

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
    hint = error.hint.encode("ascii", "replace").decode()
    await context.abort(_STATUS_OF_CODE[error.code], str(error), ((HINT_KEY, hint),))
    raise AssertionError("abort always raises")


def error_of(call_error: grpc.aio.AioRpcError, *, peer: str) -> RinglightError:
    """The error a failed call stands for. `peer` says whom we called, for the message when nobody answered."""
    code = _CODE_OF_STATUS.get(call_error.code(), ErrorCode.INTERNAL)
    hint = dict(call_error.trailing_metadata() or ()).get(HINT_KEY, "")
    message = call_error.details() or call_error.code().name
    if code is ErrorCode.UNAVAILABLE and not hint:
        message = f"no answer from {peer}: {message}"
        hint = f"is it running, and is {peer} its address?"
    return RinglightError(message, hint=str(hint), code=code)
