"""The controller's small HTTP face: ``/metrics``, ``/livez`` and ``/readyz``. Read-only.

``/livez`` answers as long as the event loop turns. ``/readyz`` says whether this controller can do its job: it read
its store and can write it, it goes on deciding, and nobody took over from it. It says in words what is wrong.
"""

from collections.abc import Callable

from aiohttp import web

from ringlight.controller.adapters.prometheus import CONTENT_TYPE, Metrics
from ringlight.fabric.errors import InvalidError


class HttpFace:
    """The HTTP server of one controller.

    Args:
        metrics: what ``/metrics`` shows.
        not_ready: why the controller is not ready, or an empty string.
    """

    def __init__(self, metrics: Metrics, not_ready: Callable[[], str]) -> None:
        self._metrics = metrics
        self._not_ready = not_ready
        application = web.Application()
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/livez", self._livez)
        application.router.add_get("/readyz", self._readyz)
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
            hint = "is another controller running? choose another --http address"
            raise InvalidError(f"cannot listen on {host}:{port}: {error.strerror}", hint=hint) from error
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    async def _livez(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        reason = self._not_ready()
        return web.Response(text=f"{reason}\n", status=503) if reason else web.Response(text="ok\n")
