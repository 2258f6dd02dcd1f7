"""How a command ends: its exit code, and the one line that it prints when something is wrong."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from lowlift._cli.words import ADVICE
from lowlift._version import __version__
from lowlift.errors import BoundViolated, LowliftError

_BOUND, _INPUT, _INTERNAL, _PIPE = 1, 2, 70, 128 + signal.SIGPIPE
_PACKAGE = str(Path(__file__).parent.parent) + os.sep


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived; raised in the main thread so that ``finally`` blocks run.

    To libraries it is Ctrl+C: PySpark would wait for its job to end on any other exception.
    """


def run(command: Callable[[], object]) -> int:
    """Run a command, print one line if it fails, and return its exit code."""
    # PySpark's gateway logs tracebacks of Ctrl+C, to its logger and to the root.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: record.module != "java_gateway")
    with _signals() as received:
        try:
            code = _run(command)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 (the last place that can)
            code = 128 + received[0] if received else _code_of(error)
        if received and code != 0:  # whatever an interrupted library made of it
            code = 128 + received[0]
            _say("interrupted." if received[0] == signal.SIGINT else "terminated.")
    if code == _PIPE:
        # Nobody reads what is left in the buffer; the interpreter would fail to write it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _run(command: Callable[[], object]) -> int:
    try:
        command()
    except SystemExit as left:
        # typer and rich turn a broken pipe into exit code 1.
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


def _code_of(error: BaseException) -> int:
    """Print one line about the error and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        _say("interrupted.")
        return 128 + signal.SIGINT
    if isinstance(error, BrokenPipeError):
        return _PIPE
    if isinstance(error, LowliftError):
        _say(error.said(ADVICE))
        return _BOUND if isinstance(error, BoundViolated) else _INPUT
    if isinstance(error, OSError) and error.errno is not None:
        # A file or folder: a disk may be full, a folder may be gone.
        name = "" if error.filename is None else f" ({error.filename})"
        _say(f"{error.strerror or type(error).__name__}{name}")
        return _INPUT
    _say(
        f"an error in lowlift itself: {_type_of(error)} at {_place_of(error)} (lowlift "
        f"{__version__}, Python {sys.version.split()[0]}). Please report this line; it holds none "
        "of your data. LOWLIFT_DEBUG=1 prints the traceback, which may hold some."
    )
    if os.environ.get("LOWLIFT_DEBUG"):
        traceback.print_exception(error)
    return _INTERNAL


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


def _say(line: str) -> None:
    with suppress(OSError):  # if nobody reads it, the exit code tells
        print(f"lowlift: {line}", file=sys.stderr)  # noqa: T201 (this is the terminal)


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
