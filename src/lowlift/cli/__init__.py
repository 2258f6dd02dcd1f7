"""The command line: parse, call the library, show. One line per error, no traceback."""

import sys
from typing import NoReturn

from lowlift.errors import LowliftError

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; exit 0 when all is well, 2 for bad input."""
    try:
        from lowlift.cli.app import app
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit("lowlift: the command line needs more packages: pip install 'lowlift[paper]'")
    try:
        app(prog_name="lowlift")
    except LowliftError as error:
        print(f"lowlift: {error}", file=sys.stderr)  # noqa: T201 (this is the terminal)
        sys.exit(2)
    sys.exit(0)
