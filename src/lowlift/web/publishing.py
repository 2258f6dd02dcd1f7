"""Publish: write the safe table once, show what was written, send it."""

import time
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from lowlift.errors import InvalidInput
from lowlift.web import uploads, work
from lowlift.web.answers import PATIENCE, finished, working
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.visitors import InSession, Token, check_token

__all__ = ["router"]

router = APIRouter()


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
