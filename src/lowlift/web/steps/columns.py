"""The step Columns: what each column is, what it tells, and what it is for."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from lowlift.web.answers import PAGE_PATIENCE, overview_of, panel, working
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.sessions import Session
from lowlift.web.visitors import InSession
from lowlift.workflow.overview import Overview

router = APIRouter()


@router.get("/columns")
async def columns(place: InPlace, session: InSession) -> Response:
    """Show the columns of a table and the answer to what was chosen."""
    table = session.table(place.setting.table)
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(reading(session, place, overview))
    place = place.known(overview)
    answer = await panel(session, place, PAGE_PATIENCE)
    return HTMLResponse(
        page(
            "columns/page.html",
            session,
            place,
            table=table,
            overview=overview,
            uses=_uses(place, overview),
            answer=answer,
        )
    )


def _uses(place: Place, overview: Overview) -> dict[str, str]:
    """Return what each column is for: "s", "x", or nothing."""
    setting = place.setting
    names = dict.fromkeys(overview.kinds, "")
    names |= dict.fromkeys(() if setting.is_empty else setting.released, "x")
    return names | dict.fromkeys(setting.sensitive, "s")


def reading(session: Session, place: Place, job: Job) -> str:
    """Return the page of a table that is being read; it comes back by itself."""
    table = session.table(place.setting.table)
    part = working(session, job, "Reading the table", "")
    return page("waiting.html", session, place, table=table, working=part)
