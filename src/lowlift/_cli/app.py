"""The commands, one module each."""

import typer

from lowlift._cli import (
    columns,
    compiling,
    demo,
    explain,
    export,
    files,
    gate,
    ledger,
    output,
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
    json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Publish data X while bounding how much it reveals of sensitive S."""
    output.reset()  # a process may run several commands
    output.MODE.add(json=json, quiet=quiet)
    context.with_resource(compiling.shown())


for _command in (
    columns.columns,
    tables.audit,
    tables.design,
    tables.apply,
    tables.sanitize,
    tables.refine,
    files.verify,
    files.estimate,
    files.utility,
    files.tradeoff,
    rows_needed.rows_needed,
    files.show,
    reports.report,
    export.export,
    gate.gate,
    gate.publish,
):
    app.command()(output.json_and_quiet(_command))
app.add_typer(files.key, name="key")
app.add_typer(ledger.ledger, name="ledger")
for _command in (explain.explain, web.web, demo.demo, paper.paper):
    app.command()(output.json_and_quiet(_command))
