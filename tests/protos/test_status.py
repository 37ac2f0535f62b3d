"""Errors over a real connection: what one side raises is what the other side gets."""

import grpc
import grpc.aio
import pytest

from ringlight.fabric.errors import (
    ConflictError,
    ErrorCode,
    InvalidError,
    NotFoundError,
    RinglightError,
    UnavailableError,
)
from ringlight.protos.channel import client_options
from ringlight.protos.serving import bind
from ringlight.protos.status import abort, error_of


async def travelled(call, error: RinglightError) -> RinglightError:
    """The error a client gets when a server raises this one."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(lambda context: abort(context, error))
    return error_of(caught.value, peer="the peer")


async def test_an_error_comes_back_with_code_message_and_hint(call):
    for code in ErrorCode:
        for hint in ("look there", ""):
            got = await travelled(call, RinglightError(f"it is {code}", hint=hint, code=code))
            assert (str(got), got.hint, got.code) == (f"it is {code}", hint, code)


async def test_each_kind_of_error_keeps_its_code(call):
    for kind in (InvalidError, NotFoundError, ConflictError, UnavailableError, RinglightError):
        assert (await travelled(call, kind("it"))).code is kind.code


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.INVALID, grpc.StatusCode.INVALID_ARGUMENT),
        (ErrorCode.NOT_FOUND, grpc.StatusCode.NOT_FOUND),
        (ErrorCode.CONFLICT, grpc.StatusCode.ALREADY_EXISTS),
        (ErrorCode.REFUSED, grpc.StatusCode.FAILED_PRECONDITION),
        (ErrorCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
        (ErrorCode.INTERNAL, grpc.StatusCode.INTERNAL),
    ],
)
async def test_clients_of_other_languages_see_the_usual_statuses(call, code, status):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(lambda context: abort(context, RinglightError("it", code=code)))
    assert caught.value.code() is status


async def test_a_message_may_be_any_text(call):
    message = "mistakes:\n  nœud «n0»: 100 %\n\tand → more"
    assert str(await travelled(call, InvalidError(message))) == message


async def test_a_hint_is_made_printable_ascii(call):
    got = await travelled(call, InvalidError("it", hint="first\n\tsecond → third"))
    assert got.hint == "first  second ? third"


async def test_long_texts_are_shortened_instead_of_lost(call):
    got = await travelled(call, NotFoundError("é" * 10_000, hint="h" * 10_000))
    assert got.code is ErrorCode.NOT_FOUND
    assert str(got) == "é" * 998 + "..."
    assert got.hint == "h" * 997 + "..."


async def test_an_exception_that_is_no_error_of_ours_is_internal(call, caplog):
    async def broken(_context):
        raise ZeroDivisionError("division by zero")

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(broken)
    got = error_of(caught.value, peer="the peer")
    assert got.code is ErrorCode.INTERNAL
    assert "division by zero" in str(got)
    assert "ZeroDivisionError" in caplog.text


async def test_nobody_there_is_unavailable_and_names_the_peer():
    server = grpc.aio.server()
    address = bind(server, "127.0.0.1:0")
    await server.stop(grace=None)
    async with grpc.aio.insecure_channel(address, options=client_options()) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/test.Test/Do")(b"", timeout=30)
    got = error_of(caught.value, peer=address)
    assert got.code is ErrorCode.UNAVAILABLE
    assert str(got).startswith(f"no answer from {address}: ")
    assert got.hint == f"is it running, and is {address} its address?"


async def test_no_answer_in_time_is_unavailable(call):
    async def too_late(context):
        await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "too late")

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(too_late)
    got = error_of(caught.value, peer="the peer")
    assert got.code is ErrorCode.UNAVAILABLE
    assert str(got) == "no answer from the peer: too late"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.CANCELLED, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.UNIMPLEMENTED, ErrorCode.INTERNAL),
        (grpc.StatusCode.UNKNOWN, ErrorCode.INTERNAL),
        (grpc.StatusCode.PERMISSION_DENIED, ErrorCode.INTERNAL),
    ],
)
async def test_statuses_we_do_not_send_have_a_meaning_too(call, status, code):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(lambda context: context.abort(status, ""))
    got = error_of(caught.value, peer="the peer")
    assert got.code is code
    assert status.name in str(got)
