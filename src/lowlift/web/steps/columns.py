"""The step Columns: what each column is, what it tells, and what it is for."""

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from lowlift._wording import counted, times
from lowlift.errors import InvalidInput
from lowlift.web import work
from lowlift.web.answers import PAGE_PATIENCE, PATIENCE, overview_of, panel, working
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import Setting
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
#: Flags as tags: the tone, the icon and the words, of which {s} is the protected column.
_TAGS = {
    "identifier": ("bad", "badge", "identifier"),
    "free-text": ("bad", "badge", "free text"),
    "not-counted": ("bad", "stop", "cannot be counted"),
    "constant": ("", "dash", "one value"),
    "few-rows-each": ("warn", "warn", "few rows per value"),
    "same-as-sensitive": ("bad", "equal", "{s} in other words"),
    "determines-sensitive": ("bad", "equal", "determines {s}"),
    "nearly-determines-sensitive": ("bad", "equal", "nearly determines {s}"),
    "follows-from-sensitive": ("bad", "equal", "made from {s}"),
}
_GIVEN_AWAY = frozenset({"same-as-sensitive", "determines-sensitive"})
#: What to do about a column that gives the protected one away, once it is published.
_USES_UP = "Published, it uses up the limit: leave it out, or protect it too."
#: The share of missing values that is flagged, and the lift up to which nothing is told.
_MANY_MISSING, _NOTHING = 0.3, 1.05
#: Groups that a suggestion makes of numbers and of dates, at most; values that can each be one.
_MOST_GROUPS, _MOST_UNITS, _EACH = 12, 120, 50
_DAYS = {"day": 1.0, "month": 30.4, "quarter": 91.3, "year": 365.25}


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


class Tag(NamedTuple):
    """A flag of a column: its look, its words, and what to do where the column is published."""

    tone: str
    icon: str
    words: str
    advice: str = ""


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
        counts=_counts(rows, measured),
        answer=answer,
        measured=measured,
        tells=_tells,
        tags=_tags,
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


def _counts(rows: list[Row], measured: dict[str, ColumnProfile]) -> dict[str, int]:
    """Return how many columns each filter of the page shows; some flags are measured."""
    found = {use: sum(row.use == use for row in rows) for use in ("s", "x", "")}
    flagged = sum(bool(_tags(measured.get(row.found.name, row.found), "")) for row in rows)
    return {"all": len(rows), **found, "flag": flagged}


def _lock(found: ColumnProfile) -> str:
    if not found.is_withheld:
        return ""
    return "it cannot be counted" if "not-counted" in found.flags else "it names the row"


def _example(found: ColumnProfile, overview: Overview) -> str:
    if found.name in overview.ranges:
        low, middle, high = (shown(value, found.kind) for value in overview.ranges[found.name])
        return f"{low} to {high}, median {middle}"
    return ", ".join(text[:40] for text in overview.examples.get(found.name, ()))


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


def _tags(found: ColumnProfile, sensitive: str) -> list[Tag]:
    """Return what the flags of a column say."""
    said = [_tag(flag, sensitive) for flag in found.flags if flag in _TAGS]
    if found.missing is not None and found.missing >= _MANY_MISSING:
        said.append(Tag("warn", "warn", f"{found.missing:.0%} missing"))
    said += [Tag("", "equal", f"same as {name}") for name in found.duplicates[:1]]
    return said


def _tag(flag: str, sensitive: str) -> Tag:
    tone, icon, words = _TAGS[flag]
    advice = _USES_UP if flag in _GIVEN_AWAY else ""
    return Tag(tone, icon, words.format(s=sensitive or "it"), advice)


def _tells(found: ColumnProfile, limit: float | None) -> dict[str, Any]:
    """Return what a column tells of S alone, as words and as a bar from 1 to 10 times."""
    lift = found.lift_high
    word, soft = "", ""
    if not _GIVEN_AWAY.isdisjoint(found.flags) or "identifier" in found.flags:
        lift, word = max(lift or 1.0, 10.0), "gives it away"
    elif lift is None:
        soft = "nothing" if "constant" in found.flags else "not measured"
    elif lift < _NOTHING:
        soft = "next to nothing"
    else:
        word = times(lift).removeprefix("×")
    return {
        "bar": 100 * min(1.0, math.log10(max(lift or 1.0, 1.0))),
        "is_over": limit is not None and lift is not None and lift > limit,
        "limit": None if limit is None else 100 * min(1.0, math.log10(limit)),
        "word": word,
        "soft": soft,
    }


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
    setting = place.setting
    overview = await overview_of(session, setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(_not_measured(place, is_running=True))
    job = _profiled(session, setting, overview)
    if job is None or not await job.wait(PATIENCE):
        return HTMLResponse(_not_measured(place, is_running=job is not None))
    html = show(
        "columns/telling.html",
        measured=_measured(job),
        error=job.error,
        place=place,
        rows=_rows(setting, overview),
        tells=_tells,
        tags=_tags,
    )
    return HTMLResponse(html)


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
            suggestions=list(_suggestions(found, profile)),
            missing=found.missing,
            rows=counted,
        )
    )


def _after(edge: float, found: Histogram) -> float:
    """Return where the group after a quartile begins, among the bars."""
    return found.start + math.ceil((edge - found.start) / found.step) * found.step


#: The picture's size, and the room for its bars.
_LEFT, _WIDTH, _HIGH = 10.0, 620.0, 104.0


def _bars(found: Histogram, kind: str) -> Iterator[dict[str, Any]]:
    wide, most = _WIDTH / len(found.counts), max(found.counts) or 1
    every = max(1, math.ceil(len(found.counts) / (6 if kind in {"date", "timestamp"} else 10)))
    for k, rows in enumerate(found.counts):
        high = max(1.5, _HIGH * rows / most) if rows else 0.0
        label = shown(found.start + k * found.step, kind) if k % every == 0 else ""
        yield {
            "x": round(_LEFT + k * wide + 0.05 * wide, 1),
            "width": round(0.9 * wide, 1),
            "y": round(150 - high, 1),
            "height": round(high, 1),
            "middle": round(_LEFT + (k + 0.5) * wide, 1),
            "label": label,
            "rows": rows,
        }


def _suggestions(found: Histogram, profile: ColumnProfile) -> Iterator[tuple[str, str]]:
    """Return groups as texts of ``--bin``, each with its name."""
    span = found.step * len(found.counts)
    yield "", "Automatic"
    if profile.kind in {"date", "timestamp"}:
        units = [unit for unit, days in _DAYS.items() if 2 <= span / days <= _MOST_UNITS]
        for unit in units[-2:]:
            yield unit, f"{unit.capitalize()}s"
    else:
        step = nice_step(span / _MOST_GROUPS, is_whole=found.step >= 1)
        is_age = profile.name.lower() in {"age", "ages"} or profile.name.lower().endswith("_age")
        yield f"width:{step:g}", f"{step:g} years" if is_age else f"Steps of {step:g}"
        yield "quantiles:4", "Quartiles"
        if profile.kind == "integer" and (profile.different or 0) <= _EACH:
            yield "each", "Each value"
