"""The command line: parse, call the library, show. One line per error, no traceback."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit with one of the codes of ``lowlift explain exit-codes``."""
    from lowlift._cli.exits import run

    try:
        from lowlift._cli.app import app
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit("lowlift: the command line needs typer and rich: pip install typer rich")
    # typer prints what is wrong with options; with --json we do.
    is_json = "--json" in sys.argv
    sys.exit(run(lambda: app(prog_name="lowlift", standalone_mode=not is_json)))
