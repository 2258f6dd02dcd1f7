"""What was published: its page, and its files as downloads."""

import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, Response, StreamingResponse

from lowlift._ledger import EVERYBODY
from lowlift._wording import counted, joined
from lowlift.report.limits import is_merged
from lowlift.web import work
from lowlift.web.answers import PATIENCE
from lowlift.web.answers import working as following
from lowlift.web.archives import HANDED_OUT, KEPT, about_files, zipped
from lowlift.web.frame import WRITTEN, Place, page, steps
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.visitors import InSession

router = APIRouter()


@router.get("/published/{identity}")
async def published(request: Request, identity: str, session: InSession) -> Response:
    """Show what was written, once it is."""
    job = session.by_id(identity)
    job.last_seen = time.monotonic()
    is_part = request.headers.get("hx-request") == "true"
    place = Place("publish", session.setting_of(job))
    if not await job.wait(PATIENCE):
        place = replace(place, publication="being written")
        part = following(session, job, "Writing the safe table", f"/published/{identity}")
    elif job.state != "done" or not isinstance(job.result, work.Published):
        part = show("publish/nothing.html", message=job.error, place=place)
    else:
        place = replace(place, publication=WRITTEN)
        part = _written(request, session, job, place)
    if is_part:
        around = {"session": session, "steps": steps(session, place), "place": place}
        return HTMLResponse(part + show("steps.html", is_swapped=True, **around))
    return HTMLResponse(page("publish/written.html", session, place, part=part))


def _written(request: Request, session: Session, job: Job, place: Place) -> str:
    found: work.Published = job.result
    handed, kept = _groups(found, codebook := session.choice_of(job))
    made = found.made
    return show(
        "publish/files.html",
        job=job,
        found=found,
        made=made,
        place=place,
        groups=((handed, "out"), (kept, "keep")),
        size=_size,
        about=about_files(made.design),
        sensitive=joined(made.design.spec.schema.sensitive),
        columns=len(found.rows[0]),
        people=counted(made.receipt.rows_out, "person", "people"),
        is_merged=is_merged(made.design.encoded),
        is_withheld=codebook == "withheld",
        is_public=found.to == EVERYBODY,
        address=f"{str(request.base_url).rstrip('/')}/published/{job.id}",
    )


def _groups(found: work.Published, codebook: str) -> tuple[list[str], list[str]]:
    """Return the keys of the files to hand out and of those to keep."""
    handed = [name for name in HANDED_OUT if name in found.files]
    kept = [name for name in KEPT if name in found.files]
    if codebook == "withheld":
        handed.remove("codebook")
        kept.append("codebook")
    return handed, kept


def _size(path: Path) -> str:
    """Return the size of a file in words."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3)):,} KB"


@router.get("/download/{identity}/{name}")
async def download(identity: str, name: str, session: InSession) -> Response:
    """Send one of the files that were written, or all to hand out or to keep as a zip."""
    job = session.by_id(identity)
    found = job.result
    if not isinstance(found, work.Published):
        raise HTTPException(404)
    if name in {"out", "keep"}:
        handed, kept = _groups(found, session.choice_of(job))
        paths = [found.files[key] for key in (handed if name == "out" else kept)]
        word = "safe" if name == "out" else "confidential"
        stem = found.files["table"].stem.removesuffix("-safe")
        disposition = f"attachment; filename*=UTF-8''{quote(f'{stem}-{word}.zip', safe='')}"
        headers = {"Content-Disposition": disposition}
        return StreamingResponse(zipped(paths), media_type="application/zip", headers=headers)
    if name not in found.files:
        raise HTTPException(404)
    path = found.files[name]
    return FileResponse(path, filename=path.name, content_disposition_type="attachment")
