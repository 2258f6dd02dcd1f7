"""The pages: each address shows one state; what takes long is a job that the page listens to."""

import shutil
from collections.abc import Sequence
from importlib import resources
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import (
    HTMLResponse,
    RedirectResponse,
    Response,
)

from lowlift.datasets import write_titanic
from lowlift.errors import InvalidInput, LowliftError
from lowlift.web import uploads, work
from lowlift.web.answers import PATIENCE, drawn, finished, inspect, part_of, working
from lowlift.web.pages import show
from lowlift.web.sessions import Session, SessionTable
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of, shortest
from lowlift.web.visitors import InHouse, InSession, Token, check_token
from lowlift.web.words import said
from lowlift.workflow import CRITERIA, MECHANISMS

__all__ = ["router"]

router = APIRouter()


@router.get("/")
async def start(session: InSession, house: InHouse) -> Response:
    """Choose or upload a table."""
    return HTMLResponse(_start(session, house.limits.upload_bytes))


def _start(session: Session, limit: int, message: str = "") -> str:
    return show("start.html", session=session, limit=limit, message=message)


@router.post("/upload")
async def upload(request: Request, session: InSession, house: InHouse) -> Response:
    """Take a table."""
    key, folder = session.new_folder()
    limit = house.limits.upload_bytes
    try:
        kind = request.headers.get("content-type", "")
        found = await uploads.receive(request.stream(), kind, folder, limit)
        check_token(session, found.fields.get("token", ""))
        path = found.finish()
        session.tables[key] = SessionTable(path.name, str(path), None, folder)
        job = inspect(session, key)
        if await job.wait(PATIENCE) and job.state != "done":
            raise InvalidInput(job.error)  # noqa: TRY301 (one page for all that is wrong)
    except BaseException as error:
        session.remove(key)
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, LowliftError | OSError):
            raise
        fault = said(error)
        if isinstance(error, OSError):
            fault = f"the file could not be kept: {error.strerror}."
        return HTMLResponse(_start(session, limit, fault), 422)
    return RedirectResponse(f"/look?{urlencode({'table': key})}", 303)


@router.post("/demo")
async def demo(session: InSession, token: Token) -> Response:
    """Offer the table of the Titanic."""
    check_token(session, token)
    key, folder = session.new_folder()
    path = folder / "titanic.csv"
    write_titanic(path)
    session.tables[key] = SessionTable(path.name, str(path), None, folder)
    chosen = Setting(key, ("survived",), ("class", "sex", "age"), epsilon=1.0)
    return RedirectResponse(f"/look?{chosen.query}", 303)


@router.post("/remove")
async def remove(session: InSession, token: Token, table: Annotated[str, Form()]) -> Response:
    """Forget an uploaded table and all that was made of it."""
    check_token(session, token)
    if table != "given":
        session.remove(table)
    return RedirectResponse("/", 303)


@router.get("/style.css")
async def style() -> Response:
    """Send the style that pages share with reports."""
    text = (resources.files("lowlift.figures") / "templates" / "style.css").read_text("utf-8")
    return Response(text, media_type="text/css")


@router.get("/look")
async def look(request: Request, session: InSession) -> Response:
    """Show a table's columns and choices, and what a setting gives."""
    query = request.query_params.multi_items()
    is_part = request.headers.get("hx-request") == "true"
    pinned = pinned_of(query)
    try:
        setting, fault = Setting.of(query), ""
    except InvalidInput as error:
        # The form shows what can be shown; the result says what is wrong.
        setting, fault = Setting(request.query_params.get("table", "")), said(error)
    if is_part:
        part, line = await _result(session, setting, pinned, fault)
        address = f"/look?{setting.query}{_pins(pinned)}"
        headers = {} if fault else {"HX-Replace-Url": address}
        # The line beside the form is of this setting too, and empty while there is no verdict.
        return HTMLResponse(show("brief.html", line=line) + part, headers=headers)
    table = session.table(setting.table)
    job = inspect(session, setting.table)
    if not await job.wait(PATIENCE):
        part = working(session, job, "Reading the table", "")
        return HTMLResponse(show("waiting.html", table=table, working=part))
    if job.state != "done":
        raise InvalidInput(job.error)
    rows, columns = job.result
    part, _ = await _result(session, setting, pinned, fault)
    return HTMLResponse(
        show(
            "look.html",
            table=table,
            rows=rows,
            columns=columns,
            setting=setting,
            pinned=pinned,
            result=part,
            criteria=CRITERIA,
            shortest=shortest,
            mechanisms=MECHANISMS,
            session=session,
        )
    )


def _pins(pinned: Sequence[Setting]) -> str:
    return "".join(f"&{urlencode({'setting': other.query})}" for other in pinned)


async def _result(
    session: Session,
    setting: Setting,
    pinned: Sequence[Setting],
    fault: str,
) -> tuple[str, str]:
    """Return the part of a page that depends on the setting, and its verdict in a line."""
    if fault:
        return show("problem.html", message=fault), ""
    if not setting.is_chosen:
        return show("choose.html"), ""
    part = await part_of(session, setting, f"/look?{setting.query}{_pins(pinned)}")
    if isinstance(part, str):
        return part, ""
    pins = [other.query for other in pinned if other != setting][-(MOST_PINNED - 1) :]
    result = show(
        "result.html",
        setting=setting,
        answer=part,
        token=session.token,
        comparison=urlencode([("setting", query) for query in (*pins, setting.query)]),
        columns=inspect(session, setting.table).result,
        times=session.n_published(setting.table),
    )
    return result, part.line


@router.get("/pictures")
async def pictures(request: Request, session: InSession) -> Response:
    """Draw the heat maps and distributions of an answer."""
    setting = Setting.of(request.query_params.multi_items())
    answer = await finished(session, setting)
    job = session.job(
        ("pictures", answer.design.release.fingerprint, setting),
        work.pictures,
        answer.design,
        setting,
    )
    return HTMLResponse(await drawn(session, job, f"/pictures?{setting.query}"))


@router.get("/curve")
async def curve(request: Request, session: InSession) -> Response:
    """Draw the trade-off of the merging mechanisms with an answer in it."""
    setting = Setting.of(request.query_params.multi_items())
    answer = await finished(session, setting)
    points = session.points.get(setting.family)
    job = session.job(
        ("curve", answer.design.release.fingerprint, setting),
        work.curve,
        answer.design,
        setting,
        points,
    )
    html = await drawn(session, job, f"/curve?{setting.query}")
    if job.state == "done":
        session.points[setting.family] = job.result.points
    return HTMLResponse(html)


@router.get("/compare")
async def compare(request: Request, session: InSession) -> Response:
    """Show up to three settings beside each other."""
    pinned = pinned_of(request.query_params.multi_items())
    for setting in pinned:
        session.table(setting.table)
    return HTMLResponse(
        show("compare.html", pinned=pinned, most=MOST_PINNED, pins=_pins, session=session)
    )


@router.get("/compared")
async def compared(request: Request, session: InSession) -> Response:
    """Return one column of a comparison."""
    setting = Setting.of(request.query_params.multi_items())
    part = await part_of(session, setting, f"/compared?{setting.query}")
    if not isinstance(part, str):
        part = show("compared.html", answer=part, setting=setting)
    return HTMLResponse(part)
