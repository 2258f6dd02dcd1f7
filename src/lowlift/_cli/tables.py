"""The commands from a table to a safe table: audit, design, apply, sanitize, refine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

import typer

from lowlift._cli import options as o
from lowlift._cli.bound_options import Bound
from lowlift._cli.ledger_options import Ledgered
from lowlift._cli.output import show
from lowlift._cli.progress import drawing, searching
from lowlift._cli.reports import Pages
from lowlift.errors import LowliftWarning

if TYPE_CHECKING:
    from lowlift.workflow import Sanitized, TableAudit


@o.grouped
def audit(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE | RELEASE...",
            help="A table, or two or more release files (.json) of the same table.",
        ),
    ],
    sensitive: Annotated[list[str] | None, o.SENSITIVE] = None,
    released: Annotated[list[str] | None, o.RELEASED] = None,
    reading: o.Reading,
    bound: Bound,
    engine: o.Engine = None,
    output: o.Output,
) -> None:
    """Tell how much publishing columns as they are would reveal of the sensitive ones.

    Exit code 0: the bound holds; 1: it does not; 2: bad input. With release files instead of a
    table: the verdict on all of them together, as budgets do not add up.
    """
    from lowlift.errors import InvalidInput
    from lowlift.workflow import audit_table, report_of

    pages = Pages(output, source=sources[0])
    if all(source.endswith(".json") for source in sources):
        if pages.is_wanted:
            raise InvalidInput("a report is on a table or on one release: use lowlift report.")
        _audit_releases(sources)
        return
    if len(sources) > 1:
        raise InvalidInput("name one table, or release files ending in .json.")
    criterion = bound.made(sensitive)
    asked = reading.asked(sensitive, released)
    found = audit_table(sources[0], asked, criterion, engine=engine)
    pages.write(lambda: report_of(found))
    show(lambda: _audited(found, pages), lambda: _audit_screen(found, pages))
    raise typer.Exit(0 if found.is_satisfied else 1)


def _audited(found: "TableAudit", pages: Pages) -> dict[str, Any]:
    from lowlift._cli import json_data

    data = json_data.table_audit_data(found)
    return data | {"warnings": pages.every(*data["warnings"])} | pages.data


def _audit_screen(found: "TableAudit", pages: Pages) -> None:
    from lowlift._cli import screens

    screens.audit_screen(found)
    pages.say(*found.warnings)


def _audit_releases(files: list[str]) -> None:
    from lowlift._cli import screens
    from lowlift._cli.json_data import word
    from lowlift.workflow import audit_releases

    releases, found = audit_releases(files)
    verdict = f"{releases[0].criterion} {word(found.is_satisfied)}"
    data = {
        "criterion": str(releases[0].criterion),
        "verdict": f"{len(releases)} releases together: {verdict}.",
        "is_satisfied": found.is_satisfied,
        "outputs": found.n_outputs,
        "violations": found.violations,
        "nmi": found.nmi,
        "min_lift_leakage": found.min_lift_leakage,
        "max_lift_leakage": found.max_lift_leakage,
    }
    numbers = (
        f"{found.violations:,} of {found.n_outputs:,} joint outputs break it; leakage "
        f"{found.min_lift_leakage:.4f} below, {found.max_lift_leakage:.4f} above."
    )
    lines = f"{data['verdict']}\n{numbers}\n{screens.THREATS}"
    show(lambda: data, lambda: typer.echo(lines))
    raise typer.Exit(0 if found.is_satisfied else 1)


@o.grouped
def design(
    *,
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.ReleasedOrAll = None,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="For example: -o release.json")
    ] = Path("release.json"),
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the codebook, e.g. --public codebook.json."),
    ] = None,
    round_to: o.RoundTo = None,
    reading: o.Reading,
    bound: Bound,
    method: o.Method,
    rows: o.Rows,
    time_limit: o.TimeLimit = 60.0,
    engine: o.Engine = None,
    output: o.Output,
) -> None:
    """Design a release: what to publish in place of the columns so that the bound holds.

    The release file holds the counts of S by X: confidential. The codebook may be published.
    """
    from lowlift._cli import json_data, screens
    from lowlift.errors import BoundViolated
    from lowlift.workflow import codebook_of, report_of
    from lowlift.workflow import design as run
    from lowlift.workflow.sanitizing import refuse_existing

    refuse_existing(out, public, force=output.force, source=source)
    pages = Pages(output, *filter(None, (out, public)), source=source)
    criterion = bound.made(sensitive)
    asked = rows.asked(sensitive, released, reading, method)
    with searching() as progress:
        made = run(
            source,
            asked,
            criterion,
            mechanism=method.mechanism,
            encoding=method.encoding,
            time_limit=time_limit,
            engine=engine,
            progress=progress,
        )
    if not made.is_satisfied:
        raise BoundViolated(f"{made.chosen.name} found no release that satisfies {criterion}.")
    warnings = list(made.warnings)
    book = codebook_of(made, round_to) if public is not None else None
    made.release.to_json(out)
    if book is not None and public is not None:
        book.to_json(public)
        warnings += book.warnings
    pages.write(lambda: report_of(made, round_to=round_to))

    def data() -> dict[str, Any]:
        files = {"release": str(out), "codebook": None if public is None else str(public)}
        found = json_data.design_data(made) | files | pages.data
        return found | {"warnings": pages.every(*found["warnings"], *warnings)}

    def screen() -> None:
        screens.design_screen(made)
        also = "" if public is None else f" and {public} (public)"
        typer.echo(f"Wrote {out} (confidential){also}.")
        pages.say(*warnings)

    show(data, screen)


@o.grouped
def apply(
    *,
    source: o.Source,
    release: o.ReleaseFile,
    out: o.Target,
    draws: o.Draws,
    accept_unchecked: Annotated[
        bool,
        typer.Option(
            "--accept-unchecked",
            help="Publish a table without the sensitive columns: the bound is not checked; "
            "recorded.",
        ),
    ] = False,
    ledgered: Ledgered,
    engine: o.Engine = None,
    force: o.Force = False,
) -> None:
    """Publish: draw a released value for each row of a table, and write nothing else.

    The bound is checked on this table first. If it does not hold, or the sensitive columns are not
    in the table, nothing is written and the exit code is 1.
    """
    from lowlift._cli import json_data, screens
    from lowlift._release import Release
    from lowlift.workflow import apply as run

    designed = Release.from_json(release)
    recording = ledgered.recording(designed.criterion, release)
    options = draws.options(force, accept_unchecked, recording)
    with drawing() as progress, catch_warnings(record=True) as found:
        simplefilter("always", LowliftWarning)
        receipt = run(source, designed, out, options, engine=engine, progress=progress)
    told = [str(each.message) for each in found if issubclass(each.category, LowliftWarning)]

    def screen() -> None:
        screens.receipt_screen(receipt)
        typer.echo(screens.THREATS)
        screens.warn(told)

    show(lambda: json_data.receipt_data(receipt) | {"warnings": told}, screen)


@o.grouped
def sanitize(
    *,
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.ReleasedOrAll = None,
    out: o.Target,
    reading: o.Reading,
    bound: Bound,
    method: o.Method,
    rows: o.Rows,
    round_to: o.RoundTo = None,
    time_limit: o.TimeLimit = 60.0,
    draws: o.Draws,
    continues: Annotated[
        Path | None,
        typer.Option(
            "--continue",
            metavar="RELEASE",
            help="Draw as this earlier release did where nothing changed, by the same --id and "
            "--key-file, e.g. last.release.json.",
        ),
    ] = None,
    ledgered: Ledgered,
    engine: o.Engine = None,
    output: o.Output,
) -> None:
    """Design, publish and verify in one; writes release, codebook and receipt beside the output.

    Exit code 0: all of them are there and verified. Any other: none is.
    """
    from lowlift._release import Release
    from lowlift.workflow import report_of
    from lowlift.workflow import sanitize as run

    pages = Pages(output, Path(out), *_files_beside(out), source=source)
    criterion = bound.made(sensitive)
    asked = rows.asked(sensitive, released, reading, method)
    options = draws.options(output.force, recording=ledgered.recording(criterion))
    before = None if continues is None else Release.from_json(continues)
    with searching() as design_progress, drawing() as apply_progress:
        made = run(
            source,
            asked,
            criterion,
            out,
            options,
            mechanism=method.mechanism,
            encoding=method.encoding,
            round_to=round_to,
            time_limit=time_limit,
            engine=engine,
            continues=before,
            design_progress=design_progress,
            apply_progress=apply_progress,
        )
    pages.write(lambda: report_of(made, round_to=round_to, beside=pages.beside))
    show_published(made, out, pages, is_seeded=draws.seed is not None)


@o.grouped
def refine(
    *,
    release: o.ReleaseFile,
    source: o.Source,
    out: o.Target,
    first: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The table that was published first: refused unless this key drew it, e.g. "
            "safe.csv.",
        ),
    ] = None,
    bound: Bound,
    round_to: o.RoundTo = None,
    time_limit: o.TimeLimit = 60.0,
    draws: o.Draws,
    ledgered: Ledgered,
    engine: o.Engine = None,
    output: o.Output,
) -> None:
    """Publish again, finer: draw given what was published, so that both keep a total bound.

    The bound is the total, against what was believed before the first release. Give the id column
    and the key by which the first table was drawn. Exit code 0: table, release, codebook and
    receipt are there and verified. Any other: none is.
    """
    from lowlift._release import Release
    from lowlift.workflow import refine_table, report_of

    pages = Pages(output, Path(out), *_files_beside(out), source=source)
    before = Release.from_json(release)
    names = [] if before.origin is None else [column.name for column in before.origin.sensitive]
    total = bound.made(names)
    options = draws.options(output.force, recording=ledgered.recording(total))
    with drawing() as progress:
        made = refine_table(
            source,
            before,
            total,
            out,
            options,
            first=first,
            round_to=round_to,
            time_limit=time_limit,
            engine=engine,
            progress=progress,
        )
    pages.write(lambda: report_of(made, round_to=round_to, beside=pages.beside))
    show_published(made, out, pages, is_seeded=draws.seed is not None)


def _files_beside(out: str) -> list[Path]:
    from lowlift._receipts import receipt_path

    receipt = receipt_path(out)
    parts = ("release.json", "codebook.json", "receipt.json")
    return [receipt.with_name(receipt.name.replace("receipt.json", part)) for part in parts]


def show_published(made: "Sanitized", out: str, pages: Pages, *, is_seeded: bool) -> None:
    """Show what was published, with the files beside it."""
    from lowlift._cli import json_data, screens

    files = {name: str(path) for name, path in made.files.items()} | pages.data

    def data() -> dict[str, Any]:
        found = json_data.published_data(made, files)
        return found | {"warnings": pages.every(*found["warnings"])}

    def screen() -> None:
        screens.design_screen(made.design)
        screens.receipt_screen(made.receipt)
        screens.verification_screen(made.verification)
        typer.echo(f"Confidential: {files['release']}.")
        if not is_seeded:
            typer.echo(f"To publish: {out}, {files['codebook']}.")
        pages.say(*made.warnings)

    show(data, screen)
