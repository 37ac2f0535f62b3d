"""How late the event loop is, in virtual time."""

import asyncio

from ringlight.controller.adapters.loop_lag import LoopLag
from tests.virtual_time import in_virtual_time


class Clock:
    """Time as the loop has it, and as much more as a test makes it stand still."""

    def __init__(self):
        self.stood_still = 0.0

    def now(self):
        return asyncio.get_running_loop().time() + self.stood_still


@in_virtual_time
async def test_a_loop_that_turns_is_not_late():
    lag = LoopLag(Clock().now)
    measuring = asyncio.create_task(lag.run_forever())
    await asyncio.sleep(10)
    assert lag.worst < 1e-9
    measuring.cancel()


@in_virtual_time
async def test_the_worst_of_the_last_minute_is_told():
    clock = Clock()
    lag = LoopLag(clock.now)
    measuring = asyncio.create_task(lag.run_forever())
    for late in (0.02, 0.3, 0.05):
        await asyncio.sleep(1.05)
        clock.stood_still += late
    await asyncio.sleep(1)
    assert round(lag.worst, 6) == 0.3
    await asyncio.sleep(57.5)
    assert round(lag.worst, 6) == 0.3
    await asyncio.sleep(1)
    assert round(lag.worst, 6) == 0.05, "the worst is a minute ago"
    await asyncio.sleep(60)
    assert lag.worst < 1e-9
    measuring.cancel()


@in_virtual_time
async def test_before_anything_was_measured_nothing_is_late():
    assert LoopLag(Clock().now).worst == 0
