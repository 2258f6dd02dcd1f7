"""The step Publish: settle what is to be settled, write the safe table, and hand out the files."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.datastructures import FormData, QueryParams

from lowlift._ledger import EVERYBODY, recipient_of
from lowlift._release import Release
from lowlift._wording import joined
from lowlift.errors import InvalidInput
from lowlift.report.headings import claim_of
from lowlift.tables.schema import OF_CELLS
from lowlift.web import asking, uploads, work
from lowlift.web.answers import PAGE_PATIENCE, PATIENCE, finished, outcome, overview_of, panel
from lowlift.web.answers import working as following
from lowlift.web.archives import HANDED_OUT, KEPT, about_files, zipped
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.sessions import Session, SessionTable
from lowlift.web.settings import Setting
from lowlift.web.steps.columns import reading
from lowlift.web.visitors import InSession, InState, Token, check_token
from lowlift.workflow import Design
from lowlift.workflow.repeating import sanitize_command

router = APIRouter()

_FORMS = ("csv", "parquet")
#: The largest release that is taken back, in bytes.
_LARGEST_RELEASE = 64 << 20


@router.get("/publish")
async def before(request: Request, place: InPlace, session: InSession) -> Response:
    """Show what is to be settled, and what will be written."""
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        return HTMLResponse(reading(session, place, overview))
    place = place.known(overview)
    wishes = _wishes(session, request.query_params)
    used = place.setting.sensitive + place.setting.released
    return HTMLResponse(
        page(
            "publish/page.html",
            session,
            place,
            asks=(part := await _asks(session, place, wishes, PAGE_PATIENCE)).html,
            answer=part.beyond or await panel(session, place, PAGE_PATIENCE),
            others=[name for name in overview.kinds if name not in used],
            wishes=wishes,
        )
    )


@router.get("/publish/asks")
async def asks(request: Request, place: InPlace, session: InSession) -> Response:
    """Return what is to be settled for a recipient and a form, as a part."""
    overview = await overview_of(session, place.setting.table)
    if not isinstance(overview, Job):
        place = place.known(overview)
    place = replace(place, step="publish")
    wishes = _wishes(session, request.query_params)
    address = {"HX-Replace-Url": _address(place, wishes)}
    part = await _asks(session, place, wishes, PATIENCE)
    beside = part.beyond or await panel(session, place, PAGE_PATIENCE)
    beside = beside.replace('id="answer"', 'id="answer" hx-swap-oob="outerHTML"', 1)
    return HTMLResponse(part.html + beside, headers=address)


def _address(place: Place, wishes: work.Wishes) -> str:
    """Return the address that shows the same again."""
    pairs = [("to", wishes.to)] if wishes.to != EVERYBODY else []
    pairs += [("form", wishes.form)] if wishes.form != "csv" else []
    pairs += [("keep", name) for name in wishes.keep]
    return "&".join(filter(None, (place.address("publish"), urlencode(pairs))))


def _wishes(session: Session, given: QueryParams | FormData) -> work.Wishes:
    """Return who gets it and how it is written, from a query or a form."""
    form = given.get("form") or "csv"
    if form not in _FORMS:
        raise InvalidInput("the safe table is written as csv or parquet.")
    to = recipient_of(" ".join(str(given.get("to") or "").split()) or EVERYBODY)
    keep = tuple(map(str, given.getlist("keep")))
    return work.Wishes(to, str(form), keep, earlier=tuple(session.earlier))


class _Part(NamedTuple):
    """The part below the recipient, and what the panel says if the ledger refuses; else empty."""

    html: str
    beyond: str = ""


async def _asks(session: Session, place: Place, wishes: work.Wishes, patience: float) -> _Part:
    """Return the part below the recipient: warnings, files and the button."""
    again = f"/publish/asks?{_address(place, wishes).partition('?')[2]}"
    if place.faults or not place.setting.is_chosen:
        return _Part(show("publish/waiting.html", message=""))
    found = await outcome(session, place.setting, patience)
    if isinstance(found, work.Answer):
        if found.design is None:
            return _Part(show("publish/waiting.html", message=found.refusal))
        job = _preparing(session, place.setting, found.design, wishes)
        await job.wait(patience)
        if isinstance(job.result, work.Prepared):
            return _ready(session, place, wishes, found.design, job.result)
        found = job
    if isinstance(found, str):
        return _Part(show("publish/waiting.html", message=found))
    if not found.is_running and found.error:
        return _Part(show("publish/waiting.html", message=found.error))
    # Inside a form: it has no buttons, which would be forms in a form.
    title = "Looking at what was published before"
    part = following(session, found, title, again, "#asks", can_end=False)
    return _Part(show("publish/working.html", part=part))


def _preparing(session: Session, setting: Setting, made: Design, wishes: work.Wishes) -> Job:
    table = session.table(setting.table)
    # What was published meanwhile, here or elsewhere, is asked for anew.
    key = "prepare", setting, table.version, wishes, session.n_published(setting.table)
    target = _name(table, wishes)
    given = table.source, table.engine, made, target, wishes
    return session.job(key, work.prepare_publication, *given)


def _ready(
    session: Session,
    place: Place,
    wishes: work.Wishes,
    made: Design,
    found: work.Prepared,
) -> _Part:
    setting = place.setting
    stem = _name(session.table(setting.table), wishes).rsplit(".", maxsplit=1)[0]
    every = asking.asks_of(made, found, wishes, place, session.drawn(setting.table))
    limit = _limit(setting)
    html = show(
        "publish/asks.html",
        session=session,
        place=place,
        asks=every,
        day=asking.day,
        is_final=any(ask.is_final for ask in every) or not made.is_satisfied,
        wishes=wishes,
        found=found.consulted,
        stem=stem,
        limit=limit,
        is_rows=made.spec.cells is not None,
        columns=len(made.spec.schema.released) + len(wishes.keep),
        rows=made.spec.rows,
        back=_address(place, wishes).partition("?")[2],
        about=about_files(made),
    )
    if found.consulted.holds:
        return _Part(html)
    facts: Any = {"to": wishes.to, "limit": limit}
    facts |= {"together": found.consulted.most, "least": found.consulted.least}
    names = joined(setting.sensitive)
    return _Part(html, show("publish/beyond.html", place=place, sensitive=names, **facts))


def _limit(setting: Setting) -> str:
    """Return how many times as likely a value may become; by its criterion if that is not said."""
    return f"{setting.factor} times" if setting.factor else setting.promise


def _name(table: SessionTable, wishes: work.Wishes) -> str:
    stem = uploads.safe_name(table.name).rsplit(".", maxsplit=1)[0]
    return f"{stem}-safe.{wishes.form}"


@router.post("/publish")
async def publish(
    request: Request, session: InSession, token: Token, setting: Annotated[str, Form()]
) -> Response:
    """Write the safe table and what belongs to it; the same form writes once."""
    check_token(session, token)
    place = Place("publish", Setting.of(parse_qsl(setting, keep_blank_values=True)))
    form = await request.form()
    table = session.table(place.setting.table)
    overview = await overview_of(session, place.setting.table)
    if isinstance(overview, Job):
        raise InvalidInput("the table is still being read. Try again.")
    place = place.known(overview)
    chosen = place.setting
    made = (await finished(session, chosen)).design
    if made is None:
        raise InvalidInput("look at the answer first; then it can be drawn.")
    wishes = _wishes(session, form)
    given = {name: str(value) for name, value in form.items()}
    choice = given.get("codebook", "") or "rounded"
    if choice not in asking.CODEBOOKS:
        raise InvalidInput("the codebook is rounded, withheld or exact.")
    step = _step(given.get("round_to", ""))
    key = chosen, table.version, wishes, step, choice, given.get("formulas", "")
    if (job := session.publication(chosen.table, key)) is not None:
        return RedirectResponse(f"/published/{job.id}", 303)
    prepared = await _prepared(session, chosen, made, wishes)
    asked = asking.asks_of(made, prepared, wishes, place, session.drawn(chosen.table))
    if session.publication(chosen.table, key) is None:  # a second click finds the first
        asking.check(asked, given)
    is_again = "again" not in {ask.name for ask in asked} or bool(given.get("again"))
    wishes = _decided(wishes, prepared, given, step, choice)

    def begin() -> tuple[Any, ...]:
        target = session.new_folder_of(chosen.table) / _name(table, wishes)
        more = target, wishes, _command(table, chosen, made, wishes)
        return work.publish, table.source, table.engine, made, *more

    job = session.publish(chosen.table, key, is_again, begin)
    return RedirectResponse(f"/published/{job.id}", 303)


def _decided(
    wishes: work.Wishes,
    prepared: work.Prepared,
    given: Mapping[str, str],
    step: float | None,
    codebook: str,
) -> work.Wishes:
    """Return the wishes with what was decided: safe where nothing else was."""
    if given.get("ledger") == "wait":
        raise InvalidInput("the earlier tables cannot be audited; nothing was written.")
    if prepared.rare and step is None and codebook == "rounded":
        step = prepared.step
        if step is None:
            raise InvalidInput(
                "no rounding of the codebook hides small counts; nothing was written. Keep it back."
            )
    is_parquet = bool(prepared.formulas) and given.get("formulas", "parquet") == "parquet"
    return replace(
        wishes,
        form="parquet" if is_parquet else wishes.form,
        round_to=step,
        accept_unaudited=given.get("ledger") == "accept",
    )


def _step(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise InvalidInput("rounding must be a number between 0.000001 and 0.5.") from error


async def _prepared(
    session: Session, setting: Setting, made: Design, wishes: work.Wishes
) -> work.Prepared:
    """Return what was looked at before; a form that comes early waits for it."""
    job = _preparing(session, setting, made, wishes)
    while not await job.wait(PATIENCE):
        job.last_seen = time.monotonic()
    if not isinstance(job.result, work.Prepared):
        raise InvalidInput(job.error)
    return job.result


def _command(table: SessionTable, setting: Setting, made: Design, wishes: work.Wishes) -> str:
    """Return the command that repeats the publication."""
    encoding = made.encoded.name
    return sanitize_command(
        setting.asked(),
        setting.bound(),
        table.name,
        _name(table, wishes),
        mechanism=setting.mechanism,
        encoding=None if encoding in OF_CELLS else encoding,
        to=wishes.to,
        keep=wishes.keep,
        round_to=wishes.round_to,
        time_limit=setting.seconds,
    )


@router.get("/published/{identity}")
async def published(request: Request, identity: str, session: InSession) -> Response:
    """Show what was written, once it is."""
    job = session.by_id(identity)
    job.last_seen = time.monotonic()
    is_part = request.headers.get("hx-request") == "true"
    place = Place("publish", session.setting_of(job))
    if not await job.wait(PATIENCE):
        part = following(session, job, "Writing the safe table", f"/published/{identity}")
    elif job.state != "done" or not isinstance(job.result, work.Published):
        part = show("publish/nothing.html", message=job.error, place=place)
    else:
        part = _written(request, session, job, place)
    if is_part:
        return HTMLResponse(part)
    return HTMLResponse(page("publish/written.html", session, place, part=part))


def _written(request: Request, session: Session, job: Job, place: Place) -> str:
    found: work.Published = job.result
    handed, kept = _groups(found, session.choice_of(job))
    made = found.made
    return show(
        "publish/files.html",
        job=job,
        found=found,
        made=made,
        place=place,
        groups=((handed, "out"), (kept, "keep")),
        size=_size,
        about=about_files(made.design),
        sensitive=joined(made.design.spec.schema.sensitive),
        claim=claim_of(made.release.criterion),
        columns=len(found.rows[0]),
        address=f"{str(request.base_url).rstrip('/')}/published/{job.id}",
    )


def _groups(found: work.Published, codebook: str) -> tuple[list[str], list[str]]:
    """Return the keys of the files to hand out and of those to keep."""
    handed = [name for name in HANDED_OUT if name in found.files]
    kept = [name for name in KEPT if name in found.files]
    if codebook == "withheld":
        handed.remove("codebook")
        kept.append("codebook")
    return handed, kept


def _size(path: Path) -> str:
    """Return the size of a file in words."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3)):,} KB"


