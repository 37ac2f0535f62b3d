"""The addresses of the page: `/`, its files under `/static/`, its data under `/api/`. GET only; nothing is changed.

Data comes from the same views as the northbound API. What is supposed in a plan is put back before anybody else runs.
"""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib import resources
from time import perf_counter
from typing import Any

from aiohttp import web

from ringlight.controller.adapters.page import rendering
from ringlight.controller.adapters.page.guard import HEADERS, Handler, guarded
from ringlight.controller.adapters.page.rendering import Shown
from ringlight.controller.adapters.page.snapshots import Snapshots
from ringlight.controller.adapters.page.stream import EventStreams
from ringlight.controller.engine import view
from ringlight.controller.engine.explain import explain
from ringlight.controller.engine.picture import view_bundles, view_picture, view_ring_light
from ringlight.controller.engine.state import State
from ringlight.controller.engine.what_if import WhatIf, what_if
from ringlight.controller.metrics.census import wasted_gpus
from ringlight.controller.runtime import Runtime
from ringlight.fabric.errors import InvalidError, NotFoundError, UnavailableError

_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
_HISTORY = 100  # newest events about a subject
_MOST_SUPPOSED = 256  # nodes or hops of one question
_PLAN_PATIENCE = 2.0  # seconds a question may have to wait for those before it
_PLAN_SHARE = 1 / 10  # of the event loop's time, at most


