"""The pages: each address shows one state; what takes long is a job that the page listens to."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from importlib import resources
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

from lowlift.datasets import write_titanic
from lowlift.errors import InvalidInput, LowliftError
from lowlift.web import uploads, work
from lowlift.web.answers import PATIENCE, drawn, finished, inspect, part_of, progress_of, working
from lowlift.web.jobs import Job
from lowlift.web.pages import one_line, show
from lowlift.web.sessions import Session, SessionTable
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of, shortest
from lowlift.web.visitors import InSession, InState, Token, check_token
from lowlift.web.words import message_of
from lowlift.workflow import CRITERIA, MECHANISMS

router = APIRouter()
#: The least seconds between two events of a job, and the most.
_PAUSE, _HEARTBEAT = 0.15, 2.0


def _setting(request: Request) -> Setting:
    return Setting.of(request.query_params.multi_items())


InSetting = Annotated[Setting, Depends(_setting)]


@router.get("/")
async def start(session: InSession, state: InState) -> Response:
    """Choose or upload a table."""
    return HTMLResponse(_start(session, state.limits.upload_bytes))


def _start(session: Session, limit: int, message: str = "") -> str:
    return show("start.html", session=session, limit=limit, message=message)


@router.post("/upload")
async def upload(request: Request, session: InSession, state: InState) -> Response:
    """Store an uploaded table."""
    key, folder = session.new_folder()
    limit = state.limits.upload_bytes
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
        fault = message_of(error)
        if isinstance(error, OSError):
            fault = f"the file could not be kept: {error.strerror}."
        return HTMLResponse(_start(session, limit, fault), 422)
    return RedirectResponse(f"/look?{urlencode({'table': key})}", 303)


@router.post("/demo")
async def demo(session: InSession, token: Token) -> Response:
    """Add the table of the Titanic to the session."""
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
        setting, fault = Setting(request.query_params.get("table", "")), message_of(error)
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
async def pictures(setting: InSetting, session: InSession) -> Response:
    """Draw the heat maps and distributions of an answer."""
    answer = await finished(session, setting)
    made = answer.design
    key = "pictures", made.release.fingerprint, setting
    job = session.job(key, work.pictures, made, setting)
    return HTMLResponse(await drawn(session, job, f"/pictures?{setting.query}"))


@router.get("/curve")
async def curve(setting: InSetting, session: InSession) -> Response:
    """Draw the trade-off of the merging mechanisms with an answer in it."""
    answer = await finished(session, setting)
    made, points = answer.design, session.points.get(setting.family)
    key = "curve", made.release.fingerprint, setting
    job = session.job(key, work.curve, made, setting, points)
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
async def compared(setting: InSetting, session: InSession) -> Response:
    """Return one column of a comparison."""
    part = await part_of(session, setting, f"/compared?{setting.query}")
    if not isinstance(part, str):
        part = show("compared.html", answer=part, setting=setting)
    return HTMLResponse(part)


@router.post("/publish")
async def publish(
    session: InSession,
    token: Token,
    setting: Annotated[str, Form()],
    form: Annotated[str, Form()] = "csv",
    keep: Annotated[list[str], Form()] = [],  # noqa: B006 (FastAPI copies it)
    round_to: Annotated[str, Form()] = "",
    again: Annotated[str, Form()] = "",
) -> Response:
    """Write the safe table and what belongs to it."""
    check_token(session, token)
    chosen = Setting.of(parse_qsl(setting))
    table = session.table(chosen.table)
    answer = await finished(session, chosen)
    if form not in {"csv", "parquet"}:
        raise InvalidInput("the safe table is written as csv or parquet.")
    step = None
    if round_to:
        try:
            step = float(round_to)
        except ValueError as error:
            raise InvalidInput("rounding must be a number between 0.000001 and 0.5.") from error

    def begin() -> tuple[Any, ...]:
        folder = session.new_folder_of(chosen.table)
        stem = uploads.safe_name(table.name).rsplit(".", maxsplit=1)[0]
        target = folder / f"{stem}-safe.{form}"
        given = table.source, table.engine, answer.design, target
        return work.publish, *given, tuple(keep), step

    asked = (chosen, table.version, tuple(keep), form, step)
    job = session.publish(chosen.table, asked, bool(again), begin)
    return RedirectResponse(f"/published/{job.id}", 303)


@router.get("/published/{identity}")
async def published(request: Request, identity: str, session: InSession) -> Response:
    """Show what was written, once it is."""
    job = session.by_id(identity)
    job.last_seen = time.monotonic()
    is_part = request.headers.get("hx-request") == "true"
    if not await job.wait(PATIENCE):
        part = working(session, job, "Writing the safe table", f"/published/{identity}")
    elif job.state != "done" or not isinstance(job.result, work.Published):
        part = show("problem.html", message=job.error or "nothing was published.")
    else:
        part = show("files.html", job=job, found=job.result, made=job.result.made)
    return HTMLResponse(part if is_part else show("published.html", part=part))


@router.get("/download/{identity}/{name}")
async def download(identity: str, name: str, session: InSession) -> Response:
    """Send one of the files that were written."""
    job = session.by_id(identity)
    if not isinstance(job.result, work.Published) or name not in job.result.files:
        raise HTTPException(404)
    path = job.result.files[name]
    return FileResponse(path, filename=path.name, content_disposition_type="attachment")


@router.get("/jobs/{identity}/events")
async def events(identity: str, session: InSession) -> Response:
    """Send how far a job is, until it is done; a job with a listener is not ended."""
    return StreamingResponse(_stream(session.by_id(identity)), media_type="text/event-stream")


@router.get("/compiling")
async def compiling(session: InSession) -> Response:
    """Send how far the compilation is."""
    if session.compiling is None:
        raise HTTPException(404)
    return StreamingResponse(_stream(session.compiling), media_type="text/event-stream")


async def _stream(job: Job) -> AsyncIterator[str]:
    job.listeners += 1
    try:
        while job.is_running:
            yield f"event: step\ndata: {one_line(progress_of(job))}\n\n"
            await job.change(_HEARTBEAT)
            await asyncio.sleep(_PAUSE)
        if job.state == "cancelled":
            yield f"event: step\ndata: {one_line(progress_of(job))}\n\n"
        # An abandoned job has a page after all, which was late to listen: it asks again.
        yield f"event: {'end' if job.state == 'cancelled' else 'done'}\ndata: -\n\n"
    finally:
        job.listeners -= 1
        job.last_seen = time.monotonic()


@router.post("/jobs/{identity}/{verb}")
async def end(identity: str, verb: str, session: InSession, token: Token) -> Response:
    """Stop a search with the best so far, or cancel it."""
    check_token(session, token)
    job = session.by_id(identity)
    if verb == "stop":
        job.stop()
        return Response(status_code=204)
    if verb != "cancel":
        raise HTTPException(404)
    job.cancel()
    return HTMLResponse(show("cancelled.html"))
