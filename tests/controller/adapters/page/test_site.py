"""The page's addresses over real sockets."""

import asyncio

import pytest

from ringlight.emulator.faults import FaultKind
from tests.controller.engine.test_what_if import everything


async def test_the_page_and_all_it_asks_for_are_served(site):
    page = await site.get("/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    text = page.body.decode()
    assert "http://" not in text
    assert "https://" not in text
    for name, kind in (("main.js", "text/javascript"), ("style.css", "text/css"), ("favicon.svg", "image/svg+xml")):
        assert f"/static/{name}" in text
        reply = await site.get(f"/static/{name}")
        assert (reply.status, reply.headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")


@pytest.mark.parametrize("name", ["nothing.js", "..%2f__init__.py", "%2e%2e", "site.py", "index.html%00"])
async def test_only_what_was_shipped_is_served(site, name):
    reply = await site.get(f"/static/{name}")
    assert reply.status == 404


async def test_what_a_browser_has_is_not_sent_again(site):
    for path in ("/", "/static/main.js", "/api/fabric"):
        tag = (await site.get(path)).headers["ETag"]
        again = await site.get(path, **{"If-None-Match": tag})
        assert (again.status, again.body) == (304, b"")
    site.world.cordon("n1")
    changed = await site.get("/api/fabric", **{"If-None-Match": tag})
    assert changed.status == 200
    assert changed.json["nodes"][1]["overlay"] == "cordoned"


async def test_the_snapshot_is_packed_for_whoever_takes_it_so(site):
    packed = await site.get("/api/fabric", **{"Accept-Encoding": "gzip"})
    plain = await site.get("/api/fabric", **{"Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.json == plain.json


async def test_a_node_is_explained_with_its_circuits_faults_and_history(site):
    name = site.world.chain("train/0")[0]
    site.world.fail(FaultKind.GPU_LOST, name)
    site.world.settle()
    site.publish()
    told = (await site.get(f"/api/nodes/{name}")).json
    assert (told["kind"], told["subject"]) == ("node", name)
    assert told["summary"].startswith("FAILED: ")
    assert told["node"]["faults"][0]["fault_class"] == "FATAL"
    kinds = [event["kind"] for event in told["history"]]
    assert kinds.index("verdict") < kinds.index("fault-opened")  # newest first
    assert all(event["subject"] == name for event in told["history"])
    ports = [port for bundle in told["node"]["bundles"] for port in bundle["ports"]]
    assert len(ports) == 4
    assert {port["peer"].partition("/")[0] for port in ports} == {
        f"n{(int(name[1:]) + away) % 16}" for away in (-2, -1, 1, 2)
    }


async def test_a_ring_a_job_and_a_hop_are_explained(site):
    ring = (await site.get("/api/rings/train/1")).json
    assert ring["ring"]["nodes"] == site.world.chain("train/1")
    assert len(ring["ring"]["gpus"]) == 16
    assert [hop["lit"] for hop in ring["ring"]["hops"]] == [True] * 3
    job = (await site.get("/api/jobs/train")).json
    assert (job["job"]["state"], job["job"]["active"]) == ("RUNNING", 2)
    assert (await site.get("/api/hops/n3+2")).json["summary"] == "usable, for all we know"


@pytest.mark.parametrize("path", ["/api/nodes/n99", "/api/rings/train/9", "/api/jobs/none", "/api/hops/n1+7"])
async def test_what_there_is_not_is_told_with_a_hint(site, path):
    reply = await site.get(path)
    assert reply.status == 404
    assert reply.json["hint"]


async def test_a_name_of_another_kind_is_not_found_there(site):
    reply = await site.get("/api/nodes/train")
    assert (reply.status, reply.json["error"]) == (404, "'train' is no node")


async def test_a_plan_is_foretold_and_nothing_is_changed(site):
    first, second = site.world.chain("train/0")[0], site.world.chain("train/1")[3]
    before = everything(site.world)
    plan = (await site.get(f"/api/plan?fail={first},{second}")).json
    assert everything(site.world) == before
    (job,) = plan["jobs"]
    changed = {change["ring"]: change for change in job["changes"]}
    assert first in changed["train/0"]["former"]
    assert first not in changed["train/0"]["chain"]
    assert second not in changed["train/1"]["chain"]
    assert changed["train/0"]["cause"]
    assert plan["sequence"] == site.world.engine.state.sequence


async def test_dark_hops_can_be_supposed_as_well(site):
    first = site.world.chain("train/0")[0]
    plan = (await site.get(f"/api/plan?dark={first}%2B1")).json
    assert [change["ring"] for change in plan["jobs"][0]["changes"]] == ["train/0"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 400, "nothing is supposed"),
        ("?fail=", 400, "nothing is supposed"),
        ("?fail=n99", 404, "has no node 'n99'"),
        ("?dark=n1", 404, "has no hop 'n1'"),
        ("?fail=" + ",".join(f"x{number}" for number in range(257)), 400, "at most 256"),
    ],
)
async def test_a_wrong_question_is_refused_clearly(site, query, status, words):
    reply = await site.get(f"/api/plan{query}")
    assert reply.status == status
    assert words in reply.json["error"]
    assert reply.json["hint"]


async def test_plans_take_turns_and_none_waits_for_ever(site, monkeypatch):
    monkeypatch.setattr("ringlight.controller.adapters.page.site._PLAN_PATIENCE", 0.05)
    async with site.page._plan_turn:
        reply = await site.get("/api/plan?fail=n1")
    assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    replies = await asyncio.gather(*(site.get(f"/api/plan?fail=n{number}") for number in range(3)))
    assert replies[0].status == 200


async def test_a_store_that_cannot_be_read_is_said(site, store):
    site.runtime.feed_of_events._recent.clear()
    store.refuse()
    reply = await site.get("/api/nodes/n1")
    assert (reply.status, reply.json["error"]) == (503, "disk full")
