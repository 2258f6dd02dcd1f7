"""Settings side by side, the one that is being worked on first."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lowlift.web.answers import PAGE_PATIENCE, outcome, overview_of, working
from lowlift.web.comparing import heads, sections
from lowlift.web.frame import Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of
from lowlift.web.visitors import InSession

router = APIRouter()


def _places(request: Request, session: Session) -> list[Place]:
    """Return the places of the settings to compare; each knows the others."""
    pinned = tuple(pinned_of(request.query_params.multi_items()))
    for setting in pinned:
        session.table(setting.table)
    return [Place("protection", one, tuple(p for p in pinned if p != one)) for one in pinned]


@router.get("/compare")
async def compare(request: Request, session: InSession) -> Response:
    """Show up to four settings beside each other."""
    every = _places(request, session)
    here = every[0] if every else Place("protection", Setting())
    table = await _table(session, every) if every else ""
    given = {"every": every, "most": MOST_PINNED, "table": table}
    return HTMLResponse(page("compare/page.html", session, here, **given))


@router.get("/compared")
async def compared(request: Request, session: InSession) -> Response:
    """Return the table of a comparison; it asks again until all settings are answered."""
    return HTMLResponse(await _table(session, _places(request, session)))


async def _table(session: Session, every: list[Place]) -> str:
    answers = []
    known, waiting = [], []
    for place in every:
        overview = await overview_of(session, place.setting.table)
        known.append(place if isinstance(overview, Job) else place.known(overview))
        found = await outcome(session, place.setting, PAGE_PATIENCE)
        if isinstance(found, Job):
            waiting.append(found)
        answers.append(None if isinstance(found, Job) else found)
    written = [(setting, job.result.to) for setting, job in session.written if job.result]
    columns = heads(known, answers, written)
    again = f"/compared?{'&'.join(place_query(place) for place in every[:1])}"
    follow = [working(session, job, "Working", again, "#compared") for job in waiting[:1]]
    return show(
        "compare/table.html", heads=columns, sections=sections(columns), follow="".join(follow)
    )


def place_query(place: Place) -> str:
    """Return the query that compares a place's setting with its others."""
    return place.comparison.partition("?")[2]
