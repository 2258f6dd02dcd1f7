"""How a command ends: its exit code, and the one line that it prints when something is wrong."""

import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from lowlift._cli import output
from lowlift._cli.words import ADVICE
from lowlift._version import __version__
from lowlift.errors import BoundViolated, LowliftError

_BOUND, _INPUT, _INTERNAL, _PIPE = 1, 2, 70, 128 + signal.SIGPIPE
_PACKAGE = str(Path(__file__).parent.parent) + os.sep


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived; raised in the main thread so that ``finally`` blocks run.

    To libraries it is Ctrl+C: PySpark would wait for its job to end on any other exception.
    """


@dataclass(frozen=True)
class Failure:
    """Why a command ended without its result.

    Parameters
    ----------
    kind
        The name of an error in `lowlift.errors`, "UsageError" for options, "OSError" for files,
        "InternalError" for a fault of ours, "Interrupted" or "Terminated".
    message, advice
        What is wrong, and what to do about it where the message does not say it.
    exit_code
        As in ``lowlift explain exit-codes``.
    """

    kind: str
    message: str
    exit_code: int
    advice: str | None = None

    def print(self) -> None:
        """Print it: a line for people, and an object on standard output with ``--json``."""
        with suppress(OSError):  # if nobody reads it, the exit code tells
            if output.MODE.json:
                output.print_json({"error": vars(self)})
                sys.stdout.flush()
            if not (output.MODE.json and output.MODE.quiet):
                line = " ".join(filter(None, (self.message, self.advice)))
                print(f"lowlift: {line}", file=sys.stderr)  # noqa: T201 (this is the terminal)


def run(command: Callable[[], object]) -> int:
    """Run a command, print one line if it fails, and return its exit code."""
    # PySpark's gateway logs tracebacks of Ctrl+C, to its logger and to the root.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: record.module != "java_gateway")
    output.reset()
    with _signals() as received, warnings.catch_warnings():
        try:
            code = _run(command)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 (the last place that can)
            code = 128 + received[0] if received else _code_of(error)
        if received and code != 0:  # whatever an interrupted library made of it
            code = _stopped(received[0])
    if code == _PIPE:
        # Nobody reads what is left in the buffer; the interpreter would fail to write it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _run(command: Callable[[], object]) -> int:
    try:
        code = command()
    except SystemExit as left:
        # typer and rich turn a broken pipe into exit code 1.
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return code if isinstance(code, int) else 0


def _stopped(number: int) -> int:
    """Say which signal ended the command, and return the exit code."""
    kind, line = ("Interrupted", "interrupted.")
    if number != signal.SIGINT:
        kind, line = ("Terminated", "terminated.")
    Failure(kind, line, 128 + number).print()
    return 128 + number


def _code_of(error: BaseException) -> int:
    """Say what went wrong, and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return _stopped(signal.SIGINT)
    if isinstance(error, BrokenPipeError):
        return _PIPE
    failure = failure_of(error)
    failure.print()
    if failure.exit_code == _INTERNAL and os.environ.get("LOWLIFT_DEBUG"):
        traceback.print_exception(error)
    return failure.exit_code


def failure_of(error: BaseException) -> Failure:
    """Return what an error makes of a command."""
    kind = type(error).__name__
    if isinstance(error, LowliftError):
        code = _BOUND if isinstance(error, BoundViolated) else _INPUT
        return Failure(kind, error.message, code, error.advised(ADVICE) or None)
    if hasattr(error, "format_message"):  # typer's, of options; their class is not public
        output.guess()
        path = getattr(getattr(error, "ctx", None), "command_path", "lowlift")
        return Failure("UsageError", error.format_message(), _INPUT, f"See {path} --help.")
    if isinstance(error, OSError) and error.errno is not None:
        # A file or folder: a disk may be full, a folder may be gone.
        name = "" if error.filename is None else f" ({error.filename})"
        return Failure("OSError", f"{error.strerror or kind}{name}", _INPUT)
    return Failure(
        "InternalError",
        f"an error in lowlift itself: {_type_of(error)} at {_place_of(error)} (lowlift "
        f"{__version__}, Python {sys.version.split()[0]}).",
        _INTERNAL,
        "Please report this line; it holds none of your data. LOWLIFT_DEBUG=1 prints the "
        "traceback, which may hold some.",
    )


def _type_of(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _place_of(error: BaseException) -> str:
    """Return module:line of the innermost frame in this package, and of the one that raised."""
    frames = list(traceback.walk_tb(error.__traceback__))
    ours = [place for place in frames if place[0].f_code.co_filename.startswith(_PACKAGE)]
    places = [_name(*place) for place in (*ours[-1:], *frames[-1:])]
    return ", raised at ".join(dict.fromkeys(places))


def _name(frame: FrameType, line: int) -> str:
    return f"{frame.f_globals.get('__name__', '?')}:{line}"


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Raise an exception in the main thread for each signal that ends us; yield those received.

    The list is needed because a library may replace that exception: DuckDB makes a RuntimeError
    of what a signal handler raised during a query.
    """
    received: list[int] = []

    def handle(number: int, _: Any) -> None:
        is_first = not received
        received.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if is_first:  # a second one must not stop the clean-up of the first
            raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    # A signal that our parent ignores (nohup, a job in the background) stays ignored.
    ours = [number for number, old in before.items() if old not in {signal.SIG_IGN, None}]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield received
    finally:
        for number in ours:
            signal.signal(number, before[number])
