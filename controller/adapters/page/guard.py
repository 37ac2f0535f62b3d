"""Who may ask, and what a browser may do with the answer.

The page has no log-in: whoever reaches the port may look, as with `/metrics`. What must not be is that a strange web
page in an operator's browser looks through it. Browsers keep other origins from reading; a name of the attacker's that
is made to point here (DNS rebinding) would get round that, so a `Host` must be one that no stranger can own: an
address, a name without a dot, or one from the configuration.
"""

import ipaddress
import json
from collections.abc import Awaitable, Callable, Collection

from aiohttp import web

from ringlight.fabric.errors import ErrorCode, InvalidError, RinglightError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_STATUS = {
    ErrorCode.INVALID: 400,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.CONFLICT: 409,
    ErrorCode.REFUSED: 409,
    ErrorCode.UNAVAILABLE: 503,
    ErrorCode.INTERNAL: 500,
}
_MISDIRECTED = 421


def is_ours(host: str, names: Collection[str]) -> bool:
    """Whether a `Host` header names us in a way that no stranger can own.

    Args:
        host: the header, with or without a port.
        names: further names, from the configuration.
    """
    name = _without_port(host).lower().rstrip(".")
    if name in {known.lower().rstrip(".") for known in names}:
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return bool(name) and "." not in name
    return True


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def guarded(handler: Handler, *, hosts: Collection[str], is_data: bool) -> Handler:
    """A handler that answers only whom it should, and whose errors are ours in JSON.

    Args:
        handler: of a route.
        hosts: names of ours, apart from those that need no telling.
        is_data: nobody has a reason to ask for it from another site. A link to the page itself may be anywhere.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            if not is_ours(request.host, hosts):
                return _refusal(_foreign_host(request.host), _MISDIRECTED)
            if is_data and request.headers.get("Sec-Fetch-Site") == "cross-site":
                return _refusal(InvalidError("another site asked", hint="open the page itself"), 403)
            return await handler(request)
        except RinglightError as error:
            return _refusal(error, _STATUS[error.code])

    return handle


def _foreign_host(host: str) -> InvalidError:
    return InvalidError(
        f"this controller is not known as {host[:80]!r}",
        hint="use its address, or add the name to page.hosts in its configuration",
    )


def _refusal(error: RinglightError, status: int) -> web.Response:
    body = json.dumps({"error": str(error), "hint": error.hint})
    retry = {"Retry-After": "5"} if error.code is ErrorCode.UNAVAILABLE else {}
    return web.Response(text=body, status=status, content_type="application/json", headers={**HEADERS, **retry})
