"""``lowlift audit``, ``design``, ``apply`` and ``sanitize``: from a table to a safe table."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from warnings import catch_warnings, simplefilter

import typer

from lowlift.cli import options as o
from lowlift.cli.progress import drawing, searching
from lowlift.cli.reports import Pages
from lowlift.errors import LowliftWarning

if TYPE_CHECKING:
    from lowlift.workflow import Options

__all__ = ["apply", "audit", "design", "sanitize"]

_Target = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="OUTPUT",
        help="A file (safe.parquet, safe.csv), a new table (safe.duckdb?table=t, "
        "postgresql://host/db?table=t), or for Spark a folder or table:NAME.",
    ),
]
_Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Publish this column too, audited with Y: --keep year"),
]
_Accept = Annotated[
    bool,
    typer.Option(
        "--accept-uncovered", help="Publish kept columns that the bound does not cover; recorded."
    ),
]
_Unchecked = Annotated[
    bool,
    typer.Option(
        "--accept-unchecked",
        help="Publish a table without the sensitive columns: the bound is not checked; recorded.",
    ),
]
_KeepOrder = Annotated[
    bool, typer.Option("--keep-order", help="Keep the order of rows; outside the guarantee.")
]
_Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Draw by this column and a key, e.g. --id pid."),
]
_KeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A key from lowlift key new, e.g. draws.key.")
]
_Seed = Annotated[
    int | None, typer.Option(help="Repeat draws, for tests; never to publish, e.g. 7.")
]
_RoundTo = Annotated[
    float | None,
    typer.Option(help="Round the codebook's probabilities outward to multiples, e.g. 0.01."),
]
_Unseen = Annotated[
    str,
    typer.Option(
        metavar="error|suppress",
        help="Values that the design did not have: refuse, or leave out, e.g. --unseen suppress",
    ),
]


def audit(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE | RELEASE...",
            help="A table, or two or more release files (.json) of the same table.",
        ),
    ],
    sensitive: Annotated[list[str] | None, o.SENSITIVE] = None,
    released: Annotated[list[str] | None, o.RELEASED] = None,
    bins: o.Bin = None,
    missing: o.Missing = "value",
    criterion: o.CriterionName = None,
    epsilon: o.Epsilon = None,
    split: o.Split = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    alpha: o.Alpha = None,
    engine: o.Engine = None,
    report: o.ReportFile = None,
    report_public: o.PublicReportFile = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Tell how much publishing columns as they are would reveal of the sensitive ones.

    Exit code 0: the bound holds; 1: it does not; 2: bad input. With release files instead of a
    table: the verdict on all of them together, as budgets do not add up.
    """
    from lowlift.cli import screens
    from lowlift.errors import InvalidInput
    from lowlift.workflow import audit_table, report_of

    pages = Pages(report, report_public, force=force, source=sources[0])
    if all(source.endswith(".json") for source in sources):
        if pages.is_wanted:
            raise InvalidInput("a report is on a table or on one release: use lowlift report.")
        _audit_releases(sources, json)
        return
    if len(sources) > 1:
        raise InvalidInput("name one table, or release files ending in .json.")
    bound = o.bound_of(criterion, epsilon, split, lower, upper, alpha)
    asked = o.asked_of(sensitive or [], released or [], bins, missing)
    found = audit_table(sources[0], asked, bound, engine=engine)
    pages.write(lambda: report_of(found))
    if json:
        columns = {name: screens.audit_data(part) for name, part in found.columns}
        data = screens.audit_data(found.audit) | {"is_satisfied": found.is_satisfied}
        data |= {"rows": found.spec.rows, "columns": columns}
        sampled = screens.sample_warnings(found.intervals, found.audit)
        warnings = pages.every(*sampled, *found.warnings)
        data |= {"sample": screens.interval_data(found.intervals), "warnings": warnings}
        screens.print_json(data | pages.data)
    else:
        screens.audit_screen(found)
        pages.say(*found.warnings)
    raise typer.Exit(0 if found.is_satisfied else 1)


