"""What a setting gives: its answer, or the work that leads to it, as parts of pages."""

from dataclasses import replace
from typing import Any

from lowlift.errors import InvalidInput, LowliftError
from lowlift.report.beliefs import Belief
from lowlift.report.outcome import AVERAGE, USEFUL
from lowlift.tables.schema import OF_CELLS
from lowlift.web import work
from lowlift.web.fields import MOST_SECONDS
from lowlift.web.frame import Place
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import Setting
from lowlift.web.trade import ways
from lowlift.web.words import NAMES, TELLS, message_of, on_page
from lowlift.workflow.cells import STAGES
from lowlift.workflow.overview import Overview
from lowlift.workflow.rows import Method, is_of_rows
from lowlift.workflow.stops import Stop

#: Seconds that a part waits for an answer before it shows the work instead; and that a page does.
PATIENCE, PAGE_PATIENCE = 1.0, 0.3


def inspect(session: Session, key: str) -> Job:
    """Return the job that looks at a table's columns."""
    table = session.table(key)
    return session.job(("inspect", key, table.version), work.inspect, table.source, table.engine)


async def overview_of(session: Session, key: str) -> Overview | Job:
    """Return what a table's columns are, or the job that still looks.

    Raises
    ------
    InvalidInput
        When the table cannot be read.
    """
    job = inspect(session, key)
    if not await job.wait(PATIENCE):
        return job
    if job.state != "done":
        raise InvalidInput(job.error)
    found: Overview = job.result
    return found


async def answered(session: Session, setting: Setting, patience: float = PATIENCE) -> Job:
    """Return the job that answers a setting, or the one that it waits for."""
    table = session.table(setting.table)
    looked = inspect(session, setting.table)
    if not await looked.wait(patience) or looked.state != "done":
        return looked
    setting = setting.on(looked.result)
    asked, bound = setting.asked(), setting.bound()
    compiling = session.compiling
    method = Method(setting.mechanism, setting.encoding or None)
    if is_of_rows(looked.result.kinds, asked, bound, method):
        compiling = None  # these need no kernel
    if compiling is not None and not await compiling.wait(patience):
        return compiling
    counts = session.joints.get((setting.counted, table.version))
    given = table.source, table.engine, counts, asked, setting, bound
    found = session.job(("answer", setting, table.version), work.answer, *given)
    await found.wait(patience, lambda: first_answer(found) is not None)
    known = found.result or first_answer(found)
    if isinstance(known, work.Answer) and known.joint is not None:
        session.joints[setting.counted, table.version] = known.joint
    if isinstance(known, work.Answer) and known.said is not None:
        session.rarest[setting.columns, table.version] = known.said.rarest
    return found


async def outcome(
    session: Session, setting: Setting, patience: float = PATIENCE
) -> work.Answer | Job | str:
    """Return the answer to a setting, the job that it waits for, or why there is none."""
    try:
        job = await answered(session, setting, patience)
        if job.state == "done" and not isinstance(job.result, work.Answer):  # the answer is next
            job = await answered(session, setting, patience)
    except LowliftError as error:
        return message_of(error)
    if isinstance(job.result, work.Answer):
        return job.result
    return job if job.is_running or job.state == "done" else job.error


async def panel(
    session: Session,
    place: Place,
    patience: float = PATIENCE,
    *,
    is_warned: bool = False,
    is_adding: bool = False,
) -> str:
    """Return the answer to the setting of a place: one part, whatever its state.

    It is not green if a user `is_warned` of something that speaks against the table. If a user
    `is_adding` columns unchanged, what others believe is not shown: it would be without them.
    """
    if place.faults or not place.setting.is_chosen:
        return show(f"answer/{'waiting' if place.faults else 'choose'}.html", place=place)
    found = await outcome(session, place.setting, patience)
    if isinstance(found, work.Answer):
        return ready(session, place, found, is_warned=is_warned, is_adding=is_adding)
    if isinstance(found, Job):
        is_search = any(isinstance(step, tuple | work.Answer) for step in found.steps)
        is_reading = found is inspect(session, place.setting.table)
        title = "Reading the table" if is_reading else "Preparing what would be published"
        title = "Searching" if is_search else title
        again = f"/answer?{place.query}&step={place.step}"
        part = working(session, found, title, again, "#answer")
        first = first_answer(found)
        if first is not None:  # it holds as well; what is searched for keeps more
            return ready(session, place, first, part)
        return show("answer/working.html", place=place, working=part)
    return _refused(place, found)


