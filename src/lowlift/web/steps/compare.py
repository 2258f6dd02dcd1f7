"""Settings side by side, the one that is being worked on first."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lowlift._ledger import EVERYBODY, default_ledger
from lowlift.report.outcome import CANNOT
from lowlift.web import work
from lowlift.web.answers import PAGE_PATIENCE, outcome, overview_of, working
from lowlift.web.comparing import (
    MOST_RECIPIENTS,
    MOST_RECORDED,
    Head,
    heads,
    reasons_in,
    recipients_of,
    recorded_heads,
    sections,
)
from lowlift.web.frame import Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of
from lowlift.web.visitors import InSession
from lowlift.workflow.consulting import Sum
from lowlift.workflow.overview import Overview
from lowlift.workflow.published import Recorded

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
    given = {"every": every, "most": MOST_PINNED, "table": table, "is_compare": True}
    return HTMLResponse(page("compare/page.html", session, here, **given))


@router.get("/compared")
async def compared(request: Request, session: InSession) -> Response:
    """Return the table of a comparison; it asks again until all settings are answered."""
    return HTMLResponse(await _table(session, _places(request, session)))


async def _table(session: Session, every: list[Place]) -> str:
    answers = []
    known, waiting = [], []
    overview: Overview | Job | None = None
    for place in reversed(every):  # that of the first is the last
        overview = await overview_of(session, place.setting.table)
        known.append(place if isinstance(overview, Job) else place.known(overview))
        found = await outcome(session, place.setting, PAGE_PATIENCE)
        if isinstance(found, Job):
            waiting.append(found)
        answers.append(None if isinstance(found, Job) else found)
    known.reverse()
    answers.reverse()
    written = [(setting, job.result.to) for setting, job in session.written if job.result]
    columns = heads(known, answers, written)
    readings = {place.setting.table: _ledger(session, place.setting.table) for place in known}
    waiting += await _unfinished(readings.values())
    published = {key: job.result for key, job in readings.items() if job.result}
    columns, counting = await _with_sums(session, columns, published)
    waiting += counting
    n_more = 0
    first = published.get(known[0].setting.table, ())
    if isinstance(overview, Overview):
        names = frozenset(column.name for column in overview.columns)
        columns += recorded_heads(first, known[0], names, len(columns))
        n_more = max(0, len(first) - MOST_RECORDED)
    recipients = recipients_of([each for found in published.values() for each in found])
    again = f"/compared?{'&'.join(place_query(place) for place in every[:1])}"
    follow = [working(session, job, "Working", again, "#compared") for job in waiting[:1]]
    return show(
        "compare/table.html",
        heads=columns,
        sections=sections(columns, recipients[:MOST_RECIPIENTS] if published else None),
        follow="".join(follow),
        n_more=n_more,
        has_sums=bool(published),
        recipients_left=max(0, len(recipients) - MOST_RECIPIENTS),
        reasons=reasons_in(columns),
        fault=next((job.error for job in readings.values() if job.error), ""),
    )


def _ledger(session: Session, key: str) -> Job:
    """Return the job that reads what the ledger has of a table, anew when the ledger changed."""
    table = session.table(key)
    given = work.recorded, table.source, table.engine
    return session.job(("ledger", key, table.version, _ledger_version()), *given)


def _ledger_version() -> int:
    """Return what changes when the ledger does."""
    ledger = default_ledger()
    return ledger.stat().st_mtime_ns if ledger is not None and ledger.exists() else 0


async def _unfinished(jobs: Iterable[Job]) -> list[Job]:
    """Wait a moment for jobs, all at once; return those that go on."""
    every = list(jobs)
    done = await asyncio.gather(*(job.wait(PAGE_PATIENCE) for job in every))
    return [job for job, is_done in zip(every, done, strict=True) if not is_done]


async def _with_sums(
    session: Session, columns: Sequence[Head], published: Mapping[str, Sequence[Recorded]]
) -> tuple[list[Head], list[Job]]:
    """Return the heads with what they and the ledger add up to, and the jobs that go on."""
    started = {
        head.letter: (_sums(session, head.place.setting, head.answer, names), names)
        for head in columns
        if head.answer is not None and head.answer.state != CANNOT
        if (found := published.get(head.place.setting.table))
        for names in [recipients_of(found)[:MOST_RECIPIENTS]]
    }
    unfinished = await _unfinished(job for job, _ in started.values())
    sums: dict[str, tuple[Sum, ...]] = {}
    for letter, (job, names) in started.items():
        if job.state == "done":
            sums[letter] = job.result
        elif not job.is_running:
            sums[letter] = tuple(Sum(name, reason=job.error) for name in (*names, EVERYBODY))
    return [head._replace(sums=sums.get(head.letter)) for head in columns], unfinished


def _sums(session: Session, setting: Setting, answer: work.Answer, names: tuple[str, ...]) -> Job:
    """Return the job that asks the ledger what recipients would hold with a setting."""
    table, wishes = session.table(setting.table), work.Wishes(earlier=tuple(session.earlier))
    key = "together", setting, table.version, names, wishes, _ledger_version()
    return session.job(key, work.together, table.source, table.engine, answer.design, names, wishes)


def place_query(place: Place) -> str:
    """Return the query that compares a place's setting with its others."""
    return place.comparison.partition("?")[2]