def _audit_releases(files: list[str], json: bool) -> None:
    from lowlift.cli import screens
    from lowlift.workflow import audit_releases

    releases, found = audit_releases(files)
    if json:
        screens.print_json(
            {
                "criterion": str(releases[0].criterion),
                "is_satisfied": found.is_satisfied,
                "outputs": found.n_outputs,
                "violations": found.violations,
                "nmi": found.nmi,
                "min_lift_leakage": found.min_lift_leakage,
                "max_lift_leakage": found.max_lift_leakage,
            }
        )
    else:
        word = "holds" if found.is_satisfied else "DOES NOT HOLD"
        typer.echo(f"{len(releases)} releases together: {releases[0].criterion} {word}.")
        typer.echo(
            f"{found.violations:,} of {found.n_outputs:,} joint outputs break it; leakage "
            f"{found.min_lift_leakage:.4f} below, {found.max_lift_leakage:.4f} above."
        )
        typer.echo(screens.THREATS)
    raise typer.Exit(0 if found.is_satisfied else 1)


def design(
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.Released,
    out: o.OutFile = Path("release.json"),
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the codebook, e.g. --public codebook.json."),
    ] = None,
    round_to: _RoundTo = None,
    bins: o.Bin = None,
    missing: o.Missing = "value",
    criterion: o.CriterionName = None,
    epsilon: o.Epsilon = None,
    split: o.Split = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    alpha: o.Alpha = None,
    mechanism: o.MechanismName = "auto",
    encoding: o.Encoding = None,
    escape_formulas: o.EscapeFormulas = False,
    time_limit: o.TimeLimit = 60.0,
    engine: o.Engine = None,
    report: o.ReportFile = None,
    report_public: o.PublicReportFile = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Design a release: what to publish in place of the columns so that the bound holds.

    The release file holds the counts of S by X: confidential. The codebook may be published.
    """
    from lowlift.cli import screens
    from lowlift.errors import BoundViolated
    from lowlift.workflow import codebook_of, report_of
    from lowlift.workflow import design as run
    from lowlift.workflow.sanitizing import refuse_existing

    refuse_existing(out, public, force=force, source=source)
    others = [out] if public is None else [out, public]
    pages = Pages(report, report_public, *others, force=force, source=source)
    bound = o.bound_of(criterion, epsilon, split, lower, upper, alpha)
    asked = o.asked_of(sensitive, released, bins, missing, escape_formulas=escape_formulas)
    with searching(json) as progress:
        made = run(
            source,
            asked,
            bound,
            mechanism=mechanism,
            encoding=encoding,
            time_limit=time_limit,
            engine=engine,
            progress=progress,
        )
    if not made.is_satisfied:
        raise BoundViolated(f"{made.chosen.name} found no release that satisfies {bound}.")
    warnings = list(made.warnings)
    book = codebook_of(made, round_to) if public is not None else None
    made.release.to_json(out)
    if book is not None and public is not None:
        book.to_json(public)
        warnings += book.warnings
    pages.write(lambda: report_of(made, round_to=round_to))
    if json:
        files = {"release": str(out), "codebook": None if public is None else str(public)}
        data = screens.design_data(made) | files | pages.data
        every = pages.every(*data["warnings"], *warnings)
        screens.print_json(data | {"warnings": every})
    else:
        screens.design_screen(made)
        also = "" if public is None else f" and {public} (public)"
        typer.echo(f"Wrote {out} (confidential){also}.")
        pages.say(*warnings)


def apply(
    source: o.Source,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="From lowlift design.")],
    out: _Target,
    keep: _Keep = None,
    accept_uncovered: _Accept = False,
    keep_order: _KeepOrder = False,
    id_column: _Id = None,
    key_file: _KeyFile = None,
    seed: _Seed = None,
    unseen: _Unseen = "error",
    accept_unchecked: _Unchecked = False,
    engine: o.Engine = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Publish: draw a released value for each row of a table, and write nothing else.

    The bound is checked on this table first. If it does not hold, or the sensitive columns are not
    in the table, nothing is written and the exit code is 1.
    """
    from lowlift.cli import screens
    from lowlift.release import Release
    from lowlift.workflow import apply as run

    options = _options(keep, accept_uncovered, keep_order, id_column, key_file, seed, unseen, force)
    options = replace(options, accept_unchecked=accept_unchecked)
    designed = Release.from_json(release)
    with drawing(json) as progress, catch_warnings(record=True) as found:
        simplefilter("always", LowliftWarning)
        receipt = run(source, designed, out, options, engine=engine, progress=progress)
    told = [str(each.message) for each in found if issubclass(each.category, LowliftWarning)]
    if json:
        screens.print_json(asdict(receipt) | {"warnings": told})
        return
    screens.receipt_screen(receipt)
    typer.echo(screens.THREATS)
    screens.warn(told)


