"""``lowlift export``: a release as a program for another runtime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output


@dataclass(frozen=True)
class Sql:
    """What an export to SQL is asked for."""

    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="e.g. duckdb (default), postgres, spark, bigquery, snowflake, redshift, trino.",
        ),
    ] = None
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The table that it reads, e.g. hr.people.")
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Draw by this column and a key, e.g. --id pid."
        ),
    ] = None
    key_table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Read the subkey from the column subkey of this table of one row, e.g. hr.secret.",
        ),
    ] = None
    view: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a view of this name, e.g. hr.safe.")
    ] = None
    dbt: Annotated[
        bool, typer.Option("--dbt", help="Write a dbt model and its test into the project -o DIR.")
    ] = False
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name of the dbt model, e.g. safe (default)."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Carry along, e.g. --keep day --accept-uncovered."),
    ] = None
    accept_uncovered: Annotated[
        bool,
        typer.Option("--accept-uncovered", help="Keep columns that the bound may not cover."),
    ] = False
    accept_unchecked: Annotated[
        bool,
        typer.Option(
            "--accept-unchecked",
            help="With --dbt: a test that does not check the bound, where SQL cannot.",
        ),
    ] = False
    unseen: Annotated[
        str | None,
        typer.Option(
            metavar="error|suppress",
            help="Rows that the design did not have: error (default), or left out, e.g. suppress.",
        ),
    ] = None


@o.grouped
def export(
    *,
    release: o.ReleaseFile,
    to: Annotated[
        str, typer.Option(metavar="TARGET", help="sql, javascript or python, e.g. --to sql.")
    ],
    sql: Sql,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="e.g. safe.sql, or a folder for several files; else printed.",
        ),
    ] = None,
    force: o.Force = False,
) -> None:
    """Write a release as a program that draws what apply draws, where lowlift is not installed.

    No key is in it: the program is given what lowlift key subkey prints.
    """
    from lowlift import export as run
    from lowlift._release import Release

    given = {
        "dialect": sql.dialect,
        "table": sql.table,
        "id": sql.id_column,
        "key_table": sql.key_table,
        "view": sql.view,
        "dbt": sql.dbt or None,
        "model": sql.model,
        "keep": sql.keep or None,
        "accept_uncovered": sql.accept_uncovered or None,
        "accept_unchecked": sql.accept_unchecked or None,
        "unseen": sql.unseen,
    }
    made = run(Release.from_json(release), to, **given)
    paths = None if out is None else made.write(out, force=force)
    written = None if paths is None else list(map(str, paths))

    def screen() -> None:
        if written is None:
            typer.echo("\n".join(made.files.values()), nl=False)
        else:
            typer.echo(f"Wrote {', '.join(written)}.")

    output.show(lambda: {"files": dict(made.files), "written": written}, screen)
