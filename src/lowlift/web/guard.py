"""Middleware: refuses requests of other sites, limits their size, sets security headers."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection

from lowlift.web.limits import Limits
from lowlift.web.sessions import Sessions
from lowlift.web.words import redacted

_Message = MutableMapping[str, Any]
_App = Callable[..., Awaitable[None]]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_LOG = logging.getLogger("lowlift.web")

#: Seconds that the rest of a refused request is read.
_LINGER = 1.0
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
    - A request that is no upload is read here, up to a limit that is small without a session: what
      is counted is what arrives, whatever its headers say.
    - Every answer carries the content-security policy and is not stored.
    - An error of ours is logged by its kind and place: its text may hold data.

    `hosts` are names with ports, as browsers send them; `scheme` is "http" or "https".
    """

    def __init__(
        self, app: _App, hosts: frozenset[str], scheme: str, limits: Limits, sessions: Sessions
    ) -> None:
        self._app, self._hosts, self._scheme = app, hosts, scheme
        self._limits, self._sessions = limits, sessions

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
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
            whole = await self._read(scope, receive, secured)
            if whole is not None:
                await self._app(scope, whole, secured)
        except ClientDisconnect:
            pass  # whoever asked is gone
        except Exception as error:  # noqa: BLE001 (answered already; its text may hold data)
            _LOG.error(redacted(error))

    def _refusal(self, headers: Headers, method: str, path: str) -> str:
        """Return why a request is refused; empty when it is not."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return "This server answers under its own address only."
        if method not in {"GET", "HEAD"}:
            if headers.get("origin", "").lower() != f"{self._scheme}://{host}":
                return "Only this server's own pages may send forms to it."
        elif path != "/open" and headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return "Links from other pages do not lead here. Type the address instead."
        return ""

    async def _read(self, scope: _Message, receive: _Receive, send: _Send) -> _Receive | None:
        """Read a request; return what gives it to the application, or None when it is refused."""
        request = HTTPConnection(scope)
        if {"content-length", "transfer-encoding"} <= {*request.headers}:
            await _answer(send, 400, "A request has one length.", receive)
            return None
        if scope["path"] in {
            "/upload",
            "/earlier",
        }:  # read by its page, which asks for the session first
            return receive
        if "transfer-encoding" in request.headers:
            await _answer(send, 411, "A form says how long it is.", receive)
            return None
        session = self._sessions.find(request.cookies.get(cookie_name(request), ""))
        most = self._limits.login_bytes if session is None else self._limits.form_bytes
        body, has_more = bytearray(), int(request.headers.get("content-length", 0)) <= most
        is_short = has_more
        while has_more and is_short:
            message = await receive()
            if message["type"] != "http.request":
                return None  # whoever asked is gone
            body += message.get("body", b"")
            has_more, is_short = message.get("more_body", False), len(body) <= most
        if not is_short:
            await _answer(send, 413, "This form is too long.", receive)
            return None
        given = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> _Message:
            return given.pop() if given else await receive()

        return replay


def cookie_name(request: HTTPConnection, name: str = "lowlift") -> str:
    """Return a cookie's name: ports share cookies, so it has the port."""
    return f"{name}-{request.url.port or 0}"


async def _answer(send: _Send, status: int, text: str, receive: _Receive | None = None) -> None:
    """Answer; with `receive`, close the connection too.

    What still arrives is thrown away for a moment first: closing a connection with unread bytes
    resets it, and the client may lose the answer.
    """
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    headers.append((b"content-length", str(len(body)).encode()))
    if receive is not None:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if receive is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                while (await receive()).get("more_body"):
                    pass
    await send({"type": "http.response.body", "body": b""})
