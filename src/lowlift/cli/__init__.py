"""The command line: parse, call the library, show. One line per error, no traceback."""

import os
import sys
from typing import NoReturn

from lowlift.errors import BoundViolated, LowliftError

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; exit 1 when a bound does not hold, 2 for bad input, else 0."""
    try:
        from lowlift.cli.app import app
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit("lowlift: the command line needs typer and rich: pip install typer rich")
    try:
        app(prog_name="lowlift")
    except LowliftError as error:
        print(f"lowlift: {error}", file=sys.stderr)  # noqa: T201 (this is the terminal)
        sys.exit(1 if isinstance(error, BoundViolated) else 2)
    except BrokenPipeError:
        # Whoever read what we print has stopped; as the shell would have it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        # Of a file or folder; a disk may be full, a folder may be gone.
        name = "" if error.filename is None else f" ({error.filename})"
        print(f"lowlift: {error.strerror or error}{name}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    sys.exit(0)
