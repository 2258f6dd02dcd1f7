"""``lowlift gate`` and ``lowlift publish``: the tables of lowlift.toml, checked and published."""

from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lowlift._cli import output
from lowlift._cli.config import NAME, Job, read_config
from lowlift._cli.exits import failure_of
from lowlift.errors import InvalidInput, LowliftError

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift.workflow import Recording

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The settings, e.g. lowlift.toml.")
]


@dataclass(frozen=True)
class Answer:
    """What became of one table.

    Parameters
    ----------
    state
        A word for it: "holds", "breaks", "published", "already published", "not published",
        "refused" or "error".
    detail
        A sentence for people.
    exit_code
        What it makes of the command's.
    data
        What is printed with ``--json``.
    """

    state: str
    detail: str
    exit_code: int
    data: dict[str, Any]


def gate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Only tables that these files belong to, as pre-commit names them. Default: all.",
        ),
    ] = None,
    config: Config = Path(NAME),
) -> None:
    """Check that nothing leaves which breaks its bound: every table that lowlift.toml names.

    A table without out leaves as it is: it is audited. One with out leaves as what was published
    there: release and table are verified, and must keep the bound of the file. Exit code 0: all
    bounds hold; 1: one does not; 2: a table or the file is bad input.
    """
    changed = None if not files else {path.resolve() for path in files}
    config = config.resolve()
    with _jobs(config) as jobs:
        is_every = changed is None or config in changed
        answers = {
            job.name: _answered(job, _gated)
            for job in jobs
            if is_every or _belongs(job, changed or set())
        }
    _show(answers, "The bound of every table holds.", "No table of the file is concerned.")


def publish(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE...]", help="Names in the file. Default: all with out."),
    ] = None,
    config: Config = Path(NAME),
) -> None:
    """Publish each table of lowlift.toml that has an out, unless the ledger has it already.

    A second run publishes nothing, and says so. A changed table or setting is a new release: give
    it another out; the ledger judges it together with the earlier one. Exit code 0: all are
    published and verified; 1: one was refused; 2: bad input. Each is published whole, or not.
    """
    with _jobs(config) as jobs:
        known = {job.name: job for job in jobs if job.out is not None}
        missing = [name for name in names or () if name not in known]
        if missing:
            raise InvalidInput(
                f"{config.name} must name the tables to publish, each with an out; "
                f"{missing[0]!r} is none of them. They are: {', '.join(known) or 'none'}."
            )
        answers = {name: _answered(known[name], _published) for name in names or known}
    is_new = any(answer.state == "published" for answer in answers.values())
    fine = "All tables are published." if is_new else "Nothing new: all were published before."
    _show(answers, fine, "No table of the file has an out.")


@contextmanager
def _jobs(config: Path) -> Iterator[list[Job]]:
    """Lend the tables of a file; paths begin at its folder."""
    found = list(read_config(config))
    with chdir(config.resolve().parent):
        yield found


def _belongs(job: Job, changed: set[Path]) -> bool:
    """Tell whether a file is the table, or what was published of it."""
    from lowlift.tables.sources import DatabaseFile, Files, parse_source
    from lowlift.workflow.sanitizing import files_beside

    try:
        source = parse_source(job.source, job.engine)
    except LowliftError:
        return True  # the check says what is wrong with it
    own = list(source.paths) if isinstance(source, Files) else []
    own += [source.path] if isinstance(source, DatabaseFile) else []
    if job.out is not None:
        own += [Path(job.out.partition("?")[0]), *files_beside(job.out).values()]
    return not changed.isdisjoint(path.resolve() for path in own)


def _answered(job: Job, work: Callable[[Job], Answer]) -> Answer:
    """Do the work for a table; an error is an answer too, so that the others get theirs."""
    try:
        return work(job)
    except LowliftError as error:
        failure = failure_of(error)
        refused = "refused" if work is _published else "breaks"
        state = refused if failure.exit_code == 1 else "error"
        line = " ".join(filter(None, (failure.message, failure.advice)))
        return Answer(state, line, failure.exit_code, {"error": vars(failure)})


def _gated(job: Job) -> Answer:
    """Audit a table as it is, or verify what was published of it."""
    from lowlift._cli import json_data
    from lowlift.workflow import audit_table

    if job.out is not None:
        return _verified(job, job.out)
    found = audit_table(job.source, job.as_it_is, job.criterion, engine=job.engine)
    data = json_data.table_audit_data(found)
    detail = data["verdict"]
    alone = [name for name, part in found.columns if not part.is_satisfied]
    if found.audit.is_satisfied and alone:
        detail = f"{found.audit.criterion} DOES NOT HOLD for {', '.join(alone)} alone."
    code = 0 if found.is_satisfied else 1
    return Answer("holds" if found.is_satisfied else "breaks", detail, code, data)


def _verified(job: Job, out: str) -> Answer:
    """Verify what was published, and audit it by the bound of the file."""
    from lowlift._cli import json_data
    from lowlift.workflow import verify
    from lowlift.workflow.sanitizing import files_beside

    files = files_beside(out)
    engine = job.engine if job.engine == "spark" else None
    if not files["receipt"].exists():
        if _is_there(out, engine):
            raise InvalidInput(
                f"what lies at {out} must have its receipt beside it; it has none, so it was not "
                "published by lowlift, or not in full. Remove it, or publish it (lowlift publish)."
            )
        detail = f"{out} is not published yet: lowlift publish."
        return Answer("not published", detail, 0, {"is_satisfied": None})
    found = verify(str(files["release"]), published=out, engine=engine)
    judged = _judged(job, files)
    failed = [f"{check.name} ({check.detail})" for check in found.checks if not check.is_ok]
    failed += _uncovered(job, files)
    is_kept = not failed and all(part.is_satisfied for part in judged)
    worst = next((part for part in judged if not part.is_satisfied), judged[0])
    detail = f"NOT verified: {'; '.join(failed)}." if failed else json_data.verdict(worst)
    data = json_data.audit_data(worst) | json_data.verification_data(found)
    data |= {"is_satisfied": is_kept, "files": {name: str(path) for name, path in files.items()}}
    return Answer("holds" if is_kept else "breaks", detail, 0 if is_kept else 1, data)


