"""The small HTTP face of every daemon: ``/metrics``, ``/livez`` and ``/readyz``. Read-only.

``/livez`` answers as long as the event loop turns. ``/readyz`` says whether the daemon can do its job, and in words
what is wrong if it cannot.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ringlight.fabric.errors import InvalidError
from ringlight.protos.serving import split_address


class HttpFace:
    """The HTTP server of one daemon.

    Args:
        metrics: makes what ``/metrics`` shows, as Prometheus reads it.
        not_ready: why the daemon is not ready, or an empty string.
        hint: what to do when the address cannot be listened on.
        more: adds what else is served at this address.
    """

    def __init__(
        self,
        metrics: Callable[[], Awaitable[bytes]],
        not_ready: Callable[[], str],
        *,
        hint: str,
        more: Callable[[web.Application], None] = lambda _: None,
    ) -> None:
        self._metrics = metrics
        self._not_ready = not_ready
        self._hint = hint
        application = web.Application()
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/livez", self._livez)
        application.router.add_get("/readyz", self._readyz)
        more(application)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, which was chosen by the system if 0 was asked for.

        Raises:
            InvalidError: the address cannot be listened on.
        """
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise InvalidError(f"cannot listen on {host}:{port}: {error.strerror}", hint=self._hint) from error
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._metrics(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _livez(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        reason = self._not_ready()
        return web.Response(text=f"{reason}\n", status=503) if reason else web.Response(text="ok\n")


@asynccontextmanager
async def serve_http(face: HttpFace, address: str) -> AsyncIterator[str]:
    """Listen on ``HOST:PORT`` meanwhile; gives the address with the port that was bound.

    Raises:
        InvalidError: it is no address, or cannot be listened on.
    """
    host, port = split_address(address)
    bound = await face.start(host, port)
    try:
        yield f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}"
    finally:
        await face.stop()
