"""The step Columns: what each column is, what it tells, and what it is for."""

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from lowlift._wording import counted, joined
from lowlift.errors import InvalidInput
from lowlift.tables.columns import NUMERIC
from lowlift.web import work
from lowlift.web.answers import PAGE_PATIENCE, PATIENCE, overview_of, panel, working
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.grouping import suggestions
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import Setting
from lowlift.web.telling import advice, given_away, limits_of, tags, telling
from lowlift.web.visitors import InSession
from lowlift.workflow import ColumnProfile, TableProfile
from lowlift.workflow.overview import ORDERED, Histogram, Overview, nice_step

router = APIRouter()

_KINDS = {
    "integer": "number",
    "real": "number",
    "boolean": "yes or no",
    "timestamp": "date and time",
    "other": "of a kind that cannot be counted",
}


@dataclass(frozen=True)
class Row:
    """A column as the page shows it."""

    number: int
    found: ColumnProfile
    kind: str
    missing: int
    example: str
    #: "s", "x" or nothing.
    use: str
    #: Why it is left out, of a column that takes a deliberate step to publish.
    locked: str
    has_bins: bool


@router.get("/columns")
async def columns(place: InPlace, session: InSession) -> Response:
    """Show the columns of a table and the answer to what was chosen."""
    table = session.table(place.setting.table)
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(reading(session, place, overview))
    place = place.known(overview)
    answer = await panel(session, place, PAGE_PATIENCE)
    rows = _rows(place.setting, overview)
    measured = _measured(_profiled(session, place.setting, overview))
    content = page(
        "columns/page.html",
        session,
        place,
        table=table,
        overview=overview,
        rows=rows,
        counts=_counts(place.setting, rows, measured),
        answer=answer,
        **_told(place, overview, measured),
    )
    return HTMLResponse(content)


def _rows(setting: Setting, overview: Overview) -> list[Row]:
    uses = dict.fromkeys(() if setting.is_empty else setting.released, "x")
    uses |= dict.fromkeys(setting.sensitive, "s")
    return [
        Row(
            number,
            found,
            _KINDS.get(found.kind, found.kind),
            round((found.missing or 0.0) * overview.rows),
            _example(found, overview),
            uses.get(found.name, ""),
            _lock(found),
            found.kind in ORDERED
            and not (found.name in overview.single and found.different in {1, 2}),
        )
        for number, found in enumerate(overview.columns, 1)
    ]


def _counts(
    setting: Setting, rows: list[Row], measured: dict[str, ColumnProfile]
) -> dict[str, int]:
    """Return how many columns each filter of the page shows; some flags are measured."""
    found = {use: sum(row.use == use for row in rows) for use in ("s", "x", "")}
    flagged = sum(bool(tags(measured.get(row.found.name, row.found), setting)) for row in rows)
    return {"all": len(rows), **found, "flag": flagged}


def _lock(found: ColumnProfile) -> str:
    if not found.is_withheld:
        return ""
    return "it cannot be counted" if "not-counted" in found.flags else "it names a person"


def _example(found: ColumnProfile, overview: Overview) -> str:
    if found.name in overview.ranges:
        low, middle, high = (shown(value, found.kind) for value in overview.ranges[found.name])
        return f"{low} to {high}, median {middle}"
    texts = list(overview.examples.get(found.name, ()))
    if found.kind in NUMERIC:
        texts.sort(key=float)
    more = ["…"] if (found.different or 0) > len(texts) > 0 else []
    return ", ".join([text[:40] for text in texts] + more)


def shown(value: float, kind: str) -> str:
    """Return a number, or a day since 1970 as a date.

    Examples
    --------
    >>> shown(1234.5, "real"), shown(0.0, "date")
    ('1234.5', '1970-01-01')
    """
    if kind not in {"date", "timestamp"}:
        return f"{value:.10g}"
    try:
        return (dt.date(1970, 1, 1) + dt.timedelta(value)).isoformat()
    except OverflowError:
        return f"day {value:.0f}"


def reading(session: Session, place: Place, job: Job) -> str:
    """Return the page of a table that is being read; it comes back by itself."""
    table = session.table(place.setting.table)
    part = working(session, job, "Reading the table", "")
    return page("waiting.html", session, place, table=table, working=part)


# What columns tell -------------------------------------------------------------------------------


def _profiled(session: Session, setting: Setting, overview: Overview) -> Job | None:
    """Return the job that measures what each column tells of the protected ones."""
    if not setting.sensitive:
        return None
    table = session.table(setting.table)
    asked = setting.sensitive, _countable_bins(setting, overview)
    key = "profile", setting.table, table.version, *asked
    return session.job(key, work.profile, table.source, table.engine, *asked)


def _countable_bins(setting: Setting, overview: Overview) -> tuple[tuple[str, str], ...]:
    """Return the bins without a fault of their own; that others lack bins is no such fault."""
    wrong = replace(setting, released=()).wrong_bins(overview.kinds)
    return tuple((name, text) for name, text in setting.bins if f"bin:{name}" not in wrong)


