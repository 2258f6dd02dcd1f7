"""A table, and what is done with it: count it, draw from it, write what may be published."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Self

from lowlift.errors import InvalidInput
from lowlift.tables.bins import Bins, Quantiles
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import NUMERIC, Column
from lowlift.tables.counts import Counts
from lowlift.tables.draws import Draw
from lowlift.tables.outputs import Applied, Output
from lowlift.tables.schema import Origin, Schema
from lowlift.tables.sources import Files, SparkTable, parse_source

if TYPE_CHECKING:  # sqlglot and the engines are loaded with the first table
    from concurrent.futures import Future

    from lowlift.tables.engines import Engine
    from lowlift.tables.profiling import Profiling
    from lowlift.tables.staging import Staged

#: Combinations of values to accept: more take minutes to count here and longer to design for.
_MOST_GROUPS = 500_000


def open_table(source: Any, engine: str | None = None, *, is_text: bool = False) -> "Table":
    """Open a table in the engine that holds it; use it as a context manager.

    Parameters
    ----------
    source
        A path or glob of CSV or Parquet files, ``data.duckdb?table=NAME``,
        ``postgresql://user@host/db?table=NAME`` (password from PGPASSWORD, a pgpass or a service
        file), a Spark table or path when `engine` is "spark"; or a pandas, polars, pyarrow or Spark
        frame, or a DuckDB relation.
    engine
        "duckdb", "postgres" or "spark"; default: what the source needs.
    is_text
        Read a CSV as texts, whatever they look like: a published table holds what was written.

    Raises
    ------
    InvalidInput
        When it cannot be read or has no rows.
    MissingExtra
        When the engine's package is not installed.
    """
    from lowlift.tables.engines import open_engine

    parsed = parse_source(source, engine)
    if is_text and isinstance(parsed, Files | SparkTable):
        parsed = replace(parsed, is_text=True)
    table = Table(open_engine(parsed))
    try:
        table.refuse_empty()
    except BaseException:
        table.close()
        raise
    return table


class Table:
    """An open table (see `open_table`)."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._is_held = False
        #: Where it is, as `open_table` takes it; None for what cannot be opened again.
        self.source = engine.source

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back connections and temporary files."""
        self._engine.close()

    @property
    def description(self) -> str:
        """The table's name for receipts: no folder, user or password."""
        return self._engine.description

    @property
    def engine(self) -> str:
        """The engine: "duckdb", "postgres" or "spark"."""
        return self._engine.dialect.name

    @property
    def is_steady(self) -> bool:
        """Whether it reads the same each time; a view or a frame may be computed anew."""
        return self._engine.is_steady

    @property
    def widths(self) -> Mapping[str, str]:
        """The types of whole numbers as DuckDB names them; empty for other engines."""
        return self._engine.widths

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each column, in the table's order."""
        return self._engine.kinds

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        from lowlift.tables import queries

        return int(self._engine.fetch(queries.rows(self._engine.table))[0][0])

    def refuse_empty(self) -> None:
        """Refuse a table without rows; no more than one is read."""
        from lowlift.tables import queries

        if not self._engine.fetch(queries.first(self._engine.table)):
            raise InvalidInput(f"a table must have rows; {self.description} has none.")

    def hold(self, names: Iterable[str]) -> None:
        """Read these columns once into a private copy, which every later query reads instead.

        Names that are no columns are passed over. PostgreSQL copies nothing.
        """
        columns = [name for name in dict.fromkeys(names) if name in self.kinds]
        if columns and not self._is_held:
            self._engine.hold(columns)
            self._is_held = True

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return, for each column that can be counted, its different values and missing ones.

        Cost
            One pass of the engine over the table.
        """
        from lowlift.tables import queries

        names = [name for name, kind in self.kinds.items() if kind != "other"]
        if not names:
            return {}
        found = self._engine.fetch(queries.different(names, self._engine.table))[0]
        return {
            name: (int(found[2 * k]), self.rows - int(found[2 * k + 1]))
            for k, name in enumerate(names)
        }

    def profiling(self) -> "Profiling":
        """Return what counts the columns against each other, for a look at all of them."""
        from lowlift.tables.profiling import Profiling

        return Profiling(self._engine, self.kinds)

    def sha256(self) -> str | None:
        """Return the digest of the input files, one after the other in sorted order.

        None for database tables and frames. The files are read once; `check_unchanged` of their
        engine refuses files that changed since.
        """
        return self._digest.result()

    @cached_property
    def _digest(self) -> "Future[str | None]":
        """The digest, which a thread computes while the table is counted."""
        from lowlift.tables.background import started

        return started(self._engine.sha256, "lowlift digest")

    def column(self, name: str, bins: Bins | None = None) -> Column:
        """Return a column that can be counted; quantiles become edges.

        Parameters
        ----------
        name
            As the table has it.
        bins
            For numeric columns, and only for them.

        Raises
        ------
        InvalidInput
            When there is no such column, or kind and bins do not fit.
        """
        self.check_name(name)
        kind = self.kinds[name]
        if isinstance(bins, Quantiles) and kind in NUMERIC:
            bins = bins.resolved(self._engine.quantiles(name, bins.parts))
        return Column(name, kind, bins)

    def found(
        self, schema: Schema, sensitive: Sequence[Column], released: Sequence[Column], rows: int
    ) -> Origin:
        """Return a schema's columns as they were found here, with what tells this table."""
        return Origin(
            tuple(sensitive),
            tuple(released),
            schema.missing,
            self.description,
            rows,
            self.sha256(),
            schema.encoding or "",
            from_data=tuple(n for n, bins in schema.bins.items() if isinstance(bins, Quantiles)),
            escape_formulas=schema.escape_formulas,
        )

    def check_name(self, name: str) -> None:
        """Refuse a name that is no column, and say which ones come close."""
        if name not in self.kinds:
            close = get_close_matches(name, self.kinds, n=3, cutoff=0.5)
            shown = ", ".join(map(repr, close or list(self.kinds)[:8]))
            raise InvalidInput(
                f"a column must be one of the table's {len(self.kinds)}; got {name!r}. "
                f"{'Did you mean' if close else 'The first are'} {shown}{'?' if close else '.'}"
            )

    def sample(
        self, names: Sequence[str], symbols: Sequence[Column], most: int, *, is_random: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return columns and symbol texts of all rows, or of `most`: by their values, or at random.

        Cost
            One pass of the engine; a sort where there are more rows. They stay in this process.
        """
        from lowlift.tables import queries

        asked, table = self._engine.numbered_cells(symbols)  # of a held table, found once
        limit = None if self.rows <= most else most
        given = names, asked, table, self._engine.dialect, limit
        return self._engine.fetch(queries.sample(*given, is_random=is_random))

    def group_means(
        self, groups: Sequence[Column], means: Sequence[str], most: int
    ) -> list[tuple[Any, ...]]:
        """Return symbol texts and rows of each group, and of each mean its values and variance.

        At most `most` + 1 groups.

        Cost
            One GROUP BY in the engine.
        """
        from lowlift.tables import queries

        table, dialect = self._engine.table, self._engine.dialect
        return self._engine.fetch(queries.group_means(groups, means, table, dialect, most))

    def check_column(self, column: Column) -> None:
        """Refuse a column that the table does not have, or has as another kind."""
        if isinstance(column.bins, CellBins):
            for name, kind in column.bins.columns.items():
                self.check_name(name)
                if name not in column.bins.texts:
                    self._check_kind(name, kind)
            return
        self.check_name(column.name)
        self._check_kind(column.name, column.kind)

    def _check_kind(self, name: str, kind: str) -> None:
        found = self.kinds[name]
        if found != kind:
            raise InvalidInput(
                f"column {name!r} must be of kind {kind}, as at design; here it is of kind "
                f"{found}. Cast it, or design the release on this table."
            )

    def check_columns(self, columns: Iterable[Column]) -> None:
        """Refuse a table in which a column is missing, or of another kind than at design."""
        for column in columns:
            self.check_column(column)

    def count(
        self, columns: Sequence[Column], *, missing: str = "value", most: int = _MOST_GROUPS
    ) -> Counts:
        """Count the rows of each combination of symbols.

        Parameters
        ----------
        columns
            From `column`; all different.
        missing
            "value": NULL is a symbol with label None; "drop": such rows leave; "error".
        most
            The largest number of combinations to accept.

        Raises
        ------
        InvalidInput
            For more combinations, or missing values that are an error; counts only.

        Cost
            One GROUP BY in the engine. A table with more rows than `most` has its first rows
            looked at before; where they promise too many combinations, all are estimated, and
            refused if there are surely more.
        """
        from lowlift.tables import limits, queries

        names = [column.name for column in columns]
        if not names or any(column in columns[:k] for k, column in enumerate(columns)):
            raise InvalidInput(
                "columns to count must be different, at least one; got "
                f"{', '.join(map(repr, names)) or 'none'}."
            )
        for column in columns:
            if column.kind == "text":  # any value can be counted as the text it is
                self.check_name(column.name)
            else:
                self.check_column(column)
        # Cells are few by themselves: the estimate would find the cell of each row for nothing.
        others = [column for column in columns if not isinstance(column.bins, CellBins)]
        if others:
            limits.refuse_surely_many(self._engine, others, most, self.__dict__.get("rows", inf))
        _ = self._digest  # who counts a table records its digest
        asked, rows = self._engine.numbered_cells(columns)
        query = queries.count(asked, rows, self._engine.dialect, most)
        found = self._engine.fetch(query)
        if len(found) > most:
            least = max(most + 1, limits.combinations(self._engine, columns, most))
            limits.refuse_many(self._engine, columns, most, least)
        counts = Counts.from_rows(columns, found, missing)
        # Every row is in one group or dropped: no second pass to count them.
        self.__dict__.setdefault("rows", counts.rows + counts.dropped)
        return counts

    def apply(
        self,
        draw: Draw,
        output: Output,
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Applied:
        """Draw each row's output and write the published columns, whole or not at all.

        Nothing kept and order free: only counts leave the engine, and the rows are made anew from
        them in random order. Otherwise each row is drawn in the engine by a SHA-256 of its id
        (keyed) or its number under a one-time key, and ordered by further digits of it.

        Parameters
        ----------
        draw
            How outputs are drawn.
        output
            What is written where.
        progress
            Called with steps done and steps in all; a row is drawn in one step, written in another.

        Raises
        ------
        InvalidInput
            For missing, unseen or repeated values that are an error, a target that exists, or a
            table that changed while it was read; nothing is left behind.

        Guarantee
            Every row that does not leave is written once, its output drawn by the channel's
            integer weights; what was written is read back before it gets its name.

        Examples
        --------
        >>> import pandas as pd
        >>> from lowlift import Channel
        >>> from lowlift.tables import OutputColumn
        >>> people = pd.DataFrame({"ward": ["a", "b", "a"]}, index=[7, 8, 9])
        >>> ward = OutputColumn("ward", "text", ("east", "west"))
        >>> with open_table(people) as table:
        ...     draw = Draw((table.column("ward"),), Channel([[1, 0], [0, 1]]), ("a", "b"))
        ...     table.apply(draw, Output(None, (ward,), keep_order=True)).frame
           ward
        7  east
        8  west
        9  east
        """
        with self.stage(draw, output, progress=progress) as written:
            written.commit()
            return replace(written.applied, frame=written.frame)

    def stage(
        self,
        draw: Draw,
        output: Output,
        *,
        counts: Counts | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> AbstractContextManager["Staged"]:
        """Draw and write as `apply` does, but for the name, which `Staged.commit` gives.

        Without it nothing is left when the context ends.

        Parameters
        ----------
        counts
            Of the columns of X, missing values treated as `draw` says, when they are known.
        """
        from lowlift.tables.application import staged

        return staged(self, self._engine, draw, output, progress or (lambda *_: None), counts)
