"""What a table engine must be able to do, and the door to each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt
from sqlglot import exp

from lowlift.errors import InvalidInput, MissingExtra
from lowlift.tables.columns import Column
from lowlift.tables.dialects import Dialect, DrawingDialect, Expression
from lowlift.tables.queries import drawn
from lowlift.tables.sources import DatabaseFile, Files, Frame, PostgresTable, Source

__all__ = ["Engine", "RowPlan", "Rows", "Spool", "Stamps", "Values", "open_engine", "refuse_ids"]

Rows: TypeAlias = list[tuple[Any, ...]]
#: What is bound to a query, by name.
Values: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class RowPlan:
    """How rows are drawn one by one.

    Parameters
    ----------
    columns
        The columns of X.
    alias
        The alias table: columns c0, c1, ..., slot, threshold, first, other.
    bits
        Its bits of slots and places.
    key
        The digits of the key. It must stay in this process: no statement, bound value or plan
        that an engine could log may hold it.
    null
        The text that stands for NULL in the alias table.
    id
        The column that is hashed; None for the row's number.
    keep, order, drop_missing
        As for `lowlift.tables.queries.drawn`.
    """

    columns: tuple[Column, ...]
    alias: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    bits: tuple[int, int]
    key: str = field(repr=False)
    null: str
    id: str | None
    keep: tuple[str, ...]
    order: str | None
    drop_missing: bool

    def query(
        self, table: Expression, alias: Expression, dialect: DrawingDialect, key: Expression
    ) -> exp.Select:
        """Return y (NULL for a row that must leave), k0, k1, ... and o, the order."""
        return drawn(
            self.columns,
            table,
            alias,
            self.bits,
            dialect,
            row=self.id,
            key=key,
            keep=self.keep,
            order=self.order,
            drop_missing=self.drop_missing,
        )


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

    def check(self) -> None:
        """Refuse files that changed since."""
        try:
            same = self._found() == self._before
        except OSError:
            same = False
        if not same:
            raise InvalidInput(f"a table must not change while it is read; {self._about} did.")


class Engine(Protocol):
    """An open table in the engine that holds it.

    Every error is `InvalidInput` with no value of the table in it.
    """

    description: str
    #: The kind of each column, in the table's order.
    kinds: Mapping[str, str]
    #: Whether the rows have an order that can be kept.
    has_order: bool
    #: Whether it reads the same each time; views and frames may be computed anew for each query.
    is_steady: bool
    #: Whether `tally` and `spool` refuse bad ids themselves, in the rows that they read anyway.
    checks_ids_drawn: bool
    #: How the table is called in a query.
    table: Expression

    @property
    def dialect(self) -> Dialect:
        """How the engine writes what the queries need."""

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""

    def most_different(self) -> float:
        """Return the most different rows it can have, as far as that is known without a reading."""

    def tally(self, plan: RowPlan) -> Rows:
        """Draw the rows of a plan and count each output; None for rows that must leave."""

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids."""

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns to a private place: every later query reads them from there.

        An engine that copies nothing leaves `is_steady` as it was.
        """

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private file for another engine to load."""

    def check_unchanged(self) -> None:
        """Refuse a table that visibly changed since it was opened."""

    def sha256(self) -> str | None:
        """Return the digest of the input files; None when there are none."""

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
    """Open a table in the engine that reads it.

    Raises
    ------
    MissingExtra
        When the engine's package is not installed.
    InvalidInput
        When the table cannot be opened.
    """
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