def _is_there(out: str, engine: str | None) -> bool:
    """Tell whether there is a table at a target, by whomever it was written."""
    from lowlift.workflow.checking import open_published

    if "://" not in out and "?table=" not in out and engine is None:
        return Path(out).exists()
    try:
        with open_published(out, engine):
            return True
    except InvalidInput:
        return False


def _uncovered(job: Job, files: dict[str, Path]) -> list[str]:
    """Return why the bound does not cover all that was published, unless the file accepts it."""
    from lowlift.workflow import read_receipt

    said = read_receipt(files["receipt"])
    is_accepted = job.draws.accept_uncovered and not said.draws.startswith("seeded")
    return [said.uncovered] if said.uncovered and not is_accepted else []


def _judged(job: Job, files: dict[str, Path]) -> "list[Audit]":
    """Return the audits of what was published by the bound of the file: of S, and of each column.

    Raises
    ------
    InvalidInput
        When other columns were protected, or when columns were kept beside Y, whose audit was for
        another bound.
    """
    from lowlift._audit import audit
    from lowlift._release import Release
    from lowlift.criteria import criterion_on
    from lowlift.encodings import published
    from lowlift.workflow import read_receipt
    from lowlift.workflow.columns import per_column

    encoded = published(Release.from_json(files["release"]))
    release, sensitive = encoded.release, encoded.origin.sensitive
    if {column.name for column in sensitive} != set(job.sensitive):
        raise InvalidInput(
            f"{job.out} must protect the sensitive columns of the file; it protects others. "
            "Publish it again, under another out."
        )
    criterion = criterion_on(job.criterion, release.joint)
    if read_receipt(files["receipt"]).kept and repr(criterion) != repr(release.criterion):
        raise InvalidInput(
            f"{job.out} was published with kept columns by {release.criterion}; whether it keeps "
            "another bound cannot be told. Publish it again, under another out."
        )
    parts = per_column(release.joint, release.channel, criterion, sensitive)
    return [audit(release.joint, release.channel, criterion), *dict(parts).values()]


def _published(job: Job) -> Answer:
    """Publish a table, unless the ledger has it."""
    from lowlift._cli import json_data
    from lowlift._cli.progress import drawing, searching
    from lowlift._release import Release
    from lowlift.workflow import sanitize
    from lowlift.workflow.standing import standing_of

    recording, out = _recording(job), str(job.out)
    standing = standing_of(
        job.source, out, Path(recording.ledger), str(recording.settings), engine=job.engine
    )
    if standing.entry is not None and standing.verification is not None:
        detail = f"already published: {out} is there, verified ({standing.entry.at[:10]})."
        data = json_data.verification_data(standing.verification)
        return Answer("already published", detail, 0, data | {"publication": standing.entry.id})
    before = job.given.get("continue")
    options = job.draws.options(standing.is_unfinished, recording=recording)
    with searching() as design_progress, drawing() as apply_progress:
        made = sanitize(
            job.source,
            job.as_designed,
            job.criterion,
            out,
            options,
            mechanism=job.method.mechanism,
            encoding=job.method.encoding,
            round_to=job.given.get("round_to"),
            time_limit=job.given.get("time_limit", 60.0),
            engine=job.engine,
            continues=None if before is None else Release.from_json(before),
            design_progress=design_progress,
            apply_progress=apply_progress,
        )
    data = json_data.published_data(made, {name: str(path) for name, path in made.files.items()})
    verdict = data["design"]["published"]["verdict"]
    detail = f"published {made.receipt.rows_out:,} rows to {out}. {verdict}"
    return Answer("published", detail, 0, data)


def _recording(job: Job) -> "Recording":
    recording = job.ledgered.recording(job.criterion)
    if recording is None:
        raise InvalidInput(
            "publishing from a file needs a ledger, which knows what was published; it is off. "
            'Name one: ledger = "ledger.sqlite", or use lowlift sanitize.'
        )
    return replace(recording, settings=job.settings)


def _show(answers: dict[str, Answer], fine: str, none: str) -> None:
    """Show all answers; the exit code is that of the worst."""
    code = max((answer.exit_code for answer in answers.values()), default=0)
    warnings = {name: list(answer.data.get("warnings", ())) for name, answer in answers.items()}
    end = none if not answers else fine if code == 0 else ""

    def data() -> dict[str, Any]:
        tables = {
            name: {"state": answer.state, "detail": answer.detail, **answer.data}
            for name, answer in answers.items()
        }
        notes = [end] if end else []
        return {"is_ok": code == 0, "exit_code": code, "tables": tables, "notes": notes}

    def screen() -> None:
        for name, answer in answers.items():
            typer.echo(f"{name}: {answer.detail}")
            for line in warnings[name]:
                typer.echo(f"  Warning: {line}")
        if end:
            typer.echo(end)

    output.show(data, screen)
    if output.MODE.quiet and not output.MODE.json:
        for name, answer in answers.items():
            if answer.exit_code == 2:
                typer.echo(f"lowlift: {name}: {answer.detail}", err=True)
    raise typer.Exit(code)
