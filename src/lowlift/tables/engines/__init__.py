"""What a table engine must be able to do, and how each is opened."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput, MissingExtra
from lowlift.tables import queries, row_keys
from lowlift.tables.columns import Column
from lowlift.tables.dialects import Dialect, Expression
from lowlift.tables.donor_plans import DonorPlan
from lowlift.tables.draws import places
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan, by_output
from lowlift.tables.sources import DatabaseFile, Files, Frame, PostgresTable, Source

Rows: TypeAlias = list[tuple[Any, ...]]
#: What is bound to a query, by name.
Values: TypeAlias = Mapping[str, Any]

#: Ids that span at most this many numbers, and this many times their own, are counted as bits.
_WIDEST, _SPARSEST = 1 << 28, 64


@dataclass(frozen=True)
class Spool:
    """The rows of a plan in a private Parquet file: y, k0, k1, ..., in order."""

    path: Path
    #: The types of columns that are texts in the file, because Parquet has no such type.
    types: Mapping[str, str] = field(default_factory=dict)


class Stamps:
    """The files of a table as they were when it was opened."""

    def __init__(self, paths: Sequence[Path], about: str) -> None:
        self._paths, self._about = paths, about
        self._before = self._found()

    def _found(self) -> list[tuple[int, int, int]]:
        stats = [path.stat() for path in self._paths]
        return [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]

    def sha256(self) -> str | None:
        """Return the digest of the files, one after the other in sorted order; None of no files."""
        return digest_of_files(self._paths) if self._paths else None

    def check(self) -> None:
        """Refuse files that changed since."""
        try:
            same = self._found() == self._before
        except OSError:
            same = False
        if not same:
            raise InvalidInput(f"a table must not change while it is read; {self._about} did.")


def digest_of_files(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of files, one after the other, without holding them in memory."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


class Engine:
    """An open table in the engine that holds it.

    Every error is `InvalidInput` with no value of the table in it.
    """

    #: How the engine writes what the queries need.
    dialect: Dialect
    source: Source | None = None
    description: str
    #: The kind of each column, in the table's order.
    kinds: Mapping[str, str]
    #: The types of whole numbers as DuckDB names them; empty for other engines.
    widths: Mapping[str, str] = MappingProxyType({})
    #: Whether the rows have an order that can be kept.
    has_order = False
    #: Whether it reads the same each time; views and frames may be computed anew for each query.
    is_steady = True
    #: Whether `tally` and `spool` refuse bad ids themselves, in the rows that they read anyway.
    checks_ids_drawn = False
    #: How the table is called in a query.
    table: Expression
    #: The files of this machine that are read, as they were when the table was opened.
    stamps: Stamps | None = None

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        raise NotImplementedError

    def head(self, rows: int) -> Expression:
        """Return the table's first rows, at most so many, as a table."""
        return queries.head(self.table, rows)

    def most_different(self) -> float:
        """Return the most different rows it can have, as far as that is known without a reading."""
        return math.inf

    def drawing(self, plan: RowPlan) -> AbstractContextManager[tuple[exp.Select, Values]]:
        """Lend the query that draws the rows of a plan, and what to bind to it."""
        raise NotImplementedError

    def tally(self, plan: RowPlan) -> Rows:
        """Draw the rows of a plan and count each output; None for rows that must leave."""
        with self.drawing(plan) as (query, values):
            return self.fetch(by_output(query), values)

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids."""
        rows, present, different = self.fetch(queries.id_faults(column, self.table))[0]
        return int(rows), int(present), int(different)

    def near_ids(self, column: str) -> tuple[int, int, int, int] | None:
        """Return rows, rows with an id, the smallest and the largest id, if one bit each is less.

        None for ids that are no whole numbers, or far from each other.
        """
        if self.kinds[column] != "integer":
            return None
        value = named(column)
        asked = (exp.Count(this=value), exp.Min(this=value.copy()), exp.Max(this=value.copy()))
        rows, present, low, high = self.fetch(queries.rows(self.table).select(*asked))[0]
        if not present or high - low >= min(_WIDEST, _SPARSEST * rows):
            return None
        return int(rows), int(present), int(low), int(high)

    def quantiles(self, column: str, parts: int) -> list[Any]:
        """Return the numbers that cut a column's values into so many parts."""
        kind = self.kinds[column]
        counted = queries.values_counted(column, kind, self.table, self.dialect)
        values = int(self.fetch(counted)[0][0])
        if values == 0:
            raise InvalidInput(f"quantiles need values; column {column!r} has none.")
        # Half a rank below a whole one: rounding cannot move an engine to the next value.
        shares = [(math.ceil(k * values / parts) - 0.5) / values for k in range(1, parts)]
        found = self.fetch(queries.quantiles(column, kind, shares, self.table, self.dialect))
        return list(found[0][0] if isinstance(found[0][0], list) else found[0])

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns to a private place: every later query reads them from there.

        An engine that copies nothing leaves `is_steady` as it was.
        """

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private file for another engine to load."""
        raise NotImplementedError

    def numbered_cells(self, columns: Sequence[Column]) -> tuple[list[Column], Expression]:
        """Return columns and the table to count them in.

        An engine may number the cells of its rows before, where conditions take it too long.
        """
        return list(columns), self.table

    def donors(
        self, cells: Column, counts: Mapping[int, int], seed: int | None, columns: int | None
    ) -> Ints:
        """Return the keys of rows drawn inside cells, each cell as often as counted.

        One key per row, (n,), or one for each of so many columns, (n, columns); see `places`. What
        a key means is a matter between the engine and what writes its rows.
        """
        found = self.fetch(queries.count([cells], self.table, self.dialect, max(counts) + 1))
        sizes = {int(cell): int(rows) for cell, rows in found}
        wanted, place = places(sizes, counts, seed, columns)
        return np.asarray(row_keys.key_of(wanted if columns is None else wanted[:, None], place))

    def keyed_donors(self, plan: DonorPlan) -> tuple[dict[int, int], Ints]:
        """Return how many rows each cell gets by a key, and the keys of the rows drawn, in order.

        The keys are as those of `donors`; what writes the rows is told the id column.
        """
        raise NotImplementedError

    def rows_at(self, cells: Column, keys: Ints, ids: str | None = None) -> Spool:
        """Write the columns of cells of the rows with these keys to a private file, in order.

        The keys are those of `donors`, or with the id column those of `keyed_donors`.
        """
        raise NotImplementedError

    def check_unchanged(self) -> None:
        """Refuse a table that visibly changed since it was opened."""
        if self.stamps is not None:
            self.stamps.check()

    def sha256(self) -> str | None:
        """Return the digest of the input files; None when there are none."""
        return None

    def close(self) -> None:
        """Give back connections and temporary files."""


def refuse_ids(rows: int, present: int, different: int) -> None:
    """Refuse ids of which some are missing or repeated, by the counts of `Engine.ids`."""
    if present < rows or different < present:
        raise InvalidInput(
            f"ids must be present and different; the id column has {rows - present} missing and "
            f"{present - different} repeated ones in {rows} rows. Use a column that has neither."
        )


def open_engine(source: Source) -> Engine:
    """Open a table in the engine that reads it."""
    try:
        if isinstance(source, Files | DatabaseFile) or (
            isinstance(source, Frame) and source.library != "pyspark"
        ):
            from lowlift.tables.engines.duckdb import DuckDB

            return DuckDB(source)
        if isinstance(source, PostgresTable):
            from lowlift.tables.engines.postgres import Postgres

            return Postgres(source)
        from lowlift.tables.engines.spark import Spark

        return Spark(source)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = {"psycopg": "postgres", "pyspark": "spark", "py4j": "spark"}.get(package)
        if extra is None:
            raise
        raise MissingExtra(f"{package} is needed: pip install 'lowlift[{extra}]'") from error
