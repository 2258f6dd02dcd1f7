"""``lowlift verify``, ``estimate``, ``utility``, ``show``, ``tradeoff`` and ``key``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output
from lowlift._cli.bound_options import Confidence, Promise, promised
from lowlift._cli.reports import Pages

#: What to know of a key.
_KEY = "Who has it can undo keyed draws: keep it apart."

key = output.group("Keys for draws that repeat.")


def verify(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="From lowlift design.")],
    published: Annotated[
        str | None,
        typer.Argument(metavar="[PUBLISHED]", help="A published table, e.g. safe.parquet."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Also recount this table, e.g. --against people.csv."),
    ] = None,
    accept_unchecked: Annotated[
        bool,
        typer.Option(
            "--accept-unchecked",
            help="Accept a table that was published without the sensitive columns in its source.",
        ),
    ] = False,
    engine: o.Engine = None,
) -> None:
    """Check a release from scratch, exactly, without any of the solvers.

    Exit code 0: all is so; 1: something is not; 2: bad input.
    """
    from lowlift._cli import json_data, screens
    from lowlift.workflow import verify as run

    found = run(
        release,
        against=against,
        published=published,
        engine=engine,
        accept_unchecked=accept_unchecked,
    )
    output.show(
        lambda: json_data.verification_data(found), lambda: screens.verification_screen(found)
    )
    raise typer.Exit(0 if found.is_ok else 1)


def estimate(
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="e.g. safe.parquet")],
    codebook: Annotated[str, typer.Argument(metavar="CODEBOOK", help="e.g. codebook.json")],
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Shares of groups, e.g. --by education,job."),
    ] = None,
    mean: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Means of numbers, by groups if any, e.g. age,pay."),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option("--bin", metavar="COLUMN=BINS", help="Groups of values, e.g. age=width:10."),
    ] = None,
    population: Annotated[
        bool,
        typer.Option("--population", help="The table was a sample: intervals of the population."),
    ] = False,
    level: Annotated[float, typer.Option(help="Confidence of the intervals, e.g. 0.99.")] = 0.95,
    engine: o.Engine = None,
) -> None:
    """Estimate the distribution of X from what was published, or shares and means of groups.

    Published rows (cells) need --by or --mean; values can have --by. All with intervals.
    """
    from lowlift._cli import json_data, screens
    from lowlift.errors import InvalidInput
    from lowlift.tables import parse_bins
    from lowlift.workflow import estimate_groups, estimate_table

    if by or mean:
        groups, means = (_split(names) for names in (by, mean))
        parsed = dict(parse_bins(text) for text in bins or ())
        groups_found = estimate_groups(
            published,
            codebook,
            groups,
            means,
            bins=parsed,
            level=level,
            is_population=population,
            engine=engine,
        )
        output.show(
            lambda: json_data.groups_data(groups_found), lambda: screens.groups_screen(groups_found)
        )
        return
    if bins or population:
        raise InvalidInput("--bin and --population go with --by or --mean; neither is given.")
    found = estimate_table(published, codebook, level=level, engine=engine)
    output.show(lambda: json_data.estimate_data(found), lambda: screens.estimate_screen(found))


def _split(given: list[str] | None) -> list[str]:
    """Return names that were given with commas, or one option each."""
    return [name for text in given or () for name in text.split(",")]


def utility(
    source: o.Source,
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="e.g. safe.parquet")],
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="COLUMNS", help="Only these, e.g. --columns age,job."),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Adds what becomes of a row, e.g. safe.release.json."),
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="With --release: how well a model guesses S.")
    ] = False,
    task: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --release: how well it is predicted, e.g. age."),
    ] = None,
    engine: o.Engine = None,
) -> None:
    """Compare a published table with its source: what an analyst gets. Confidential.

    Distances of tables of one and two columns beside those of a bootstrap sample of the source,
    correlations, and unique rows.
    """
    from lowlift._cli import json_data, screens
    from lowlift._release import Release
    from lowlift.workflow import compare_tables

    found = compare_tables(
        source,
        published,
        _split(columns) or None,
        release=None if release is None else Release.from_json(release),
        attack=attack,
        task=task,
        engine=engine,
    )
    output.show(lambda: json_data.utility_data(found), lambda: screens.utility_screen(found))


def show(
    release: o.ReleaseFile,
) -> None:
    """Show a release: the channel that is published, what it merges or mixes, and its audit."""
    from lowlift._cli import json_data, screens
    from lowlift._release import Release
    from lowlift.encodings import described

    found = described(Release.from_json(release))
    output.show(lambda: json_data.release_data(found), lambda: screens.release_screen(found))


@o.grouped
def tradeoff(
    *,
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.Released,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="curve.csv, curve.svg or curve.png")
    ],
    mechanism: Annotated[
        str, typer.Option(help="Names with commas, e.g. subset-merging,random-response.")
    ] = "auto",
    criterion: Annotated[
        str | None, typer.Option(help="e.g. alip (the default), ldp or alpha.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Budgets: 0.5,1,2 or first:last:step (default 0.25:8:0.25)."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Shares of the lower side, e.g. 0.5,0.65 (default 0.5).")
    ] = None,
    alpha: o.Alpha = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTORS|COLUMN=VALUE:BELIEF",
            help="The bounds in words, instead of --criterion: --at-most 1.5,2,4 (factors), and "
            "--at-most 'income=>50K:0.5' for a value of S at each of them.",
        ),
    ] = None,
    promise: Promise = "table",
    confidence: Confidence = None,
    reading: o.Reading,
    time_limit: o.TimeLimit = 60.0,
    engine: o.Engine = None,
    report: o.ReportFile = None,
    force: o.Force = False,
) -> None:
    """Run mechanisms over budgets on a table: what utility each bound costs."""
    from lowlift._cli import screens
    from lowlift.errors import InvalidInput
    from lowlift.workflow import (
        audit_table,
        parse_numbers,
        report_of_curve,
        tradeoff_of,
        write_curve,
    )
    from lowlift.workflow.curves import bounds_at_most, bounds_of
    from lowlift.workflow.sanitizing import refuse_existing

    if out.suffix not in {".csv", ".svg", ".png"}:
        raise InvalidInput(f"a curve is written as .csv, .svg or .png; got {out.name!r}.")
    refuse_existing(out, force=force, source=source)
    pages = Pages(o.Output(report, force=force), out, source=source)
    if at_most and (criterion, epsilon, split, alpha) != (None, None, None, None):
        raise InvalidInput("name one bound: --at-most, or --criterion with its budgets.")
    if at_most:
        bounds = bounds_at_most(at_most, sensitive)
    else:
        epsilons = parse_numbers(epsilon or "0.25:8:0.25", "epsilon")
        splits = parse_numbers(split or "0.5", "split")
        bounds = bounds_of(criterion or "alip", epsilons, splits, alpha)
    bounds = [
        bound._replace(criterion=promised(bound.criterion, promise, confidence)) for bound in bounds
    ]
    loosest = max(bounds, key=lambda bound: bound.epsilon)
    asked = reading.asked(sensitive, released)
    found = audit_table(source, asked, loosest.criterion, engine=engine)
    points = tradeoff_of(
        found.audit.joint,
        criterion=bounds,
        mechanisms=mechanism.split(","),
        time_limit=time_limit,
    )
    write_curve(points, out)
    pages.write(lambda: report_of_curve(found, points))

    def screen() -> None:
        screens.curve_screen(points, time_limit)
        typer.echo(f"Wrote {out}.")
        pages.say()

    output.show(lambda: [asdict(point) for point in points], screen)


@key.command("new")
@output.json_and_quiet
def _new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="e.g. draws.key")],
) -> None:
    """Write a new key of 32 random bytes, readable by you only."""
    from lowlift.workflow import new_key

    path = new_key(file)
    data = {"key": str(path), "bytes": 32, "warnings": [_KEY]}
    output.show(lambda: data, lambda: typer.echo(f"Wrote {path}. {_KEY}"))


@key.command("subkey")
@output.json_and_quiet
def _subkey(
    release: o.ReleaseFile,
    key_file: Annotated[Path, typer.Option(metavar="FILE", help="e.g. --key-file draws.key")],
) -> None:
    """Print what an exported program draws this release by: 40 digits made of the key. Secret."""
    from lowlift._release import Release
    from lowlift.workflow import read_key
    from lowlift.workflow.keys import subkey_text

    found = subkey_text(Release.from_json(release), read_key(key_file))
    output.show(lambda: {"subkey": found}, lambda: typer.echo(found))
