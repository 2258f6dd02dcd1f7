"""The application: its routes together, its errors turned into pages, its timer that ends jobs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from lowlift.errors import LowliftError
from lowlift.web import jobs, progress, visitors, work
from lowlift.web.access import AccessControl
from lowlift.web.connections import Connections
from lowlift.web.frame import Place
from lowlift.web.guard import Guard
from lowlift.web.limits import Limits
from lowlift.web.pages import set_local, show
from lowlift.web.sessions import Sessions, SessionTable
from lowlift.web.settings import Setting
from lowlift.web.steps import answer, columns, compare, protection, publish, table, written
from lowlift.web.visitors import AppState, NotIn
from lowlift.web.words import message_of

_TEXTS = {
    404: "nothing is at this address: it may be mistyped, or what it showed is gone.",
    403: "this form is out of date. Load its page again.",
}
#: The parts of pages that are asked for by their names, besides the answer.
_PARTS = frozenset({"asks", "compared", "rows-part", "trade-part"})
#: Some versions of FastAPI report requests to whom the environment names.
_SILENT: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)


def create_app(
    folder: Path,
    access: AccessControl,
    *,
    given: SessionTable | None = None,
    hosts: frozenset[str],
    scheme: str = "http",
    is_local: bool = False,
    limits: Limits,
    connections: Connections,
) -> Any:
    """Return the application.

    `folder` is empty and private; whoever made it removes it. `given` is the table that was named
    at the start. For `hosts` and `scheme` see `Guard`. `is_local` says on the pages that only this
    machine reaches it. A timer ends the late ones of `connections`.
    """
    sessions = Sessions(folder, given)
    set_local(is_local)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        jobs.prepare()
        sessions.compile(work.compile_all)
        timer = asyncio.create_task(_sweep(sessions, connections, limits))
        yield
        timer.cancel()
        connections.close()
        sessions.close()

    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        telemetry=_SILENT,
    )
    app.state.shared = AppState(access, sessions, limits, scheme == "https")
    for part in (visitors, progress, table, columns, protection, publish, written, compare, answer):
        app.include_router(part.router)
    static = str(resources.files("lowlift.web") / "static")
    app.mount("/static", StaticFiles(directory=static), name="static")
    for kind in (LowliftError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _problem)
    app.add_exception_handler(NotIn, _not_in)
    return Guard(app, hosts, scheme, limits, sessions)


async def _sweep(sessions: Sessions, connections: Connections, limits: Limits) -> None:
    while True:
        await asyncio.sleep(limits.sweep_seconds)
        sessions.sweep(limits.tab_seconds)
        connections.sweep()


async def _not_in(request: Request, _: Exception) -> Response:
    if request.headers.get("hx-request") == "true":  # the whole page is of a session that is over
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    if request.app.state.shared.access.has_password and request.method == "GET":
        return RedirectResponse("/login", 303)
    return HTMLResponse(show("closed.html"), 401)


def _part(target: str, message: str) -> str:
    """Return an error as the part of a page that was asked for, in whose place a later one goes."""
    if target == "answer":
        return show("answer/problem.html", place=Place("", Setting()), message=message)
    return show("problem.html", message=message, part=target if target in _PARTS else "")


async def _problem(request: Request, error: Exception) -> Response:
    """Return an error as a page, or as a part of one when a part was asked for."""
    status, text = 500, "this went wrong on our side; the log has the place."
    if isinstance(error, LowliftError):
        status, text = 422, message_of(error)
    elif isinstance(error, RequestValidationError):
        status, text = 422, "this form was not complete. Go back and fill it in."
    elif isinstance(error, HTTPException):
        status = error.status_code
        text = _TEXTS.get(status, "this cannot be done here.")
    if request.headers.get("hx-request") == "true":
        return HTMLResponse(_part(request.headers.get("hx-target", ""), text), status)
    title = "Page not found" if status == 404 else "This is not possible"
    given = {"title": title, "message": text, "place": Place("", Setting())}
    given["is_missing"] = status == 404
    return HTMLResponse(show("error.html", **given), status)
