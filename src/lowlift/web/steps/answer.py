"""The answer: one part of the steps Columns, Protection and Publish, sent on each change."""

from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lowlift.web.answers import overview_of, panel
from lowlift.web.frame import InPlace, Place, steps
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.steps.protection import below
from lowlift.web.visitors import InSession

router = APIRouter()


@router.get("/answer")
async def answer(request: Request, place: InPlace, session: InSession) -> Response:
    """Return the answer to a setting, with the bar of steps; the page's address follows.

    The address is a new entry of the history: Back undoes a change.
    """
    found = await overview_of(session, place.setting.table)
    if not isinstance(found, Job):
        place = place.known(found)
    given = request.query_params
    parts = await panel(session, place, is_warned="warned" in given, is_adding="adding" in given)
    around = {"session": session, "steps": steps(session, place), "place": place}
    around["is_swapped"] = True
    parts += show("steps.html", **around) + show("nav.html", **around)
    if place.step == "columns":
        parts += show("onward.html", place=place, is_swapped=True)
    if place.step == "protection":
        parts += (await below(session, place, is_swapped=True)).parts
    now = urlsplit(request.headers.get("hx-current-url", ""))
    before, _ = Setting.read(parse_qsl(now.query, keep_blank_values=True))
    # What is wrong as it is written is not in the address, but for groups.
    is_kept = all(
        name.startswith(("bin:", "role:")) or name not in place.written for name in place.faults
    )
    is_new = is_kept and (before != place.setting or now.path != f"/{place.step}")
    return HTMLResponse(parts, headers={"HX-Push-Url": place.address()} if is_new else {})


@router.get("/look")
async def look(request: Request, session: InSession) -> Response:
    """Lead former addresses to the step that shows the same."""
    del session  # which must be there
    setting, faults = Setting.read(request.query_params.multi_items())
    if faults:
        return RedirectResponse(f"/columns?{request.url.query}", 303)
    step = "protection" if setting.is_chosen else "columns"
    return RedirectResponse(Place(step, setting).address(), 303)
