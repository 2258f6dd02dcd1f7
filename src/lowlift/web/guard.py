"""Who may talk to the server: its own pages, under its own name; and what they may load."""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from lowlift.web.places import place_of

__all__ = ["Guard"]

_Message = MutableMapping[str, Any]
_App = Callable[..., Awaitable[None]]
_LOG = logging.getLogger("lowlift.web")

#: The longest form that is no upload.
_MOST_BYTES = 2**20
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Middleware around everything.

    - The Host header must be a name of this server: other names are DNS rebinding.
    - Requests come from this server's own pages or from the address bar; those that change
      something must say so by their Origin.
    - Every answer carries the content-security policy and is not stored.
    - An error of ours is logged by its kind and place: its text may hold data.

    Parameters
    ----------
    app
        What is guarded.
    hosts
        Names with ports, as browsers send them.
    scheme
        "http" or "https".
    """

    def __init__(self, app: _App, hosts: frozenset[str], scheme: str) -> None:
        self._app, self._hosts, self._scheme = app, hosts, scheme

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        is_static = scope["path"].startswith("/static/")

        async def secured(message: _Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers["Cache-Control"] = "no-cache" if is_static else "no-store"
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["method"], scope["path"])
        if refusal:
            await _answer(secured, 403, refusal)
            return
        try:
            await self._app(scope, receive, secured)
        except ClientDisconnect:
            pass  # whoever asked is gone
        except Exception as error:  # noqa: BLE001 (answered already; its text may hold data)
            _LOG.error(place_of(error))

    def _refusal(self, headers: Headers, method: str, path: str) -> str:
        """Return why a request is refused; empty when it is not."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return "This server answers under its own address only."
        if method not in {"GET", "HEAD"}:
            if headers.get("origin", "").lower() != f"{self._scheme}://{host}":
                return "Only this server's own pages may send forms to it."
            size = headers.get("content-length", "")
            if path != "/upload" and not (size.isdigit() and int(size) <= _MOST_BYTES):
                return "This form is too long."
        elif path != "/open" and headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return "Links from other pages do not lead here. Type the address instead."
        return ""


async def _answer(send: Callable[[_Message], Awaitable[None]], status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
