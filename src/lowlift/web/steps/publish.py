"""The step Publish: write the safe table and what belongs to it, and hand out the files."""

import time
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from lowlift.errors import InvalidInput
from lowlift.web import uploads, work
from lowlift.web.answers import PAGE_PATIENCE, PATIENCE, finished, overview_of, panel, working
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.steps.columns import reading
from lowlift.web.visitors import InSession, Token, check_token

router = APIRouter()


@router.get("/publish")
async def before(place: InPlace, session: InSession) -> Response:
    """Show what will be written."""
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(reading(session, place, overview))
    place = place.known(overview)
    answer = await panel(session, place, PAGE_PATIENCE)
    used = place.setting.sensitive + place.setting.released
    return HTMLResponse(
        page(
            "publish/page.html",
            session,
            place,
            answer=answer,
            others=[name for name in overview.kinds if name not in used],
            times=session.n_published(place.setting.table),
        )
    )


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
    chosen = Setting.of(parse_qsl(setting, keep_blank_values=True))
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
        part = show("publish/files.html", job=job, found=job.result, made=job.result.made)
    if is_part:
        return HTMLResponse(part)
    place = Place("publish", session.setting_of(job))
    return HTMLResponse(page("publish/written.html", session, place, part=part))


@router.get("/download/{identity}/{name}")
async def download(identity: str, name: str, session: InSession) -> Response:
    """Send one of the files that were written."""
    job = session.by_id(identity)
    if not isinstance(job.result, work.Published) or name not in job.result.files:
        raise HTTPException(404)
    path = job.result.files[name]
    return FileResponse(path, filename=path.name, content_disposition_type="attachment")
