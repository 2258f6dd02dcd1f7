"""``lowlift gate`` and ``lowlift publish``: the tables of lowlift.toml, checked and published."""

import re
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lowlift._cli import output
from lowlift._cli.config import NAME, Job, read_config
from lowlift._cli.exits import failure_of
from lowlift._cli.gate_checks import Answer, gated
from lowlift.errors import InvalidInput, LowliftError

if TYPE_CHECKING:
    from lowlift.workflow import Recording

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The settings, e.g. lowlift.toml.")
]


def gate(
    only: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE|FILE...]",
            help="Only tables of these names, or that these files belong to, as pre-commit names "
            "them. Default: all.",
        ),
    ] = None,
    config: Config = Path(NAME),
) -> None:
    """Check that nothing leaves which breaks its bound: every table that lowlift.toml names.

    A table without out leaves as it is: its released columns are audited, by themselves, and other
    columns are refused unless the file says others_stay. One with out leaves as what was
    published there: release and table are verified, and must keep the bound of the file and be made
    of its table, columns and bins. Exit code 0: all bounds hold; 1: one does not; 2: a table, an
    argument or the file is bad input.
    """
    config = config.resolve()
    places = {text: Path(text).resolve() for text in only or ()}
    with _jobs(config) as jobs:
        names = {job.name for job in jobs}
        for text, place in places.items():
            if text not in names and not place.exists():
                raise InvalidInput(
                    f"gate takes tables of {config.name} and files; {text!r} is neither. The "
                    f"tables are: {', '.join(job.name for job in jobs)}."
                )
        changed = set(places.values())
        is_every = not places or config in changed
        chosen = [job for job in jobs if is_every or job.name in places or _belongs(job, changed)]
        answers = {job.name: _answered(job, gated) for job in chosen}
        for job in chosen:
            answers[job.name].warn(_alone(job, jobs))
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
    """Tell whether a file is the table or what was published of it, or in a folder that is one.

    A folder that was named stands for all that is in it.
    """
    from lowlift.tables.sources import DatabaseFile, Files, SparkTable, parse_source
    from lowlift.workflow.sanitizing import files_beside

    try:
        source = parse_source(job.source, job.engine)
    except LowliftError:
        return True  # the check says what is wrong with it
    own = list(source.paths) if isinstance(source, Files) else []
    own += [source.path] if isinstance(source, DatabaseFile) else []
    if isinstance(source, SparkTable) and source.format != "table":
        if any(sign in source.name for sign in "*?[{"):
            return True  # a pattern, which Spark reads in its own way
        own.append(Path(re.sub("^file:(//)?", "", source.name)))
    if job.out is not None:
        own += [Path(job.out.partition("?")[0]), *files_beside(job.out).values()]
    places = {path.resolve() for path in own}
    return any(not changed.isdisjoint((path, *path.parents)) for path in places) or any(
        not places.isdisjoint(path.parents) for path in changed
    )


def _alone(job: Job, jobs: list[Job]) -> list[str]:
    """Warn where a table leaves as it is and another is said to be of the same people."""
    if job.out is not None:
        return []
    people = job.given.get("people")
    others = [each.name for each in jobs if people and each.given.get("people") == people]
    if len(others) < 2:
        return []
    listed = ", ".join(repr(name) for name in others if name != job.name)
    line = (
        f"this table leaves as it is, so it is judged alone, not together with {listed} of the "
        "same people. The ledger judges tables together that have an out."
    )
    return [line]


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
    if standing.entry is None and not standing.is_unfinished:
        _refuse_unknown(out)
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


def _refuse_unknown(out: str) -> None:
    """Refuse files of a publication that the ledger does not have."""
    from lowlift.workflow.sanitizing import files_beside

    places = [Path(out.partition("?")[0]), *files_beside(out).values()]
    there = [path.name for path in places if path.exists()]
    is_database = "://" in out or "?table=" in out
    if not there or (is_database and len(there) == 1):
        return
    raise InvalidInput(
        f"the ledger does not know what lies at {out}: {', '.join(there)}. If it was handed out, "
        "put back the ledger that knows it, or name that with ledger; a second publication would "
        "not be judged together with it. If it never was, remove these files and publish again."
    )


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
