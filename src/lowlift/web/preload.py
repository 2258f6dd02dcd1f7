"""Imported by the fork server of the jobs, and by nothing else: what every job finds loaded.

Importing takes a second or two; then the server forks jobs. One of them (`work.compile_all`)
compiles the kernels into a cache on disk and signals this process, which then loads them, so that
later jobs start with compiled kernels.
"""

import contextlib
import signal
import warnings

from lowlift import workflow

# Where compiled code is kept is decided on import: before a job has temporary files of its own.
from lowlift._kernels import branch_and_bound, lp, merging, partitions, pricing  # noqa: F401 (for forks)
from lowlift._kernels.compilation import prepare
from lowlift._solver import column_generation  # noqa: F401 (for forks)
from lowlift.criteria import ALIP
from lowlift.datasets import titanic
from lowlift.errors import LowliftError
from lowlift.report import page
from lowlift.tables import Column, Origin, application, limits, profiling  # noqa: F401 (for forks)
from lowlift.tables.dialects import DUCKDB, number

# DuckDB and SQLGlot take a job seven times as long to load as to open a table.
from lowlift.tables.engines import duckdb  # noqa: F401 (for forks)
from lowlift.tables.targets import files  # noqa: F401 (for forks)
from lowlift.web.work import KERNELS

DUCKDB.sql(number(1))  # SQLGlot loads a dialect when it is first written


def _load() -> None:
    """Load the compiled kernels, and all modules that a design and its pictures need."""
    columns = [Column(name, "text") for name in ("survived", "class", "sex", "age")]
    spec = Origin(tuple(columns[:1]), tuple(columns[1:]), "value", "", 0, None)
    with contextlib.suppress(LowliftError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare(*KERNELS)
        made = workflow.design_counted(titanic(), spec, ALIP(0.5, 0.5))
        page(workflow.report_of(made))


signal.signal(signal.SIGUSR1, lambda *_: _load())
