"""The step Protection: how much a published row may tell, to whom, and what matters."""

from dataclasses import replace
from typing import Any, NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from lowlift.report.beliefs import STOPS
from lowlift.report.limits import is_merged
from lowlift.report.outcome import EMPTY
from lowlift.web import work
from lowlift.web.answers import (
    PAGE_PATIENCE,
    PATIENCE,
    first_answer,
    outcome,
    overview_of,
    panel,
    rarest,
    trade_key,
    trade_points,
    with_refusal,
    working,
)
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import shortest
from lowlift.web.steps.columns import reading
from lowlift.web.trade import bounds_of, chart_of
from lowlift.web.visitors import InSession
from lowlift.web.words import CRITERIA, FIELDS, MECHANISMS
from lowlift.workflow.stops import Stop

router = APIRouter()
#: The limits that have a name.
_NAMED = tuple(map(shortest, STOPS))


@router.get("/protection")
async def protection(place: InPlace, session: InSession) -> Response:
    """Show the choices of the bound, the answer to them, and what follows from it."""
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
            below=await below(session, place),
            criteria=CRITERIA,
            mechanisms=MECHANISMS,
            shortest=shortest,
            labels=FIELDS,
        )
    )


class Below(NamedTuple):
    """What stands below the choices: trade-off, rows, the way on, what was chosen, examples."""

    trade: str
    rows: str
    go_on: str
    chosen: str
    examples: dict[str, str]

    @property
    def parts(self) -> str:
        """All of them together."""
        return "".join((self.trade, self.rows, self.go_on, self.chosen, *self.examples.values()))


async def below(session: Session, place: Place, *, is_swapped: bool = False) -> Below:
    """Return trade-off, rows and examples as far as they are known; they ask for the rest.

    With `is_swapped`, htmx puts each where the former one is.
    """
    found = None
    if not place.faults and place.setting.is_chosen:
        found = await outcome(session, place.setting, 0.0)
    answer = found if isinstance(found, work.Answer) else None
    is_first = isinstance(found, Job) and (answer := first_answer(found)) is not None
    given: dict[str, Any] = {"place": place, "answer": answer, "is_first": is_first}
    given |= {"is_swapped": is_swapped, "rarest": rarest(session, place.setting)}
    given["is_refused"] = isinstance(found, str)
    if isinstance(found, str):
        given["place"] = with_refusal(place, found)
    trade = show("protection/trade_part.html", **given)
    rows = show("protection/rows_part.html", **given)
    if answer is not None and trade_points(session, place.setting):
        trade = _trade(session, place, answer, is_swapped=is_swapped, is_first=is_first)
    named = {each: show("protection/examples.html", factor=each, **given) for each in _NAMED}
    go_on, chosen = (show(f"protection/{name}.html", **given) for name in ("go_on", "chosen"))
    return Below(trade, rows, go_on, chosen, named)


@router.get("/trade")
async def trade(place: InPlace, session: InSession) -> Response:
    """Draw what each limit keeps, with the answer to the present one in it."""
    found = await outcome(session, place.setting)
    if not isinstance(found, work.Answer) or found.design is None:
        is_first = isinstance(found, Job) and first_answer(found) is not None
        given = {"place": place, "answer": None, "is_first": is_first, "is_swapped": False}
        return HTMLResponse(show("protection/trade_part.html", **given))
    setting, table = place.setting, session.table(place.setting.table)
    overview = await overview_of(session, setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(working(session, overview, "Reading the table", "", can_end=False))
    setting = setting.on(overview)
    asked = table.source, table.engine, setting.asked(), found.design, setting, bounds_of(setting)
    job = session.job(trade_key(session, setting), work.trade, *asked)
    part = ""
    if not await job.wait(PATIENCE):
        again = f"/trade?{place.query}&step=protection"
        part = working(session, job, "What other limits keep", again, "#trade-part", can_end=False)
    return HTMLResponse(_trade(session, place, found, part))


def _trade(
    session: Session,
    place: Place,
    answer: work.Answer,
    part: str = "",
    *,
    is_swapped: bool = False,
    is_first: bool = False,
) -> str:
    """Return the chart of what is known; `part` follows the rest.

    A first answer is no point of it: what its limit keeps is still searched for.
    """
    points = trade_points(session, place.setting)
    now = None
    if answer.said is not None and not is_first:
        said = answer.said
        shown = "" if said.shown == said.state else said.shown
        now = Stop(place.setting.budget, said.state, said.share, said.most, shown=shown)
    is_rows = answer.design is not None and answer.design.spec.cells is not None
    return show(
        "protection/trade.html",
        chart=chart_of(place, points, now),
        part=part,
        is_rows=is_rows,
        is_swapped=is_swapped,
    )


@router.get("/rows")
async def rows(place: InPlace, session: InSession, page: int = 0) -> Response:
    """Show eight rows before and after; `page` other ones."""
    found = await outcome(session, place.setting)
    if isinstance(found, Job):  # while a better answer is searched for, those of the first
        found = first_answer(found) or found
    made = found.design if isinstance(found, work.Answer) else None
    if not isinstance(found, work.Answer) or made is None:
        given = {"place": place, "answer": None, "is_swapped": False}
        return HTMLResponse(show("protection/rows_part.html", **given))
    page = max(0, min(page, 10_000))
    table = session.table(place.setting.table)
    key = "rows", made.release.fingerprint, place.setting, table.version, page
    job = session.job(key, work.rows, table.source, table.engine, made, page)
    if not await job.wait(PATIENCE):
        again = f"/rows?{place.query}&step=protection&page={page}"
        part = working(session, job, "Drawing eight rows", again, "#rows-part", can_end=False)
        return HTMLResponse(show("protection/rows_working.html", working=part))
    if job.state != "done":
        problem = show("problem.html", message=job.error)
        return HTMLResponse(show("protection/rows_working.html", working=problem))
    drawn = job.result
    if made.kept is not None:  # as the answer says it: not as this one draw has it
        shares = tuple(zip(made.kept.names, made.kept.shares, strict=True))
        drawn = replace(drawn, unchanged=shares)
    changes = {value.change for row in drawn.rows for value in row.after}
    said: dict[str, Any] = {"changes": changes, "is_by_chance": found.state == EMPTY}
    said |= {"is_merged": is_merged(made.encoded), "page": page}
    return HTMLResponse(show("protection/rows.html", place=place, found=drawn, **said))
