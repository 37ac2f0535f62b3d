"""Snapshots: never older than the question, one for all who ask at once, none too often."""

import asyncio
import gzip
from time import perf_counter

import pytest

from ringlight.controller.adapters.page.snapshots import Snapshots


class Taker:
    """Takes numbers, and can be held up while it renders."""

    def __init__(self):
        self.number = 0
        self.taken = []
        self.snapshots = Snapshots(self.take, self.render)

    def take(self):
        self.taken.append(self.number)
        return self.number

    @staticmethod
    def render(number):
        return f"number {number}".encode()


@pytest.fixture
async def taker():
    return Taker()


async def test_a_snapshot_is_never_older_than_the_question(taker):
    for number in range(3):
        taker.number = number
        assert (await taker.snapshots.newest()).body == f"number {number}".encode()


async def test_those_who_ask_at_once_share_one(taker):
    found = await asyncio.gather(*(taker.snapshots.newest() for _ in range(20)))
    assert len(taker.taken) <= 2
    assert len({id(snapshot) for snapshot in found[1:]}) == 1


async def test_who_asks_while_one_is_rendered_gets_the_next(taker):
    first = asyncio.create_task(taker.snapshots.newest())
    while not taker.taken:  # noqa: ASYNC110 - what is awaited is a plain list
        await asyncio.sleep(0)
    taker.number = 1
    second = asyncio.create_task(taker.snapshots.newest())
    assert (await first).body == b"number 0"
    assert (await second).body == b"number 1"


async def test_two_that_show_the_same_have_the_same_tag(taker):
    first, second = await taker.snapshots.newest(), await taker.snapshots.newest()
    assert len(taker.taken) == 2
    assert first.tag == second.tag
    taker.number = 1
    assert (await taker.snapshots.newest()).tag != first.tag
    assert gzip.decompress(first.packed) == first.body


async def test_one_who_gives_up_keeps_nobody_waiting(taker):
    asked = [asyncio.create_task(taker.snapshots.newest()) for _ in range(3)]
    await asyncio.sleep(0)
    asked[0].cancel()
    assert (await asked[1]).body == (await asked[2]).body == b"number 0"


async def test_a_costly_look_is_taken_rarely(taker):
    cost = 0.02

    def slow():
        end = perf_counter() + cost
        while perf_counter() < end:
            pass
        taker.taken.append(perf_counter())

    snapshots = Snapshots(slow, taker.render)
    await snapshots.newest()
    await snapshots.newest()
    assert taker.taken[1] - taker.taken[0] >= 20 * cost
