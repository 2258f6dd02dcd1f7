"""The step Publish: settle what is to be settled, and write the safe table."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData, QueryParams

from lowlift._ledger import EVERYBODY, folded, recipient_of
from lowlift._release import Release
from lowlift._wording import joined
from lowlift.errors import InvalidInput
from lowlift.report.outcome import USEFUL
from lowlift.tables.schema import OF_CELLS
from lowlift.web import asking, uploads, work
from lowlift.web.answers import (
    PAGE_PATIENCE,
    PATIENCE,
    finished,
    inspect,
    outcome,
    overview_of,
    panel,
)
from lowlift.web.answers import working as following
from lowlift.web.archives import about_files
from lowlift.web.cards import Ask, day
from lowlift.web.frame import InPlace, Place, page
from lowlift.web.jobs import Job
from lowlift.web.pages import show
from lowlift.web.preparing import Prepared, prepare_publication
from lowlift.web.sessions import Session, SessionTable
from lowlift.web.settings import Setting
from lowlift.web.steps.columns import reading
from lowlift.web.visitors import InSession, InState, Token, check_token
from lowlift.web.words import NAMES, TELLS, on_page
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
    return HTMLResponse(
        page(
            "publish/page.html",
            session,
            place,
            asks=(part := await _asks(session, place, wishes, PAGE_PATIENCE)).html,
            answer=part.beside
            or await panel(session, place, PAGE_PATIENCE, is_adding=bool(wishes.keep)),
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
    address = {"HX-Replace-Url": asking.wished(place, wishes)}
    part = await _asks(session, place, wishes, PATIENCE)
    beside = part.beside or await panel(session, place, PAGE_PATIENCE, is_adding=bool(wishes.keep))
    beside = beside.replace('id="answer"', 'id="answer" hx-swap-oob="outerHTML"', 1)
    return HTMLResponse(part.html + beside, headers=address)


def _wishes(session: Session, given: QueryParams | FormData) -> work.Wishes:
    """Return who gets it and how it is written, from a query or a form."""
    form = given.get("form") or "csv"
    if form not in _FORMS:
        raise InvalidInput("the safe table is written as csv or parquet.")
    to = recipient_of(" ".join(str(given.get("to") or "").split()) or EVERYBODY)
    keep = tuple(map(str, given.getlist("keep")))
    return work.Wishes(to, str(form), keep, earlier=tuple(session.earlier))


class _Part(NamedTuple):
    """The part below the recipient, and what the panel says while that is open; else empty."""

    html: str
    beside: str = ""


async def _asks(session: Session, place: Place, wishes: work.Wishes, patience: float) -> _Part:
    """Return the part below the recipient: warnings, files and the button."""
    again = f"/publish/asks?{asking.wished(place, wishes).partition('?')[2]}"
    if place.faults or not place.setting.is_chosen:
        return _waiting("", wishes)
    found = await outcome(session, place.setting, patience)
    if isinstance(found, work.Answer):
        if found.design is None:
            return _waiting(found.refusal, wishes)
        job = _preparing(session, place.setting, found.design, wishes)
        await job.wait(patience)
        if isinstance(job.result, Prepared):
            return _ready(session, place, wishes, found, job.result)
        found = job
    if isinstance(found, str):
        return _waiting(found, wishes)
    if not found.is_running and found.error:
        return _waiting(found.error, wishes)
    # Inside a form: it has no buttons, which would be forms in a form.
    title = "Looking at what was published before"
    part = following(session, found, title, again, "#asks", can_end=False)
    return _Part(show("publish/working.html", part=part, wishes=wishes))


def _waiting(message: str, wishes: work.Wishes) -> _Part:
    """Return why there is nothing to write, in the words of the page."""
    return _Part(show("publish/waiting.html", message=on_page(message)[0], wishes=wishes))


def _preparing(session: Session, setting: Setting, made: Design, wishes: work.Wishes) -> Job:
    table = session.table(setting.table)
    # What was published or withdrawn meanwhile, here or elsewhere, is asked for anew.
    since = session.n_published(setting.table), work.ledger_version()
    key = "prepare", setting, table.version, wishes, since
    target = _name(table, wishes)
    given = table.source, table.engine, made, target, wishes
    return session.job(key, prepare_publication, *given)


def _ready(
    session: Session,
    place: Place,
    wishes: work.Wishes,
    answer: work.Answer,
    found: Prepared,
) -> _Part:
    setting, made = place.setting, answer.design
    if made is None:
        return _waiting(answer.refusal, wishes)
    stem = _name(session.table(setting.table), wishes).rsplit(".", maxsplit=1)[0]
    here = session.drawn(setting.table), session.addresses
    every = asking.asks_of(made, found, wishes, place, *here)
    limit = _limit(setting)
    is_parquet = wishes.form == "parquet" or bool(found.formulas)
    used = {*setting.sensitive, *setting.released}
    overview = inspect(session, setting.table).result
    html = show(
        "publish/asks.html",
        session=session,
        place=place,
        asks=every,
        day=day,
        is_final=any(ask.is_final for ask in every) or not made.is_satisfied,
        wishes=wishes,
        found=found.consulted,
        stem=stem,
        shown=_shown(wishes),
        cards=_digest(session, setting, made, every),
        promise=asking.promise(made, found.consulted, wishes),
        others=[name for name in overview.kinds if name not in used] if overview else [],
        others_known=[name for name in found.consulted.recipients if name != EVERYBODY],
        # What is written where nothing else is chosen.
        ending="parquet" if is_parquet else "csv",
        is_withheld=bool(found.rare) and found.step is None,
        limit=limit,
        is_rows=made.spec.cells is not None,
        columns=len(made.spec.schema.released) + len(wishes.keep),
        rows=made.spec.rows,
        back=asking.wished(place, wishes).partition("?")[2],
        about=about_files(made),
    )
    open_ones = every if answer.shown in {USEFUL, NAMES, TELLS} else ()
    beside = _beside(place, wishes, found, open_ones)
    return _Part(html, beside)


def _beside(place: Place, wishes: work.Wishes, made: Prepared, every: Sequence[Ask]) -> str:
    """Return what the panel says in place of the answer while something speaks against it."""
    facts: Any = {"place": place, "to": wishes.to, "limit": _limit(place.setting)}
    found = made.consulted
    if made.uncovered or not found.holds:
        facts |= {"together": found.most, "least": found.least, "kept": made.uncovered}
        return show("publish/beyond.html", sensitive=joined(place.setting.sensitive), **facts)
    still = [ask for ask in every if not ask.is_done]
    return show("publish/undecided.html", still=still, **facts) if still else ""


def _shown(wishes: work.Wishes) -> str:
    """Return what tells for whom, and for which files, cards were shown."""
    pairs = asking.wish_pairs(wishes)
    return urlencode([("to", folded(wishes.to)), *sorted(p for p in pairs if p[0] != "to")])


def _digest(session: Session, setting: Setting, made: Design, asks: Sequence[Ask]) -> str:
    return asking.digest_of(made, session.table(setting.table).version, asks)


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
    for message in place.faults.values():
        raise InvalidInput(message)
    chosen = place.setting
    made = (await finished(session, chosen)).design
    if made is None:
        raise InvalidInput("look at the answer first; then it can be drawn.")
    wishes = _wishes(session, form)
    if form.get("shown") != _shown(wishes):
        raise InvalidInput(
            "what is to be known was not shown for this recipient and these columns; nothing was "
            "written. Go back and look at it."
        )
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
        if form.get("cards") != _digest(session, chosen, made, asked):
            raise InvalidInput(
                "the table, the ledger or the answer has changed since this page was shown; "
                "nothing was written. Go back and look at it again."
            )
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
    prepared: Prepared,
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
        is_codebook_withheld=codebook == "withheld",
        accept_unaudited=given.get("ledger") == "accept",
    )


def _step(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise InvalidInput("rounding must be a number between 0.000001 and 0.5.") from error


async def _prepared(
    session: Session, setting: Setting, made: Design, wishes: work.Wishes
) -> Prepared:
    """Return what was looked at before; a form that comes early waits for it."""
    job = _preparing(session, setting, made, wishes)
    while not await job.wait(PATIENCE):
        job.last_seen = time.monotonic()
    if not isinstance(job.result, Prepared):
        raise InvalidInput(job.error)
    return job.result


def _command(table: SessionTable, setting: Setting, made: Design, wishes: work.Wishes) -> str:
    """Return the command that repeats the publication."""
    encoding, target = made.encoded.name, Path(_name(table, wishes))
    return sanitize_command(
        setting.asked(),
        setting.bound(),
        table.name,
        target.name,
        mechanism=setting.mechanism,
        encoding=None if encoding in OF_CELLS else encoding,
        to=wishes.to,
        keep=wishes.keep,
        round_to=wishes.round_to,
        time_limit=setting.seconds,
        report=work.beside(target, work.REPORT).name,
        # The command's has the codebook's numbers in it.
        public_report=""
        if wishes.is_codebook_withheld
        else work.beside(target, work.PUBLIC_REPORT).name,
    )


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
    return RedirectResponse(asking.wished(place, _wishes(session, QueryParams(back))), 303)
