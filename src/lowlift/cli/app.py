"""The commands, one module each."""

import typer

import lowlift
from lowlift.cli import paper

__all__ = ["app"]

app = typer.Typer(
    name="lowlift",
    help="Publish data X while bounding how much it reveals of sensitive S.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lowlift {lowlift.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Publish data X while bounding how much it reveals of sensitive S."""


app.command("paper")(paper.paper)