class Page:
    """The live page of one controller."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._state = runtime.engine.state
        self._settings = self._state.settings.page
        self._streams = EventStreams(runtime, most=self._settings.watchers)
        self._snapshots = Snapshots(self._look, lambda shown: rendering.to_bytes(rendering.fabric_to(shown)))
        self._files = _read_files()
        self._plan_turn = asyncio.Lock()
        self._next_plan = 0.0

    def install(self, application: web.Application) -> None:
        """Add the page to a server that does not run yet."""
        data: dict[str, Handler] = {
            "/api/fabric": self._fabric,
            "/api/events": self._events,
            "/api/plan": self._plan,
            "/api/nodes/{name:.+}": self._subject("node", self._node),
            "/api/rings/{name:.+}": self._subject("ring", self._ring),
            "/api/jobs/{name:.+}": self._subject("job", self._job),
            "/api/hops/{name:.+}": self._subject("hop", lambda _: {}),
        }
        pages: dict[str, Handler] = {"/": self._index, "/static/{name}": self._static}
        for routes, is_data in ((data, True), (pages, False)):
            for path, handler in routes.items():
                guarding = guarded(handler, hosts=self._settings.hosts, is_data=is_data)
                application.router.add_get(path, guarding, allow_head=path != "/api/events")  # which has no end
        application.on_shutdown.append(self._close)

    async def _close(self, _: web.Application) -> None:
        self._streams.close()

    async def _index(self, request: web.Request) -> web.Response:
        return self._file(request, "index.html")

    async def _static(self, request: web.Request) -> web.Response:
        return self._file(request, request.match_info["name"])

    def _file(self, request: web.Request, name: str) -> web.Response:
        if name not in self._files:
            raise NotFoundError(f"there is no file {name[:80]!r}", hint="the page is at /")
        body, tag = self._files[name]
        return _tagged(request, tag, body, _TYPES[name.rpartition(".")[2]])

    async def _fabric(self, request: web.Request) -> web.Response:
        snapshot = await self._snapshots.newest()
        packed = "gzip" in request.headers.get("Accept-Encoding", "")
        response = _tagged(request, snapshot.tag, snapshot.packed if packed else snapshot.body, "application/json")
        response.headers["Vary"] = "Accept-Encoding"
        if packed and response.status == 200:  # noqa: PLR2004 - as HTTP has it
            response.headers["Content-Encoding"] = "gzip"
        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await self._streams.serve(request, HEADERS)

    def _subject(self, kind: str, more: Callable[[str], Mapping[str, Any]]) -> Handler:
        async def show(request: web.Request) -> web.Response:
            name = request.match_info["name"]
            explanation = explain(self._state, name)
            if explanation.kind != kind:
                raise NotFoundError(f"{name!r} is no {kind}", hint=f"it is a {explanation.kind}")
            details = more(name)  # before the store is waited for: one moment, as the explanation
            history = await self._runtime.logged_events(0, _HISTORY, name)
            return _json({**rendering.subject_to(explanation, history), **details})

        return show

    def _node(self, name: str) -> Mapping[str, Any]:
        node = self._state.node(name)
        return {
            "node": rendering.node_to(view.view_node(self._state, node, self._now), view_bundles(self._state, node))
        }

    def _ring(self, name: str) -> Mapping[str, Any]:
        record = self._state.rings[name]
        names = [node.name for node in self._state.nodes]
        shown = rendering.ring_to(view_ring_light(self._state, record), names)
        return {"ring": {**shown, **rendering.members_of(view.view_ring(self._state, record))}}

    def _job(self, name: str) -> Mapping[str, Any]:
        return {"job": rendering.job_to(view.view_job(self._state.job(name)))}

    async def _plan(self, request: web.Request) -> web.Response:
        question = WhatIf(_names(request, "fail"), _names(request, "dark"))
        if not question.failed and not question.dark:
            raise InvalidError("nothing is supposed", hint="give nodes, fail=n1,n2, or hops, dark=n3+2")
        if len(question.failed) + len(question.dark) > _MOST_SUPPOSED:
            raise InvalidError(
                f"at most {_MOST_SUPPOSED} nodes and hops at once", hint="ask about fewer, or use `ringlight plan`"
            )
        try:
            async with asyncio.timeout(_PLAN_PATIENCE), self._plan_turn:
                await asyncio.sleep(self._next_plan - perf_counter())
                sequence, began = self._state.sequence, perf_counter()
                foretold = what_if(self._state, question, self._now)
                now = perf_counter()
                self._next_plan = now + (now - began) / _PLAN_SHARE
        except TimeoutError:
            raise UnavailableError("too many plans are asked for", hint="ask again in a moment") from None
        return _json({"sequence": sequence, **rendering.plan_to(foretold)})

    def _look(self) -> Shown:
        return look(self._state, self._now, store_trouble=self._runtime.store_trouble)

    @property
    def _now(self) -> float:
        return self._runtime.now


def look(state: State, now: float, *, store_trouble: str) -> Shown:
    """Everything that the page draws, at this moment."""
    fabric = view.view_fabric(state, now)
    return Shown(
        spec=state.wiring.spec,
        fabric=fabric,
        picture=view_picture(state),
        jobs=view.view_jobs(state),
        gpus_wasted=wasted_gpus(state),
        starting=not state.open,
        store_trouble=store_trouble,
    )


def _names(request: web.Request, key: str) -> tuple[str, ...]:
    """Names of a list that is given at once or one by one."""
    given = ",".join(request.query.getall(key, []))
    return tuple(dict.fromkeys(name for name in given.split(",") if name))


def _json(document: Mapping[str, Any]) -> web.Response:
    return web.Response(body=rendering.to_bytes(document), content_type="application/json", headers=HEADERS)


def _tagged(request: web.Request, tag: str, body: bytes, content_type: str) -> web.Response:
    """The body, or only word that whoever asks has it already."""
    headers = {**HEADERS, "ETag": f'"{tag}"'}
    known = request.if_none_match
    if known is not None and any(tag == one.value for one in known):
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, content_type=content_type, charset="utf-8", headers=headers)


def _read_files() -> dict[str, tuple[bytes, str]]:
    """The page's files by name, with their tags. Only what was shipped can be asked for."""
    folder = resources.files("ringlight.controller.adapters.page") / "static"
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    return {name: (body, blake2b(body, digest_size=12).hexdigest()) for name, body in sorted(files.items())}
