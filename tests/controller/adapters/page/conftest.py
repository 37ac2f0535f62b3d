"""The page over real sockets, on a fabric without processes."""

import asyncio
import json
from dataclasses import dataclass

import aiohttp
import pytest
from multidict import CIMultiDict
from yarl import URL

from ringlight.controller.adapters.page.site import Page
from ringlight.controller.ports import LoggedEvent
from ringlight.controller.runtime import Runtime
from ringlight.protos.http_face import HttpFace

PATIENCE = 30.0


@dataclass
class Reply:
    status: int
    headers: CIMultiDict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class WorldClock:
    """Time as the world has it."""

    def __init__(self, world):
        self._world = world

    def monotonic(self):
        return self._world.now

    def wall(self):
        return self._world.now + self._world.wall_offset


class Stream:
    """Server-sent events as a browser reads them."""

    def __init__(self, reply):
        self.reply = reply

    async def next(self):
        """The next block that holds data, as (id, event, data)."""
        fields = {}
        async with asyncio.timeout(PATIENCE):
            while line := await self.reply.content.readline():
                text = line.decode().rstrip("\n")
                if text:
                    name, _, value = text.partition(":")
                    fields[name] = value.removeprefix(" ")
                elif "data" in fields:
                    return fields.get("id"), fields.get("event", "message"), json.loads(fields["data"])
                else:
                    fields = {}
        return None

    async def until(self, kind):
        """Everything up to the next block of a kind; its last is that one."""
        blocks = [await self.next()]
        while blocks[-1][1] != kind:
            blocks.append(await self.next())
        return blocks


class Site:
    """A page that is served, the world that it shows, and a client."""

    def __init__(self, world, runtime, page, client, address):
        self.world = world
        self.runtime = runtime
        self.page = page
        self.client = client
        self.address = address
        self._streams = []

    def publish(self):
        """Let the feed have what was told since."""
        feed = self.runtime.feed_of_events
        known, _ = feed.recent(0)
        for event in self.world.told[len(known) :]:
            feed.publish(LoggedEvent(event, self.runtime._clock.wall()))

    async def get(self, path, method="GET", **headers):
        url = URL(f"http://{self.address}{path}", encoded=True)
        async with self.client.request(method, url, headers=headers, allow_redirects=False) as reply:
            return Reply(reply.status, reply.headers.copy(), await reply.read())

    async def watch(self, query="", **headers):
        reply = await self.client.get(URL(f"http://{self.address}/api/events{query}", encoded=True), headers=headers)
        assert reply.status == 200
        self._streams.append(reply)
        return Stream(reply)

    async def close(self):
        for stream in self._streams:
            stream.close()
        await self.client.close()


@pytest.fixture
async def serve_page(store):
    """Serves the page of a world: `site = await serve_page(world)`."""
    closing = []

    async def serve(world):
        runtime = Runtime(world.engine, store, WorldClock(world))
        page = Page(runtime)
        face = HttpFace(None, lambda: "", hint="", more=page.install)
        address = f"127.0.0.1:{await face.start('127.0.0.1', 0)}"
        client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE), auto_decompress=True)
        site = Site(world, runtime, page, client, address)
        closing.extend([site.close, face.stop])
        site.publish()
        return site

    yield serve
    for close in closing:
        await close()


@pytest.fixture
async def site(serve_page, world):
    """Sixteen nodes with a job of two rings."""
    return await serve_page(world)