def _measured(job: Job | None) -> dict[str, ColumnProfile]:
    """Return what was measured of each column but the protected ones, if that is known."""
    found: TableProfile | None = None if job is None else job.result
    return {} if found is None else {column.name: column for column in found.columns}


@router.get("/columns/tells")
async def tells(place: InPlace, session: InSession) -> Response:
    """Return what each column tells of the protected ones, as parts of the page."""
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(_not_measured(place, is_running=True))
    place = place.known(overview)
    setting = place.setting
    job = _profiled(session, setting, overview)
    if job is None or not await job.wait(PATIENCE):
        return HTMLResponse(_not_measured(place, is_running=job is not None))
    html = show(
        "columns/telling.html",
        error=job.error,
        place=place,
        rows=_rows(setting, overview),
        **_told(place, overview, _measured(job)),
    )
    return HTMLResponse(html)


def _told(place: Place, overview: Overview, measured: dict[str, ColumnProfile]) -> dict[str, Any]:
    """Return what the parts of the page need that say what columns tell."""
    setting = place.setting
    given = given_away(measured, setting)
    rest = tuple(name for name in setting.released if name not in given)
    return {
        "measured": measured,
        "tells": partial(telling, limits=limits_of(setting)),
        "limits": limits_of(setting),
        "tags": tags,
        "advice": advice,
        "waits": _waiting(setting, overview),
        "given": joined(given),
        "is_one": len(given) == 1,
        "without": place.address("columns", released=rest) if given and rest else "",
    }


def _waiting(setting: Setting, overview: Overview) -> frozenset[str]:
    """Return the columns of which nothing is told until groups are corrected."""
    right = dict(_countable_bins(setting, overview))
    wrong = {name for name, _ in setting.bins if name not in right}
    return frozenset(overview.kinds if wrong & set(setting.sensitive) else wrong)


def _not_measured(place: Place, *, is_running: bool) -> str:
    return show("columns/telling.html", measured={}, place=place, is_running=is_running)


# Groups of numbers and dates ---------------------------------------------------------------------


@router.get("/columns/histogram")
async def histogram(place: InPlace, session: InSession, column: str = "") -> Response:
    """Return the histogram of a column, with handles and suggestions for its groups."""
    table = session.table(place.setting.table)
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job) or column not in overview.kinds:
        raise InvalidInput("this column is not in the table. Load the page again.")
    key = "histogram", place.setting.table, table.version, column
    job = session.job(key, work.histogram, table.source, table.engine, column)
    if not await job.wait(PATIENCE):
        return HTMLResponse(show("columns/counting.html", place=place, column=column, when="load"))
    if job.state != "done":
        return HTMLResponse(show("problem.html", message=job.error))
    found: Histogram = job.result
    profile = next(each for each in overview.columns if each.name == column)
    span = found.step * len(found.counts)
    return HTMLResponse(
        show(
            "columns/histogram.html",
            column=column,
            found=found,
            bars=list(_bars(found, profile.kind)),
            labels=[
                shown(found.start + k * found.step, profile.kind) for k in range(len(found.counts))
            ],
            quartiles=[shown(_after(edge, found), profile.kind) for edge in found.quartiles],
            suggestions=[("", "Automatic"), *suggestions(profile, span, is_whole=found.step >= 1)],
            missing=found.missing,
            is_whole=profile.kind == "integer",
            rows=counted,
        )
    )


def _after(edge: float, found: Histogram) -> float:
    """Return where the group after a quartile begins, among the bars."""
    return found.start + math.ceil((edge - found.start) / found.step) * found.step


#: The picture's size, and the room for its bars; its labels at most, and of dates.
_LEFT, _WIDTH, _HIGH = 10.0, 620.0, 104.0
_MOST_TICKS, _MOST_DAYS, _NEAR = 10, 6, 1e-6


def _bars(found: Histogram, kind: str) -> Iterator[dict[str, Any]]:
    wide, most = _WIDTH / len(found.counts), max(found.counts) or 1
    ticks = _ticks(found, is_date=kind in {"date", "timestamp"})
    for k, rows in enumerate(found.counts):
        high = max(1.5, _HIGH * rows / most) if rows else 0.0
        label = shown(found.start + k * found.step, kind) if k in ticks else ""
        yield {
            "x": round(_LEFT + k * wide + 0.05 * wide, 1),
            "width": round(0.9 * wide, 1),
            "y": round(150 - high, 1),
            "height": round(high, 1),
            "middle": round(_LEFT + (k + 0.5) * wide, 1),
            "label": label,
            "rows": rows,
        }


def _ticks(found: Histogram, *, is_date: bool) -> set[int]:
    """Return the bars that are labelled: those that start at a round number, or every so many."""
    size = len(found.counts)
    most = _MOST_DAYS if is_date else _MOST_TICKS
    round_step = nice_step(size * found.step / most, is_whole=found.step >= 1)
    places = [(found.start + k * found.step) / round_step for k in range(size)]
    at_round = {k for k, at in enumerate(places) if abs(at - round(at)) < _NEAR}
    every = max(1, math.ceil(size / most))
    return at_round if len(at_round) > 1 and not is_date else set(range(0, size, every))
