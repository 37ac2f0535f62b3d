"""Calls that never return cost a thread each, up to a limit, and nobody waits for them longer than told."""

import asyncio
import threading

import pytest

from ringlight.agents.gpu.guarded import Hanging, Worker
from ringlight.fabric.errors import UnavailableError

SHORT = 0.02
LONG = 30.0


@pytest.fixture
def gate():
    """What a hanging call waits for; open after the test."""
    opened = threading.Event()
    yield opened
    opened.set()


async def test_a_call_returns_what_the_function_returns_from_one_thread():
    worker = Worker("lib", Hanging())
    names = {await worker.call(lambda: threading.current_thread().name, LONG) for _ in range(3)}
    assert names == {"lib"}
    assert await worker.call(lambda: 42, LONG) == 42
    worker.retire()


async def test_a_call_raises_what_the_function_raises():
    worker = Worker("lib", Hanging())
    with pytest.raises(ZeroDivisionError):
        await worker.call(lambda: 1 / 0, LONG)
    assert await worker.call(lambda: "still here", LONG) == "still here"
    worker.retire()


async def test_a_hanging_call_is_given_up_and_counted_until_it_returns(gate, eventually):
    hanging = Hanging()
    worker = Worker("lib", hanging)
    with pytest.raises(UnavailableError, match=r"lib did not return within 0\.02 s"):
        await worker.call(gate.wait, SHORT)
    assert hanging.count == 1
    assert await worker.call(lambda: "another thread", LONG) == "another thread"
    gate.set()
    await eventually(lambda: hanging.count == 0)
    worker.retire()


async def test_no_more_than_so_many_hang(gate, eventually):
    hanging = Hanging(limit=2)
    workers = [Worker("lib of this test", hanging) for _ in range(3)]
    for worker in workers[:2]:
        with pytest.raises(UnavailableError, match="did not return"):
            await worker.call(gate.wait, SHORT)
    for worker in workers:
        with pytest.raises(UnavailableError, match="2 calls of lib of this test hang already"):
            await worker.call(lambda: 1, LONG)
    assert [thread.name for thread in threading.enumerate()].count("lib of this test") == 2
    gate.set()
    await eventually(lambda: hanging.count == 0)
    assert await workers[0].call(lambda: 1, LONG) == 1
    workers[0].retire()


async def test_after_a_call_that_was_cancelled_the_next_waits_until_it_is_over(gate):
    worker = Worker("lib", Hanging())
    order = []
    entered = threading.Event()

    def slow():
        entered.set()
        gate.wait()
        order.append("first")

    first = asyncio.create_task(worker.call(slow, LONG))
    await asyncio.to_thread(entered.wait)
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    second = asyncio.create_task(worker.call(lambda: order.append("second"), LONG))
    await asyncio.sleep(0)
    assert order == []
    gate.set()
    await second
    assert order == ["first", "second"]
    worker.retire()


async def test_a_call_that_was_cancelled_and_hangs_is_given_up_by_the_next(gate):
    hanging = Hanging()
    worker = Worker("lib", hanging)
    first = asyncio.create_task(worker.call(gate.wait, LONG))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    with pytest.raises(UnavailableError, match="did not return"):
        await worker.call(lambda: 1, SHORT)
    assert hanging.count == 1


async def test_a_failure_nobody_waits_for_is_no_noise(gate):
    worker = Worker("lib", Hanging())

    def fail():
        gate.wait()
        raise ValueError

    first = asyncio.create_task(worker.call(fail, LONG))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    gate.set()
    assert await worker.call(lambda: 1, LONG) == 1  # warnings are errors here
    worker.retire()


async def test_retired_threads_end(eventually):
    worker = Worker("lib", Hanging())
    thread = await worker.call(threading.current_thread, LONG)
    worker.retire()
    await eventually(lambda: not thread.is_alive())


def test_a_loop_that_ended_is_no_trouble_for_the_thread(gate):
    async def main():
        worker = Worker("lib", Hanging())
        with pytest.raises(UnavailableError):
            await worker.call(lambda: (threads.append(threading.current_thread()), gate.wait()), SHORT)

    threads = []
    asyncio.run(main())
    gate.set()
    threads[0].join(LONG)
    assert not threads[0].is_alive()
