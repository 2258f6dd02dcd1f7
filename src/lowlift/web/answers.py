"""What a setting gives: its answer, or the work that leads to it, as parts of pages."""

from lowlift.errors import InvalidInput, LowliftError
from lowlift.web import work
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import Setting
from lowlift.web.words import message_of

#: Seconds that a page waits for an answer before it shows the work instead.
PATIENCE = 1.0


def inspect(session: Session, key: str) -> Job:
    """Return the job that looks at a table's columns."""
    table = session.table(key)
    return session.job(("inspect", key, table.version), work.inspect, table.source, table.engine)


async def answered(session: Session, setting: Setting) -> Job:
    """Return the job that answers a setting, or the one that it waits for."""
    table = session.table(setting.table)
    asked, bound = setting.asked(), setting.bound()
    counted = session.job(
        ("count", setting.columns, table.version), work.count, table.source, table.engine, asked
    )
    if not await counted.wait(PATIENCE) or counted.state != "done":
        return counted
    compiling = session.compiling
    if compiling is not None and not await compiling.wait(PATIENCE):
        return compiling
    found = session.job(
        ("answer", setting, table.version), work.answer, counted.result, setting, bound
    )
    await found.wait(PATIENCE)
    return found


async def part_of(session: Session, setting: Setting, again: str) -> str | work.Answer:
    """Return the answer to a setting, or what the page says instead."""
    try:
        job = await answered(session, setting)
    except LowliftError as error:
        return show("problem.html", message=message_of(error))
    if job.is_running:
        title = "Searching" if job.steps else "Working"
        found = await _raw(session, setting) if job is session.compiling else ""
        return working(session, job, title, again, found)
    if isinstance(job.result, work.Answer):
        return job.result
    if job.state == "done" or job is session.compiling:  # just now: the answer is next
        return await part_of(session, setting, again)
    return show("problem.html", message=job.error)


async def _raw(session: Session, setting: Setting) -> str:
    """Return the verdict on the columns as they are, if it is known soon."""
    version = session.table(setting.table).version
    counted = session.found(("count", setting.columns, version))
    if not isinstance(counted, work.Counted):
        return ""
    try:
        job = session.job(("raw", setting, version), work.raw, counted, setting.bound())
    except InvalidInput:  # too many run
        return ""
    if not await job.wait(PATIENCE) or job.state != "done":
        return ""
    html: str = job.result.html
    return html


def working(session: Session, job: Job, title: str, again: str, found: str = "") -> str:
    """Return a part that follows a job, and asks for `again` when it is done.

    `found` is shown above: what is known already. The job that compiles is everyone's: it has no
    buttons.
    """
    is_compiling = job is session.compiling
    return show(
        "working.html",
        job=job,
        events="/compiling" if is_compiling else f"/jobs/{job.id}/events",
        title="Compiling" if is_compiling else title,
        found=found,
        again=again,
        progress=progress_of(job),
        token="" if is_compiling else session.token,
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
        raise InvalidInput("look at the result first; then it can be drawn.")
    return job.result


async def drawn(session: Session, job: Job, again: str) -> str:
    """Return what a job has drawn, or what the page says instead."""
    if not await job.wait(PATIENCE):
        return working(session, job, "Drawing", again)
    if job.state != "done":
        return show("problem.html", message=job.error)
    html: str = job.result.html
    return html
