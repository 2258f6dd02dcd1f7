"""What a setting gives: its answer, or the work that leads to it, as parts of pages."""

from lowlift.errors import InvalidInput, LowliftError
from lowlift.web import work
from lowlift.web.frame import Place
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import Setting
from lowlift.web.words import message_of
from lowlift.workflow.overview import Overview

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
    setting = setting.with_released(looked.result.publishable)
    asked, bound = setting.asked(), setting.bound()
    compiling = session.compiling
    if compiling is not None and not await compiling.wait(patience):
        return compiling
    counts = session.joints.get((setting.counted, table.version))
    given = table.source, table.engine, counts, asked, setting, bound
    found = session.job(("answer", setting, table.version), work.answer, *given)
    if await found.wait(patience) and isinstance(found.result, work.Answer):
        joint = found.result.joint
        if joint is not None:
            session.joints[setting.counted, table.version] = joint
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


async def panel(session: Session, place: Place, patience: float = PATIENCE) -> str:
    """Return the answer to the setting of a place: one part, whatever its state."""
    if place.faults:
        return show("answer/waiting.html", place=place)
    if not place.setting.is_chosen:
        return show("answer/choose.html", place=place)
    found = await outcome(session, place.setting, patience)
    if isinstance(found, work.Answer):
        return show("answer/ready.html", place=place, panel=found)
    if isinstance(found, Job):
        title = "Searching" if found.steps else "Working"
        again = f"/answer?{place.query}&step={place.step}"
        part = working(session, found, title, again, "#answer")
        return show("answer/working.html", place=place, working=part)
    return show("answer/problem.html", place=place, message=found)


def working(
    session: Session,
    job: Job,
    title: str,
    again: str,
    target: str = "this",
    *,
    has_buttons: bool = True,
) -> str:
    """Return a part that follows a job, and when it is done puts what `again` gives at `target`.

    The job that compiles is everyone's: it has no buttons.
    """
    is_compiling = job is session.compiling
    return show(
        "working.html",
        job=job,
        events="/compiling" if is_compiling else f"/jobs/{job.id}/events",
        title="Compiling" if is_compiling else title,
        again=again,
        target=target,
        progress=progress_of(job),
        token="" if is_compiling or not has_buttons else session.token,
    )


def progress_of(job: Job) -> str:
    """Return how far a job is."""
    last = job.steps[-1] if job.steps else None
    kind = {4: "search", 3: "compiling"}.get(len(last or ()), "")
    return show("progress.html", job=job, last=last, kind=kind)


async def finished(session: Session, setting: Setting) -> work.Answer:
    """Return the answer to a setting, which must be there."""
    job = await answered(session, setting)
    if not isinstance(job.result, work.Answer):
        raise InvalidInput("look at the answer first; then it can be drawn.")
    return job.result


async def drawn(session: Session, job: Job, again: str) -> str:
    """Return what a job has drawn, or what the page says instead."""
    if not await job.wait(PATIENCE):
        return working(session, job, "Drawing", again)
    if job.state != "done":
        return show("problem.html", message=job.error)
    html: str = job.result.html
    return html
