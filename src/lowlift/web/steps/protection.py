"""The step Protection: how much a published row may tell, to whom, and what matters."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lowlift.web import work
from lowlift.web.answers import PAGE_PATIENCE, drawn, finished, overview_of, panel
from lowlift.web.frame import InPlace, page
from lowlift.web.jobs import Job
from lowlift.web.settings import MOST_SECONDS, shortest
from lowlift.web.steps.columns import reading
from lowlift.web.visitors import InSession
from lowlift.workflow import CRITERIA, MECHANISMS

router = APIRouter()


@router.get("/protection")
async def protection(place: InPlace, session: InSession) -> Response:
    """Show the choices of the bound and the answer to them."""
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(reading(session, place, overview))
    place = place.known(overview)
    answer = await panel(session, place, PAGE_PATIENCE)
    return HTMLResponse(
        page(
            "protection/page.html",
            session,
            place,
            answer=answer,
            criteria=CRITERIA,
            mechanisms=MECHANISMS,
            shortest=shortest,
            most_seconds=MOST_SECONDS,
        )
    )


@router.get("/pictures")
async def pictures(place: InPlace, request: Request, session: InSession) -> Response:
    """Draw the heat maps and distributions of an answer."""
    setting = place.setting
    answer = await finished(session, setting)
    made = answer.design
    key = "pictures", made.release.fingerprint, setting
    job = session.job(key, work.pictures, made, setting)
    return HTMLResponse(await drawn(session, job, f"/pictures?{request.url.query}"))


@router.get("/curve")
async def curve(place: InPlace, request: Request, session: InSession) -> Response:
    """Draw the trade-off of the merging mechanisms with an answer in it."""
    setting = place.setting
    answer = await finished(session, setting)
    made, points = answer.design, session.points.get(setting.family)
    key = "curve", made.release.fingerprint, setting
    job = session.job(key, work.curve, made, setting, points)
    html = await drawn(session, job, f"/curve?{request.url.query}")
    if job.state == "done":
        session.points[setting.family] = job.result.points
    return HTMLResponse(html)