def sanitize(
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.Released,
    out: _Target,
    bins: o.Bin = None,
    missing: o.Missing = "value",
    criterion: o.CriterionName = None,
    epsilon: o.Epsilon = None,
    split: o.Split = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    alpha: o.Alpha = None,
    mechanism: o.MechanismName = "auto",
    encoding: o.Encoding = None,
    escape_formulas: o.EscapeFormulas = False,
    round_to: _RoundTo = None,
    time_limit: o.TimeLimit = 60.0,
    keep: _Keep = None,
    accept_uncovered: _Accept = False,
    keep_order: _KeepOrder = False,
    id_column: _Id = None,
    key_file: _KeyFile = None,
    seed: _Seed = None,
    unseen: _Unseen = "error",
    engine: o.Engine = None,
    report: o.ReportFile = None,
    report_public: o.PublicReportFile = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Design, publish and verify in one; writes release, codebook and receipt beside the output.

    Exit code 0: all of them are there and verified. Any other: none is.
    """
    from lowlift.cli import screens
    from lowlift.workflow import report_of
    from lowlift.workflow import sanitize as run
    from lowlift.workflow.receipts import receipt_path

    receipt = receipt_path(out)
    parts = ("release.json", "codebook.json", "receipt.json")
    beside = [receipt.with_name(receipt.name.replace("receipt.json", part)) for part in parts]
    pages = Pages(report, report_public, Path(out), *beside, force=force, source=source)
    bound = o.bound_of(criterion, epsilon, split, lower, upper, alpha)
    asked = o.asked_of(sensitive, released, bins, missing, escape_formulas=escape_formulas)
    options = _options(keep, accept_uncovered, keep_order, id_column, key_file, seed, unseen, force)
    with searching(json) as search, drawing(json) as draws:
        made = run(
            source,
            asked,
            bound,
            out,
            options,
            mechanism=mechanism,
            encoding=encoding,
            round_to=round_to,
            time_limit=time_limit,
            engine=engine,
            design_progress=search,
            apply_progress=draws,
        )
    pages.write(lambda: report_of(made, round_to=round_to))
    files = {name: str(path) for name, path in made.files.items()} | pages.data
    if json:
        checks = [asdict(check) for check in made.verification.checks]
        designed = screens.design_data(made.design)
        data: dict[str, object] = {"design": designed, "receipt": asdict(made.receipt)}
        every = pages.every(*designed["warnings"], *made.warnings)
        data |= {"checks": checks, "files": files, "warnings": every}
        screens.print_json(data | {"is_verified": made.verification.is_ok})
    else:
        screens.design_screen(made.design)
        screens.receipt_screen(made.receipt)
        screens.verification_screen(made.verification)
        typer.echo(f"Confidential: {files['release']}.")
        if seed is None:
            typer.echo(f"To publish: {out}, {files['codebook']}.")
        pages.say(*made.warnings)


def _options(
    keep: list[str] | None,
    accept_uncovered: bool,
    keep_order: bool,
    id_column: str | None,
    key_file: Path | None,
    seed: int | None,
    unseen: str,
    force: bool,
) -> "Options":
    from lowlift.workflow import Options, read_key

    key = None if key_file is None else read_key(key_file)
    return Options(
        tuple(keep or ()), accept_uncovered, keep_order, id_column, key, seed, unseen, force
    )
