"""Two sides of a stream: the first to end ends both, and nothing is left running."""

import asyncio

import pytest

from ringlight.protos.conversation import until_first_ends


class Side:
    """A coroutine that ends when told, and notes how it ended."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.started = asyncio.Event()
        self.ending = "running"

    async def run(self, error: Exception | None = None) -> None:
        self.started.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ending = "cancelled"
            raise
        self.ending = "ended"
        if error is not None:
            raise error


def others() -> set[asyncio.Task]:
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize("first", [0, 1, 2])
async def test_the_first_to_end_ends_the_others(first):
    sides = [Side(), Side(), Side()]
    sides[first].go.set()
    await until_first_ends(*(side.run() for side in sides))
    assert [side.ending for side in sides] == ["ended" if n == first else "cancelled" for n in range(3)]
    assert not others()


async def test_an_error_ends_the_others_and_is_raised():
    broken, other = Side(), Side()
    broken.go.set()
    with pytest.raises(ConnectionError, match="gone"):
        await until_first_ends(other.run(), broken.run(ConnectionError("gone")))
    assert other.ending == "cancelled"
    assert not others()


async def test_of_two_errors_in_the_same_moment_the_first_named_is_raised():
    one, other = Side(), Side()
    one.go.set()
    other.go.set()
    with pytest.raises(ConnectionError, match="one"):
        await until_first_ends(one.run(ConnectionError("one")), other.run(ConnectionError("other")))


async def test_an_error_beside_a_good_end_in_the_same_moment_is_not_lost():
    good, broken = Side(), Side()
    good.go.set()
    broken.go.set()
    with pytest.raises(ConnectionError, match="gone"):
        await until_first_ends(good.run(), broken.run(ConnectionError("gone")))


async def test_cancellation_goes_through_to_all_sides():
    sides = [Side(), Side()]
    talk = asyncio.create_task(until_first_ends(*(side.run() for side in sides)))
    for side in sides:
        await side.started.wait()
    talk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talk
    assert [side.ending for side in sides] == ["cancelled", "cancelled"]
    assert not others()


async def test_a_side_that_takes_its_time_to_end_is_waited_for():
    tidy = asyncio.Event()
    tidied = False

    async def careful() -> None:
        nonlocal tidied
        try:
            await asyncio.Event().wait()
        finally:
            await tidy.wait()
            tidied = True

    first = Side()
    talk = asyncio.create_task(until_first_ends(first.run(), careful()))
    await first.started.wait()
    first.go.set()
    while first.ending != "ended":
        await asyncio.wait([talk], timeout=0.01)
    assert not talk.done()
    tidy.set()
    await talk
    assert tidied
