"""What every job finds loaded, and compiled as soon as that is done.

The server that jobs fork from imports this module, which takes a second or two, and forks jobs at
once. One of them compiles (`compile_all`), into numba's cache on disk; then the fork server loads
what was compiled, and later jobs have it from their start.
"""

import contextlib
import math
import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

from lowlift import workflow
from lowlift.criteria import ALIP, LDP, L1Lift
from lowlift.datasets import titanic
from lowlift.errors import LowliftError
from lowlift.report import page

__all__ = ["compile_all", "load_when_told"]

_BOUNDS = (ALIP(0.5, 0.5), LDP(1.0), L1Lift(math.inf, 0.5))
_MECHANISMS = ("subset-merging", "random-response")
#: The process that imported this module: for jobs, the one that they were forked from.
_FIRST = os.getpid()


def compile_all(tell: Callable[[Any], object]) -> None:
    """Use every kernel once, and tell the fork server to load them; steps are (done, of, 0)."""
    total = len(_BOUNDS) * len(_MECHANISMS)
    try:
        _run(lambda done: tell((done, total, 0)))
    finally:
        if os.getppid() == _FIRST:
            os.kill(_FIRST, signal.SIGUSR1)


def load_when_told() -> None:
    """Load what was compiled when `compile_all` says so; for the fork server."""
    signal.signal(signal.SIGUSR1, lambda *_: _run(lambda _: None))


def _run(told: Callable[[int], object]) -> None:
    spec = workflow.Spec((), (), "value", "", 0, None)
    joint, done = titanic(), 0
    with contextlib.suppress(LowliftError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _MECHANISMS:
            for bound in _BOUNDS:
                told(done)
                made = workflow.design_counted(joint, spec, bound, mechanism=name, time_limit=5.0)
                done += 1
        told(done)
        page(workflow.report_of(made))
