"""How a result is shown: as a screen, as JSON (--json), or not at all (--quiet)."""

import functools
import inspect
import json
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables; errors too, on stdout.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print errors only (with --json: JSON only). Exit codes are the same."
    ),
]


@dataclass
class Mode:
    """What may be printed by the command that runs."""

    json: bool = False
    quiet: bool = False

    def add(self, *, json: bool, quiet: bool) -> None:
        """Take in the options of a command, or those before it."""
        self.json, self.quiet = self.json or json, self.quiet or quiet
        if self.quiet:
            warnings.simplefilter("ignore")

    @property
    def has_screen(self) -> bool:
        """Whether people read along: tables, warnings and bars are printed."""
        return not (self.json or self.quiet)


#: Of the command that runs; a process runs one at a time.
MODE = Mode()


def reset() -> None:
    """Forget the options of a command that has ended."""
    MODE.json = MODE.quiet = False


def guess() -> Mode:
    """Take --json and --quiet from the words of the command, before they are read as options."""
    words = sys.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    MODE.add(json="--json" in words, quiet=not {"--quiet", "-q"}.isdisjoint(words))
    return MODE


def json_and_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also has the options --json and --quiet."""
    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("json", Json), ("quiet", Quiet))
    ]
    parameters = [*signature.parameters.values(), *added]

    @functools.wraps(command)
    def run(*, json: bool, quiet: bool, **given: Any) -> None:
        MODE.add(json=json, quiet=quiet)
        command(**given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def group(words: str) -> typer.Typer:
    """Return a group of commands; by itself it shows its help, or with --json the error."""
    made = typer.Typer(help=words)

    @made.callback(invoke_without_command=True)
    def alone(context: typer.Context, json: Json = False, quiet: Quiet = False) -> None:
        MODE.add(json=json, quiet=quiet)
        if context.invoked_subcommand is None:
            if not MODE.has_screen:
                context.fail("Missing command.")
            typer.echo(context.get_help())
            raise typer.Exit(2)

    return made


def show(data: Callable[[], Any], screen: Callable[[], object]) -> None:
    """Print a result: its data as JSON, or its screen, or nothing."""
    if MODE.json:
        print_json(data())
    elif not MODE.quiet:
        screen()


def say(line: str) -> None:
    """Print a line of a command that goes on; with ``--json`` an object on a line of its own."""
    show_line = json.dumps({"said": line}, ensure_ascii=False) if MODE.json else line
    if MODE.json or not MODE.quiet:
        typer.echo(show_line)


def print_json(content: Any) -> None:
    """Print plain data as JSON; what is not finite as text."""
    typer.echo(json.dumps(_plain(content), indent=1, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
