"""A stranger's web page must not look through an operator's browser."""

import pytest

from ringlight.controller.adapters.page.guard import is_ours


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:7401",
        "10.1.2.3",
        "[::1]:7401",
        "[fd00::12]",
        "localhost:7401",
        "controller-2:7401",
        "CONTROLLER",
        "fabric.example.com:7401",
        "Fabric.Example.com.",
    ],
)
def test_names_that_no_stranger_can_own(host):
    assert is_ours(host, ["fabric.example.com"])


@pytest.mark.parametrize("host", ["", ":80", "evil.example", "evil.example:7401", "127.0.0.1.evil.example", "a.b"])
def test_any_other_name_is_refused(host):
    assert not is_ours(host, ["fabric.example.com"])


async def test_a_foreign_host_is_told_what_to_do(site):
    for path in ("/", "/static/main.js", "/api/fabric", "/api/events", "/api/plan?fail=n1"):
        reply = await site.get(path, Host="evil.example")
        assert reply.status == 421
        assert "page.hosts" in reply.json["hint"]


async def test_data_is_not_for_other_sites_but_a_link_to_the_page_may_be_anywhere(site):
    assert (await site.get("/api/fabric", **{"Sec-Fetch-Site": "cross-site"})).status == 403
    assert (await site.get("/api/fabric", **{"Sec-Fetch-Site": "same-origin"})).status == 200
    assert (await site.get("/", **{"Sec-Fetch-Site": "cross-site"})).status == 200


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/api/fabric", "/api/nodes/n1", "/api/nodes/n99"])
async def test_every_answer_says_what_a_browser_may_do_with_it(site, path):
    headers = (await site.get(path)).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_nothing_but_reading_is_possible(site, method):
    for path in ("/", "/api/fabric", "/api/plan?fail=n1", "/api/nodes/n1"):
        assert (await site.get(path, method)).status == 405
