"""Settings beside each other."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lowlift.web import work
from lowlift.web.answers import outcome, working
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of
from lowlift.web.visitors import InSession

router = APIRouter()


@router.get("/compare")
async def compare(request: Request, session: InSession) -> Response:
    """Show up to three settings beside each other."""
    pinned = tuple(pinned_of(request.query_params.multi_items()))
    for setting in pinned:
        session.table(setting.table)
    here = Place("protection", pinned[-1] if pinned else Setting(), pinned)
    every = [Place("protection", each, tuple(p for p in pinned if p != each)) for each in pinned]
    return HTMLResponse(page("compare/page.html", session, here, every=every, most=MOST_PINNED))


@router.get("/compared")
async def compared(place: InPlace, session: InSession) -> Response:
    """Return one column of a comparison."""
    found = await outcome(session, place.setting)
    if isinstance(found, work.Answer):
        return HTMLResponse(show("compare/column.html", panel=found, place=place))
    if isinstance(found, Job):
        return HTMLResponse(working(session, found, "Working", f"/compared?{place.query}"))
    return HTMLResponse(show("problem.html", message=found))
