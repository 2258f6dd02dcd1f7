"""The step Table: upload one, choose one that is here, or take the demonstration."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lowlift._wording import counted, joined
from lowlift.datasets import write_titanic
from lowlift.errors import InvalidInput, LowliftError
from lowlift.web import uploads, work
from lowlift.web.answers import PATIENCE, inspect
from lowlift.web.cards import day
from lowlift.web.frame import Place, page
from lowlift.web.sessions import Session, SessionTable
from lowlift.web.settings import Setting
from lowlift.web.visitors import InSession, InState, Token, check_token
from lowlift.web.words import message_of
from lowlift.workflow.overview import Overview

router = APIRouter()
#: Columns that a line names.
_MOST_NAMED = 4


@router.get("/")
async def start(session: InSession, state: InState, remove: str = "") -> Response:
    """Choose or upload a table; ask whether one shall be removed."""
    return HTMLResponse(_start(session, state.limits.upload_bytes, removing=remove))


def _start(session: Session, limit: int, message: str = "", removing: str = "") -> str:
    place = Place("table", Setting())
    about = {key: _about(session, key) for key in session.tables}
    written = list(_written(session))
    has_demo = any(table.is_demo for table in session.tables.values())
    more: dict[str, Any] = {"about": about, "written": written, "removing": removing}
    more["has_demo"] = has_demo
    return page("table/page.html", session, place, limit=limit, message=message, **more)


def _written(session: Session) -> Iterator[dict[str, Any]]:
    """Return what was published here, or is about to be, the newest first."""
    for setting, job in reversed(session.written):
        names = setting.released
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        made = job.result if isinstance(job.result, work.Published) else None
        promise = _promise(setting)
        yield {
            "job": job,
            "key": setting.table,
            "table": session.table(setting.table).name,
            "columns": ", ".join(names[:_MOST_NAMED]) + more,
            "promise": promise if made is None else f"for {made.to}, {day(made)}; {promise}",
            "is_verified": made is not None,
            # What the ledger asks for when these people are published again.
            "release": made.files["release"].name if made and made.is_in_ledger else "",
        }


def _promise(setting: Setting) -> str:
    names = joined(setting.sensitive)
    if setting.factor:
        return f"no value of {names} more than {setting.factor} times as likely"
    return f"{names}: {setting.promise}"


def _about(session: Session, key: str) -> str:
    """Return a table's size once it was read; nothing while it is read."""
    table, job = session.table(key), None
    with contextlib.suppress(InvalidInput):  # too much runs: it is read later
        job = inspect(session, key)
    if job is None or job.is_running:
        return ""
    found = job.result
    if not isinstance(found, Overview):
        return "could not be read: open it to see why"
    size = f"{counted(found.rows, 'row')}, {counted(len(found.columns), 'column')}"
    return size if table.folder is not None else f"{size}, given at the start"


@router.post("/upload")
async def upload(request: Request, session: InSession, state: InState) -> Response:
    """Store an uploaded table."""
    key, folder = session.new_folder()
    limit = state.limits.upload_bytes
    try:
        kind = request.headers.get("content-type", "")
        found = await uploads.receive(request.stream(), kind, folder, limit)
        check_token(session, found.fields.get("token", ""))
        path = found.finish()
        session.tables[key] = SessionTable(path.name, str(path), None, folder)
        job = inspect(session, key)
        if await job.wait(PATIENCE) and job.state != "done":
            words = job.error if path.name in job.error else f"{path.name}: {job.error}"
            raise InvalidInput(words)  # noqa: TRY301 (one page for all that is wrong)
    except BaseException as error:
        session.remove(key)
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, LowliftError | OSError):
            raise
        fault = message_of(error)
        if isinstance(error, OSError):
            fault = f"the file could not be kept: {error.strerror}."
        return HTMLResponse(_start(session, limit, fault), 422)
    return RedirectResponse(f"/columns?{urlencode({'table': key})}", 303)


@router.post("/demo")
async def demo(session: InSession, token: Token) -> Response:
    """Open the table of the Titanic; add it to the session unless it is there."""
    check_token(session, token)
    key = next((key for key, table in session.tables.items() if table.is_demo), "")
    if not key:
        key, folder = session.new_folder()
        path = folder / "titanic.csv"
        write_titanic(path)
        session.tables[key] = SessionTable(path.name, str(path), None, folder, is_demo=True)
    chosen = Setting(key, ("survived",), ("class", "sex", "age"))
    return RedirectResponse(Place("columns", chosen).address(), 303)


@router.post("/remove")
async def remove(
    session: InSession,
    token: Token,
    table: Annotated[str, Form()],
    publications: Annotated[int | None, Form()] = None,
) -> Response:
    """Forget an uploaded table and all that was made of it.

    `publications` is how many of them the page named: a page may be older than the last one.
    """
    check_token(session, token)
    if publications is not None and publications < session.n_published(table):
        raise InvalidInput(
            "this table was published meanwhile; nothing was removed. Look at the tables again."
        )
    if table != "given":
        session.remove(table)
    return RedirectResponse("/", 303)
