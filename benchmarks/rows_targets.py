"""What publishing rows is to reach: tables, cells, and goals of time, memory, change and proof."""

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class RowsTarget:
    """A job and its goals.

    Parameters
    ----------
    name
        The table in words.
    table
        "survey" with how many rows (None: all), or "generated" with rows, columns and |S|.
    job
        "command": `lowlift sanitize`; "spark": the same by Spark; "cells": the program on cells;
        "symbols": the program on the symbols of three columns of the survey.
    cells, min_rows
        As `sanitize` is told.
    goal
        Largest numbers that are allowed; of a program also when it is told to stop. `beyond` is
        the mean total variation beyond that of a bootstrap sample, of one- or of two-way tables.
    rivals
        Who else publishes the same rows.
    audits
        Recodings that are audited.
    """

    name: str
    table: tuple[Any, ...]
    job: str
    cells: int | str = 0
    min_rows: int = 20
    goal: dict[str, float] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    audits: int = 0

    def __str__(self) -> str:
        """Return what tells it from the others."""
        return " ".join(map(str, (*self.table, self.job, self.cells)))


RIVALS = ("recoding", "kary columns", "kary seen", "kary rows", "kary cells", "anjana")
PAIRS = ("highs-ds", "highs-ipm")
GOALS = {"seconds": 6.0, "change": 0.29, "gap": 0.01, "beyond": 0.0}


def survey(cells: int, min_rows: int, rivals: tuple[str, ...], audits: int, **goal: float) -> Any:
    """Return the survey's 15 columns in so many cells."""
    name = f"happiness, 15 columns, {cells:,} cells"
    return RowsTarget(
        name, ("survey", None), "command", cells, min_rows, goal, rivals, audits=audits
    )


SYMBOLS = RowsTarget(
    "happiness, education x work x sex: 296 symbols",
    ("survey", None),
    "symbols",
    goal={"gap": 1e-6, "seconds": 5.0},
    rivals=PAIRS,
)
TINY = [
    RowsTarget("happiness, 800 rows", ("survey", 800), "command", 12,
               goal={"seconds": 600.0}, rivals=RIVALS, audits=60),
    SYMBOLS,
]  # fmt: skip
SHORT = [
    survey(300, 20, ("recoding", "kary seen", "kary rows"), 200, **GOALS),
    replace(SYMBOLS, rivals=PAIRS[:1]),
]
FULL = [
    survey(300, 20, RIVALS, 1000, **GOALS),
    survey(1000, 8, ("kary cells",), 0, seconds=12.0, change=0.25),
    RowsTarget("generated, 3,000 cells of 50,000 rows x 12 columns", ("generated", 50_000, 12, 5),
               "cells", 3000, 5, {"seconds": 90.0, "gap": 0.01}, ("highs-ipm",)),
    RowsTarget("generated, 50,000 rows x 12 columns", ("generated", 50_000, 12, 2),
               "command", "auto", goal={"seconds": 15.0}, rivals=RIVALS[:-1], audits=300),
    RowsTarget("generated, 1,000,000 rows x 20 columns, DuckDB", ("generated", 1_000_000, 20, 2),
               "command", 300, goal={"seconds": 90.0, "memory_mb": 3000.0}),
    SYMBOLS,
]  # fmt: skip
#: Needs Java.
ENGINES = [
    RowsTarget("generated, 1,000,000 rows x 20 columns, Spark", ("generated", 1_000_000, 20, 2),
               "spark", 300, goal={"seconds": 360.0}),
]  # fmt: skip