@router.get("/download/{identity}/{name}")
async def download(identity: str, name: str, session: InSession) -> Response:
    """Send one of the files that were written, or all to hand out or to keep as a zip."""
    job = session.by_id(identity)
    found = job.result
    if not isinstance(found, work.Published):
        raise HTTPException(404)
    if name in {"out", "keep"}:
        handed, kept = _groups(found, session.choice_of(job))
        paths = [found.files[key] for key in (handed if name == "out" else kept)]
        word = "safe" if name == "out" else "confidential"
        stem = found.files["table"].stem.removesuffix("-safe")
        disposition = f"attachment; filename*=UTF-8''{quote(f'{stem}-{word}.zip', safe='')}"
        headers = {"Content-Disposition": disposition}
        return StreamingResponse(zipped(paths), media_type="application/zip", headers=headers)
    if name not in found.files:
        raise HTTPException(404)
    path = found.files[name]
    return FileResponse(path, filename=path.name, content_disposition_type="attachment")


@router.post("/earlier")
async def earlier(request: Request, session: InSession, state: InState) -> Response:
    """Take back the release of an earlier publication, so that a new one is audited with it."""
    _, folder = session.new_folder()
    kind, limit = request.headers.get("content-type", ""), state.limits.upload_bytes
    limit = min(limit, _LARGEST_RELEASE)
    found = await uploads.receive(request.stream(), kind, folder, limit, (".json",))
    check_token(session, found.fields.get("token", ""))
    path = found.finish()
    Release.from_json(path)  # refuses what is none
    session.earlier.append(path)
    back = found.fields.get("back", "")
    place = Place("publish", Setting.of(parse_qsl(back, keep_blank_values=True)))
    return RedirectResponse(_address(place, _wishes(session, QueryParams(back))), 303)
