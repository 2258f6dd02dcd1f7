"""``lowlift verify``, ``estimate``, ``show``, ``tradeoff`` and ``key``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lowlift.cli import options as o
from lowlift.cli.reports import Pages

key = typer.Typer(help="Keys for draws that repeat.", no_args_is_help=True)


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
    json: o.Json = False,
) -> None:
    """Check a release from scratch, exactly, without any of the solvers.

    Exit code 0: all is so; 1: something is not; 2: bad input.
    """
    from lowlift.cli import screens
    from lowlift.workflow import verify as run

    found = run(
        release,
        against=against,
        published=published,
        engine=engine,
        accept_unchecked=accept_unchecked,
    )
    if json:
        checks = [asdict(check) for check in found.checks]
        data = {"is_verified": found.is_ok, "except": found.exceptions, "checks": checks}
        screens.print_json(data)
    else:
        screens.verification_screen(found)
    raise typer.Exit(0 if found.is_ok else 1)


def estimate(
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="e.g. safe.parquet")],
    codebook: Annotated[str, typer.Argument(metavar="CODEBOOK", help="e.g. codebook.json")],
    level: Annotated[float, typer.Option(help="Confidence of the intervals, e.g. 0.99.")] = 0.95,
    engine: o.Engine = None,
    json: o.Json = False,
) -> None:
    """Estimate the distribution of X from what was published, with intervals."""
    from lowlift.cli import screens
    from lowlift.workflow import estimate_table

    found = estimate_table(published, codebook, level=level, engine=engine)
    if not json:
        screens.estimate_screen(found)
        return
    result = found.estimate
    values = [
        {
            "value": label,
            "estimate": float(result.p_x[k]) if result.is_identified[k] else None,
            "low": float(result.low[k]),
            "high": float(result.high[k]),
        }
        for k, label in enumerate(found.codebook.x_labels)
    ]
    labels = result.x_labels
    totals = [
        {
            "values": [labels[x] for x in block.symbols],
            "total": block.total,
            "low": block.low,
            "high": block.high,
        }
        for block in result.blocks
        if len(block.symbols) > 1
    ]
    data = {"rows": found.rows, "level": level, "is_consistent": result.is_consistent}
    screens.print_json(data | {"x": values, "totals": totals, "notes": result.notes})


def show(
    release: o.ReleaseFile,
    json: o.Json = False,
) -> None:
    """Show a release: the channel that is published, what it merges or mixes, and its audit."""
    from lowlift.cli import screens
    from lowlift.encodings import described
    from lowlift.release import Release

    found = described(Release.from_json(release))
    if json:
        screens.print_json(screens.release_data(found))
    else:
        screens.release_screen(found)


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
    criterion: Annotated[str, typer.Option(help="e.g. alip, ldp or alpha.")] = "alip",
    epsilon: Annotated[str, typer.Option(help="Budgets: 0.5,1,2 or first:last:step.")] = (
        "0.25:8:0.25"
    ),
    split: Annotated[str, typer.Option(help="Shares of the lower side, e.g. 0.5,0.65.")] = "0.5",
    alpha: o.Alpha = None,
    reading: o.Reading,
    time_limit: o.TimeLimit = 60.0,
    engine: o.Engine = None,
    report: o.ReportFile = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Run mechanisms over budgets on a table: what utility each bound costs."""
    from lowlift.cli import screens
    from lowlift.errors import InvalidInput
    from lowlift.workflow import (
        audit_table,
        parse_numbers,
        report_of_curve,
        tradeoff_of,
        write_curve,
    )
    from lowlift.workflow.curves import bounds_of
    from lowlift.workflow.sanitizing import refuse_existing

    if out.suffix not in {".csv", ".svg", ".png"}:
        raise InvalidInput(f"a curve is written as .csv, .svg or .png; got {out.name!r}.")
    refuse_existing(out, force=force, source=source)
    pages = Pages(o.Output(report, force=force), out, source=source)
    epsilons, splits = parse_numbers(epsilon, "epsilon"), parse_numbers(split, "split")
    loosest = max(bounds_of(criterion, epsilons, splits, alpha), key=lambda bound: bound.epsilon)
    asked = reading.asked(sensitive, released)
    found = audit_table(source, asked, loosest.criterion, engine=engine)
    points = tradeoff_of(
        found.audit.joint,
        criterion=criterion,
        mechanisms=mechanism.split(","),
        epsilons=epsilons,
        splits=splits,
        alpha=alpha,
        time_limit=time_limit,
    )
    write_curve(points, out)
    pages.write(lambda: report_of_curve(found, points))
    if json:
        screens.print_json([asdict(point) for point in points])
        return
    screens.curve_screen(points, time_limit)
    typer.echo(f"Wrote {out}.")
    pages.say()


@key.command("new")
def _new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="e.g. draws.key")],
    json: o.Json = False,
) -> None:
    """Write a new key of 32 random bytes, readable by you only."""
    from lowlift.cli import screens
    from lowlift.workflow import new_key

    path = new_key(file)
    if json:
        screens.print_json({"key": str(path), "bytes": 32})
    else:
        typer.echo(f"Wrote {path}. Who has it can undo keyed draws: keep it apart.")