def _refused(place: Place, refusal: str) -> str:
    """Return why there is no answer, with a link to the field that is meant."""
    known = with_refusal(place, refusal)
    if known.faults:
        return show("answer/waiting.html", place=known)
    return show("answer/problem.html", place=place, message=on_page(refusal)[0])


def with_refusal(place: Place, refusal: str) -> Place:
    """Return a place with a refusal of its setting as a fault, if the page has the field meant."""
    message, name = on_page(refusal)
    is_here = name and place.step == "protection"
    return replace(place, faults={name: message}) if is_here else place


def first_answer(job: Job) -> work.Answer | None:
    """Return the answer that a job gave before its search, if it did."""
    return next((step for step in job.steps if isinstance(step, work.Answer)), None)


def ready(
    session: Session,
    place: Place,
    found: work.Answer,
    searching: str = "",
    *,
    is_warned: bool = False,
    is_adding: bool = False,
) -> str:
    """Return the answer as the panel shows it; `searching` follows the search for a better one."""
    longer = place.setting.seconds * 3
    is_helped = found.shown not in {USEFUL, AVERAGE, NAMES, TELLS} and found.design is not None
    points = trade_points(session, place.setting)
    is_rows = found.design is not None and found.design.encoded.name in OF_CELLS
    return show(
        "answer/ready.html",
        place=place,
        found=found,
        searching=searching,
        is_warned=is_warned,
        is_adding=is_adding,
        longer=longer if longer <= MOST_SECONDS else 0,
        ways=ways(place, found.shown, points, is_rows=is_rows, tells=found.tells),
        is_pending=is_helped and not points,
        refusal=on_page(found.refusal),
    )


def rarest(session: Session, setting: Setting) -> Belief | None:
    """Return the value of S that the fewest rows have, whatever the limit; None if not known."""
    table = session.tables.get(setting.table)
    return None if table is None else session.rarest.get((setting.columns, table.version))


def trade_points(session: Session, setting: Setting) -> tuple[Stop, ...]:
    """Return what other limits keep, if that is known."""
    points: tuple[Stop, ...] = session.found(trade_key(session, setting)) or ()
    return points


def trade_key(session: Session, setting: Setting) -> tuple[str, Setting, Any]:
    """Return the key of the job that finds what other limits keep."""
    return "trade", setting.family, session.table(setting.table).version


def working(
    session: Session,
    job: Job,
    title: str,
    again: str,
    target: str = "this",
    *,
    can_end: bool = True,
) -> str:
    """Return a part that follows a job, and when it is done puts what `again` gives at `target`.

    It has buttons that end the job if `can_end`; the job that compiles is everyone's and has none.
    """
    is_compiling = job is session.compiling
    known = "" if first_answer(job) is None else "?has_first=true"
    return show(
        "working.html",
        job=job,
        events="/compiling" if is_compiling else f"/jobs/{job.id}/events{known}",
        title="Compiling" if is_compiling else title,
        again=again,
        target=target,
        progress=progress_of(job, is_compiling=is_compiling),
        is_search=any(isinstance(step, tuple) and len(step) == 4 for step in job.steps[-1:]),
        token=session.token if can_end and not is_compiling else "",
    )


def progress_of(job: Job, *, is_compiling: bool = False) -> str:
    """Return how far a job is; the one that compiles has no steps before its first function."""
    stages = [step for step in job.steps if isinstance(step, str)]
    steps = [step for step in job.steps if not isinstance(step, work.Answer | str)]
    last = steps[-1] if steps else None
    kind = "compiling" if is_compiling else "search" if len(last or ()) == 4 else ""
    if isinstance(last, Stop):
        kind = "trade"
    every = STAGES if STAGES[0] in stages else tuple(stages)
    first = first_answer(job)
    return show(
        "progress.html",
        job=job,
        steps=steps,
        last=last,
        kind=kind,
        stages=every if last is None and first is None else (),
        n_done=len(stages) - 1,
        # A search begins below the answer that stands beside it.
        least=-1.0 if first is None or first.said is None else first.said.share,
    )


async def finished(session: Session, setting: Setting) -> work.Answer:
    """Return the answer to a setting, which must be there."""
    job = await answered(session, setting)
    if not isinstance(job.result, work.Answer):
        raise InvalidInput("there is no answer yet. Wait for it, or stop the search that goes on.")
    if job.result.design is None:
        raise InvalidInput(job.result.refusal)
    return job.result
