"""What the steps of a run write to ``logging.getLogger("lowlift")``: one line each, no data.

A line has sizes, seconds, the mechanism and the verdict. It never has a value or a label of a
table, a name of a column, a path or a key.
"""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LOG = logging.getLogger("lowlift")
# An application decides where the lines go; without one they go nowhere.
LOG.addHandler(logging.NullHandler())


def logged(step: str, words: Callable[[Any], str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Log a line when a step ends, or the kind of error that ended it.

    Parameters
    ----------
    step
        Its name.
    words
        From what the step returned to what is said of it: numbers and fixed words.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            start = time.perf_counter()
            try:
                found = function(*args, **kwargs)
            except Exception as error:
                # Not its text: a message may name columns.
                LOG.info("%s: %s after %.3f s", step, type(error).__name__, _since(start))
                raise
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s: %s, %.3f s", step, words(found), _since(start))
            return found

        return run

    return decorated


def _since(start: float) -> float:
    return time.perf_counter() - start
