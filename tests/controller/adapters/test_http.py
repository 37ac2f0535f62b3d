"""The HTTP face over real sockets."""

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ringlight.controller.adapters.prometheus import Metrics
from ringlight.controller.engine.engine import Engine
from ringlight.controller.metrics.census import take_census
from ringlight.controller.metrics.samples import Process
from ringlight.controller.metrics.tally import Tally
from ringlight.controller.settings import Settings
from ringlight.fabric.errors import InvalidError
from ringlight.protos.http_face import HttpFace, serve_http


class Face:
    """A face that listens, and a client."""

    def __init__(self, face, client):
        self.face = face
        self.trouble = ""
        self.address = ""
        self._client = client

    async def get(self, path, method="GET"):
        async with self._client.request(method, f"http://{self.address}{path}") as reply:
            return reply.status, reply.headers["Content-Type"], await reply.text()


@pytest.fixture
def make_face(make_wiring):
    engine = Engine(make_wiring(8), Settings())

    def make(not_ready=lambda: ""):
        metrics = Metrics(
            lambda: take_census(engine.state, 0.0),
            Tally(),
            lambda: Process(store_ok=not not_ready(), events_dropped=0, loop_lag=0.0),
        )
        return HttpFace(metrics.render, not_ready, hint="choose another --http address")

    return make


@pytest.fixture
async def face(make_face):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as client:
        face = Face(make_face(lambda: face.trouble), client)
        face.address = f"127.0.0.1:{await face.face.start('127.0.0.1', 0)}"
        yield face
        await face.face.stop()


async def test_metrics_are_what_prometheus_reads(face):
    status, content_type, text = await face.get("/metrics")
    assert status == 200
    assert content_type.startswith("text/plain; version=")
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"ringlight_nodes", "ringlight_reconfiguration_seconds", "ringlight_store_ok"} <= names
    assert all(name.startswith("ringlight_") for name in names)


async def test_alive_and_ready(face):
    for path in ("/livez", "/readyz"):
        status, _, text = await face.get(path)
        assert (status, text) == (200, "ok\n")


async def test_not_ready_says_why_and_is_alive_all_the_same(face):
    face.trouble = "state/controller.sqlite: database or disk is full"
    status, _, text = await face.get("/readyz")
    assert (status, text) == (503, "state/controller.sqlite: database or disk is full\n")
    assert (await face.get("/livez"))[0] == 200
    assert "ringlight_store_ok 0.0" in (await face.get("/metrics"))[2]
    face.trouble = ""
    assert (await face.get("/readyz"))[0] == 200


async def test_it_is_read_only(face):
    assert (await face.get("/readyz", method="POST"))[0] == 405
    assert (await face.get("/"))[0] == 404


async def test_an_address_in_use_is_an_error_that_says_so(face, make_face):
    host, _, port = face.address.rpartition(":")
    second = make_face()
    with pytest.raises(InvalidError, match=f"cannot listen on {face.address}.*in use") as told:
        await second.start(host, int(port))
    assert "--http" in told.value.hint


async def test_a_host_that_does_not_exist_is_an_error_too(make_face):
    with pytest.raises(InvalidError, match=r"cannot listen on no-such-host\.invalid:0"):
        await make_face().start("no-such-host.invalid", 0)


async def test_an_ipv6_address_is_shown_as_one_that_can_be_used(make_face):
    try:
        async with serve_http(make_face(), "[::1]:0") as address, aiohttp.ClientSession() as client:
            assert address.startswith("[::1]:")
            async with client.get(f"http://{address}/livez") as reply:
                assert reply.status == 200
    except InvalidError as error:
        pytest.skip(f"no IPv6 here: {error}")
