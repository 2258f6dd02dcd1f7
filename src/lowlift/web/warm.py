"""What every job finds loaded, and compiled as soon as that is done.

The server that jobs fork from imports modules, which takes a second or two, and forks jobs at once.
One of them compiles (`compile_all`), into a cache on disk; then the fork server loads what was
compiled, and later jobs have it from their start.
"""

import contextlib
import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

from lowlift import workflow
from lowlift.criteria import ALIP
from lowlift.datasets import titanic
from lowlift.errors import LowliftError
from lowlift.kernels.compilation import observe, prepare
from lowlift.report import page

__all__ = ["compile_all", "load_when_told"]

_PARTS = ("merging", "partitions", "pairs", "search")
#: The process that imported this module: for jobs, the one that they were forked from.
_FIRST = os.getpid()


def compile_all(tell: Callable[[Any], object]) -> None:
    """Compile, and tell the fork server to load it; steps are (done, of, 0)."""
    try:
        with observe(lambda done, total: tell((done, total, 0))):
            prepare(*_PARTS)
    finally:
        if os.getppid() == _FIRST:
            os.kill(_FIRST, signal.SIGUSR1)


def load_when_told() -> None:
    """Load what was compiled when `compile_all` says so; for the fork server."""
    signal.signal(signal.SIGUSR1, lambda *_: _load())


def _load() -> None:
    """Load the kernels, and all that a design and its pictures need."""
    spec = workflow.Spec((), (), "value", "", 0, None)
    with contextlib.suppress(LowliftError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare(*_PARTS)
        made = workflow.design_counted(titanic(), spec, ALIP(0.5, 0.5))
        page(workflow.report_of(made))
