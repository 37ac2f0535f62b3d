"""Events of a node: in order, and never with a gap."""

from ringlight.agents.drivers.event_stream import EventStream
from ringlight.agents.ports import FaultClosed
from ringlight.fabric.errors import UnavailableError


async def _all(stream):
    """What comes until the end, and the reason of the end."""
    found = []
    try:
        async for event in stream.events():
            found.append(event)  # noqa: PERF401 - what came before the end is kept
    except UnavailableError as end:
        return found, str(end)
    raise AssertionError("a stream never ends without a reason")


async def test_what_is_waiting_is_read_before_the_end_is():
    stream = EventStream()
    stream.put([FaultClosed("1"), FaultClosed("2")])
    stream.put([])
    stream.end("gone")
    stream.end("gone again")
    stream.put([FaultClosed("3")])
    assert await _all(stream) == ([FaultClosed("1"), FaultClosed("2")], "gone")


async def test_a_follower_that_lags_too_far_is_told_so_rather_than_left_with_a_gap():
    stream = EventStream()
    for number in range(5_000):
        stream.put([FaultClosed(str(number))])
    found, reason = await _all(stream)
    assert found == []
    assert "not read" in reason
