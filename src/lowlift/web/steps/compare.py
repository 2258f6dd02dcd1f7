"""Settings side by side, the one that is being worked on first."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lowlift._ledger import EVERYBODY
from lowlift.report.outcome import CANNOT
from lowlift.web import work
from lowlift.web.answers import PAGE_PATIENCE, outcome, overview_of, working
from lowlift.web.cards import day
from lowlift.web.comparing import NOT_KEPT, Head, recipients_of, sections
from lowlift.web.frame import Place, page
from lowlift.web.jobs import Job
from lowlift.web.naming import titles_of
from lowlift.web.pages import show
from lowlift.web.recorded import again
from lowlift.web.sessions import Session
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of
from lowlift.web.visitors import InSession
from lowlift.workflow.consulting import Sum
from lowlift.workflow.overview import Overview
from lowlift.workflow.published import Recorded

router = APIRouter()

#: Publications of the ledger that a comparison shows, and who got them.
_MOST_RECORDED, _MOST_RECIPIENTS = 4, 6


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
    columns = _heads(known, answers, written)
    readings = {place.setting.table: _ledger(session, place.setting.table) for place in known}
    waiting += await _unfinished(readings.values())
    published = {key: job.result for key, job in readings.items() if job.result}
    columns, counting = await _with_sums(session, columns, published)
    waiting += counting
    n_more = 0
    first = published.get(known[0].setting.table, ())
    columns, others = folded_in(columns, first)
    if isinstance(overview, Overview):
        names = frozenset(column.name for column in overview.columns)
        columns += recorded_heads(others, known[0], names, len(columns))
        n_more = max(0, len(others) - _MOST_RECORDED)
    columns = _titled(columns)
    recipients = recipients_of([each for found in published.values() for each in found])
    parts = sections(columns, recipients[:_MOST_RECIPIENTS] if published else None)
    address = f"/compared?{'&'.join(place_query(place) for place in every[:1])}"
    follow = [working(session, job, "Working", address, "#compared") for job in waiting[:1]]
    return show(
        "compare/table.html",
        heads=columns,
        sections=parts,
        says_not_kept=any(
            cell.text == NOT_KEPT for _, rows in parts for row in rows for cell in row.cells
        ),
        follow="".join(follow),
        n_more=n_more,
        has_sums=bool(published),
        recipients_left=max(0, len(recipients) - _MOST_RECIPIENTS),
        reasons=_reasons_in(columns),
        fault=next((job.error for job in readings.values() if job.error), ""),
    )


def _heads(
    places: Sequence[Place],
    answers: Sequence[work.Answer | str | None],
    published: Sequence[tuple[Setting, str]],
) -> list[Head]:
    """Return the heads of the columns; `published` are settings of tables and who got them."""
    found = []
    for letter, place, answer in zip("ABCDEFGH", places, answers, strict=False):
        problem = answer if isinstance(answer, str) else ""
        ready = answer if isinstance(answer, work.Answer) else None
        to = tuple(dict.fromkeys(who for setting, who in published if setting == place.setting))
        found.append(Head(letter, "", place, ready, problem, to))
    return found


def folded_in(
    heads: Sequence[Head], found: Sequence[Recorded]
) -> tuple[list[Head], list[Recorded]]:
    """Return the heads, each with what the ledger has of its very release, and what is left."""
    made = [_release(head) for head in heads]
    columns = []
    for head, release in zip(heads, made, strict=True):
        same = [each.entry for each in found if each.entry.release == release]
        to = dict.fromkeys((*head.published_for, *(each.recipient for each in same)))
        when = day(same[0]) if same else ""
        columns.append(head._replace(published_for=tuple(to), in_ledger=when))
    return columns, [each for each in found if each.entry.release not in made]


def _release(head: Head) -> str | None:
    """Return what tells the release of a head; None where there is none yet."""
    made = None if head.answer is None else head.answer.design
    return None if made is None else made.encoded.release.fingerprint


def _titled(heads: Sequence[Head]) -> list[Head]:
    """Return the heads with what differs between them; one whose setting is not known has one."""
    known = [(head.again or head.place).setting for head in heads if not head.title]
    titles = iter(titles_of(known))
    return [head if head.title else head._replace(title=next(titles)) for head in heads]


def recorded_heads(
    found: Sequence[Recorded], first: Place, columns: frozenset[str], n_before: int
) -> list[Head]:
    """Return the heads of publications of the ledger, after so many others."""
    heads = []
    for letter, each in zip("ABCDEFGH"[n_before:], found[:_MOST_RECORDED], strict=False):
        known = again(each, first.setting.table, columns)
        others = tuple(dict.fromkeys((first.setting, *first.pinned)))
        setting = first.setting if known is None else known.setting
        place = Place("protection", setting, others)
        title = each.entry.criterion if known is None else ""
        head = Head(letter, title, place, None, published_for=(each.entry.recipient,))
        heads.append(head._replace(recorded=each, again=known))
    return heads


def _ledger(session: Session, key: str) -> Job:
    """Return the job that reads what the ledger has of a table, anew when the ledger changed."""
    table = session.table(key)
    given = work.recorded, table.source, table.engine
    return session.job(("ledger", key, table.version, work.ledger_version()), *given)


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
        for names in [recipients_of(found)[:_MOST_RECIPIENTS]]
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
    key = "together", setting, table.version, names, wishes, work.ledger_version()
    return session.job(key, work.together, table.source, table.engine, answer.design, names, wishes)


def _reasons_in(found: Sequence[Head]) -> list[str]:
    """Return why sums cannot be told, each reason once."""
    unknown = [one for head in found for one in head.sums or () if one.holds is None]
    gone = (
        "the release of an earlier publication is missing. Give it back on the step Publish, for "
        "whom it was made."
    )
    return list(dict.fromkeys(gone if one.is_missing else one.reason for one in unknown))


def place_query(place: Place) -> str:
    """Return the query that compares a place's setting with its others."""
    return place.comparison.partition("?")[2]
