"""The commands, one module each."""

import typer

from lowlift._cli import (
    columns,
    compiling,
    demo,
    explain,
    export,
    files,
    ledger,
    paper,
    reports,
    rows_needed,
    tables,
    web,
)
from lowlift._version import __version__

app = typer.Typer(
    name="lowlift",
    help="Publish data X while bounding how much it reveals of sensitive S.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 fine; 1 the bound does not hold; 2 bad input; 70 an error in lowlift; "
    "130 interrupted; 141 broken pipe; 143 terminated. More: lowlift explain exit-codes",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lowlift {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: bool = typer.Option(  # noqa: ARG001 (its callback acts)
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Publish data X while bounding how much it reveals of sensitive S."""
    context.with_resource(compiling.shown())


app.command()(columns.columns)
app.command()(tables.audit)
app.command()(tables.design)
app.command()(tables.apply)
app.command()(tables.sanitize)
app.command()(tables.refine)
app.command()(files.verify)
app.command()(files.estimate)
app.command()(files.utility)
app.command()(files.tradeoff)
app.command()(rows_needed.rows_needed)
app.command()(files.show)
app.command()(reports.report)
app.command()(export.export)
app.add_typer(files.key, name="key")
app.add_typer(ledger.ledger, name="ledger")
app.command()(explain.explain)
app.command()(web.web)
app.command()(demo.demo)
app.command()(paper.paper)
