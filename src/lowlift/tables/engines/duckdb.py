"""Files, DuckDB databases and frames in memory, read by DuckDB in this process."""

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.dialects import DUCKDB, Expression, call, number, table_named
from lowlift.tables.draws import donors
from lowlift.tables.engines import Engine, Rows, Spool, Stamps, Values
from lowlift.tables.engines.sandbox import Sandbox, said
from lowlift.tables.engines.scans import kind_of, read_parquet, scan_csv, scan_parquet, types_of
from lowlift.tables.outputs import INTEGER_TYPES
from lowlift.tables.queries import bound, named
from lowlift.tables.row_plans import RowPlan, in_order
from lowlift.tables.sources import DatabaseFile, Files, Frame, refuse_repeated

#: Ids that span at most this many numbers, and this many times their own, are counted as bits.
_WIDEST, _SPARSEST = 1 << 28, 64
#: The most conditions of a query below the top of a tree; so few stay with the top.
_CONDITIONS, _FEW = 128, 16


def _frame_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns, as it has them."""
    names = frame.columns if hasattr(frame, "to_numpy") else frame.schema.names
    return [str(name) for name in names]


def with_types(types: Mapping[str, str]) -> Expression:
    """Return all columns, those named here cast to these types."""
    casts = [
        exp.cast(named(name), kind, dialect="duckdb").as_(name, quoted=True)
        for name, kind in types.items()
    ]
    return exp.Star(replace=casts) if casts else exp.Star()


def huge(types: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of whole numbers that Parquet, where they are doubles, does not hold."""
    return {name: str(kind) for name, kind in types.items() if "HUGEINT" in str(kind)}


def attach(path: Path, name: str, *, read_only: bool) -> str:
    """Return the statement that attaches a database file."""
    place = DUCKDB.sql(exp.Literal.string(str(path.resolve())))
    mode = " (READ_ONLY)" if read_only else ""
    return f"ATTACH {place} AS {DUCKDB.sql(exp.to_identifier(name, quoted=True))}{mode}"


def database_files(path: Path) -> list[Path]:
    """Return a database file and the logs that DuckDB keeps beside it."""
    real = path.resolve()
    logs = (".wal", ".wal.checkpoint", ".wal.recovery")
    return [real, *(real.with_name(real.name + log) for log in logs)]


class _Stream:
    """A polars frame without its type, for which DuckDB would need pyarrow."""

    def __init__(self, frame: Any) -> None:
        self.__arrow_c_stream__ = frame.__arrow_c_stream__


class NumbersCells:
    """A stored table of DuckDB, whose rows have numbers: they get their cells at once."""

    sandbox: Sandbox
    table: Expression
    #: Whether the rows have numbers.
    _is_held = True
    #: The cells of the rows that were numbered last.
    _numbered: tuple[CellBins, npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None

    def cells_of_rows(self, cells: Column) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the numbers of the rows, and the cell of each."""
        bins = cells_in(cells)
        if self._numbered is None or self._numbered[0] != bins:
            self._numbered = bins, *numbers_of_cells(self.sandbox, self.table, bins)
        return self._numbered[1:]

    def numbered_cells(self, columns: Sequence[Column]) -> tuple[list[Column], Expression]:
        """Return columns and the table to count them in, whose rows know their cells if held."""
        made, table = list(columns), self.table
        for k, column in enumerate(columns):
            if isinstance(column.bins, CellBins) and self._is_held:
                rows, cells = self.cells_of_rows(column)
                row, place = (f"{name}_{secrets.token_hex(8)}" for name in ("row", "cell"))
                self.sandbox.register("numbers", {row: rows, place: cells})
                made[k] = replace(column, bins=replace(column.bins, known=place))
                table = (
                    exp.select(exp.Column(this=exp.Star(), table="h"), named(place))
                    .from_(exp.alias_(self.table.copy(), "h", table=True))
                    .join(table_named("numbers"), on=named("rowid", "h").eq(named(row)))
                    .subquery("numbered")
                )
        return made, table


class DuckDB(NumbersCells, Engine):
    """A table that DuckDB reads (see `Engine`)."""

    dialect = DUCKDB
    source: Files | DatabaseFile | Frame
    stamps: Stamps

    def __init__(self, source: Files | DatabaseFile | Frame) -> None:
        self.source = source
        self.description = source.description
        self.has_order = not isinstance(source, DatabaseFile)
        self._attached = self._is_held = False
        self._links: list[str] = []
        #: Columns of a CSV that are read as the texts they are, and their kinds.
        self._opaque: dict[str, str] = {}
        # A database file is locked while it is attached; other files may change.
        self._files = source.paths if isinstance(source, Files) else ()
        self.stamps = Stamps(self._files, self.description)
        self.sandbox = Sandbox(self._allowed(), self.description)
        self.table: Expression = table_named("source")
        try:
            self._open()
            types = types_of(self.sandbox, exp.select("*").from_(self.table))
        except BaseException:
            self.close()
            raise
        self.kinds: Mapping[str, str] = {
            name: self._opaque.get(name) or kind_of(kind) for name, kind in types.items()
        }
        #: The types of whole numbers, so that what is published can have them too.
        self.widths: Mapping[str, str] = {
            name: kind for name, kind in types.items() if kind in INTEGER_TYPES
        }

    def _allowed(self) -> list[Path]:
        if isinstance(self.source, DatabaseFile):
            return database_files(self.source.path)
        return list(self._files)

    def _open(self) -> None:
        if isinstance(self.source, DatabaseFile):
            self.reattach()
            *schema, name = self.source.name
            self.table = table_named(name, schema[0] if schema else "main", "input")
            known = self.sandbox.run(
                "SELECT table_type FROM information_schema.tables WHERE table_catalog = 'input' "
                "AND table_schema = $schema AND table_name = $name",
                {"schema": schema[0] if schema else "main", "name": name},
            )
            if not known:
                raise InvalidInput(
                    f"the table must exist in its database; {self.description} does not."
                )
            self.is_steady = known[0][0] == "BASE TABLE"
        elif isinstance(self.source, Files):
            self._view(self._scan(self.source))
        elif self.source.library == "duckdb":
            refuse_repeated(self.source.value.columns, self.description)
            relation = self.source.value
            types = huge(dict(zip(relation.columns, relation.types, strict=True)))
            self._view(read_parquet([self._spooled(relation, types)]), types)
        else:
            frame = self.source.value
            refuse_repeated(_frame_names(frame), self.description)
            if type(frame).__name__ == "RecordBatch":  # DuckDB 1.4 cannot read one by itself
                import pyarrow as pa

                frame = pa.Table.from_batches([frame])
            if self.source.library == "polars" and not find_spec("pyarrow"):
                frame = _Stream(frame)
            self.sandbox.register("source", frame)

    def reattach(self) -> None:
        """Attach the database file (again), read-only."""
        if isinstance(self.source, DatabaseFile) and not self._attached:
            self.sandbox.run(attach(self.source.path, "input", read_only=True))
            self._attached = True

    def detach(self) -> None:
        """Let go of the database file, so that a table can be written to it."""
        if self._attached:
            self.sandbox.run('DETACH "input"')
            self._attached = False

    def _view(self, scan: Expression, types: Mapping[str, str] | None = None) -> None:
        query = DUCKDB.sql(exp.select(with_types(types or {})).from_(scan))
        self.sandbox.run(f"CREATE TEMP VIEW {DUCKDB.sql(self.table)} AS {query}")

    def _scan(self, files: Files) -> Expression:
        suffix = ".parquet"
        if files.format == "csv":
            suffix = ".csv.gz" if files.paths[0].name.lower().endswith(".gz") else ".csv"
        links = [self.sandbox.link(path, f"in{k}{suffix}") for k, path in enumerate(files.paths)]
        self._links = links
        if files.format == "parquet":
            return scan_parquet(self.sandbox, links)
        scan, self._opaque = scan_csv(self.sandbox, links, files)
        return scan

    def _spooled(self, relation: Any, types: Mapping[str, str]) -> str:
        """Copy a relation to the private folder: its own connection is not ours to configure.

        Columns of these types are texts in the copy.
        """
        place = self.sandbox.folder / "relation.parquet"
        try:
            texts = DUCKDB.sql(with_types(dict.fromkeys(types, "text")))
            relation.select(duckdb.SQLExpression(texts)).write_parquet(str(place))
        except duckdb.Error as error:
            fault = said(error, self.description)
        else:
            return str(place)
        raise InvalidInput(fault)

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        return self.sandbox.run(query, values)

    def most_different(self) -> float:
        """Return the number of rows; for a CSV, which would be read for it, a bound."""
        if self._is_held or not isinstance(self.source, Files):
            return int(self.fetch(queries.rows(self.table))[0][0])
        if self.source.format == "parquet":
            files = exp.array(*map(exp.Literal.string, self._links))
            counts = exp.select(exp.Sum(this=named("num_rows")))
            return int(self.fetch(counts.from_(call("parquet_file_metadata", files)))[0][0])
        if self._links[0].endswith(".gz"):
            return math.inf
        # A line has its delimiters and its end.
        return sum(path.stat().st_size // len(self.kinds) + 1 for path in self._files)

    def drawing(self, plan: RowPlan) -> AbstractContextManager[tuple[exp.Select, Values]]:
        """Lend the query that draws the rows of a plan, and what to bind to it."""
        return drawing(self.sandbox, self.table, plan)

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids."""
        if self.kinds[column] == "integer":
            value = named(column)
            ends = queries.rows(self.table).select(
                exp.Count(this=value), exp.Min(this=value.copy()), exp.Max(this=value.copy())
            )
            rows, present, low, high = self.fetch(ends)[0]
            if present and high - low < min(_WIDEST, _SPARSEST * rows):
                # One bit per possible id: six times as fast as a set of the ids.
                bits = call("bitstring_agg", value.copy(), number(low), number(high))
                query = exp.select(call("bit_count", bits)).from_(self.table.copy())
                return rows, present, self.fetch(query)[0][0]
        return super().ids(column)

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns, their types and the order of the rows to a private database file."""
        self.sandbox.run(attach(self.sandbox.folder / "held.duckdb", "held", read_only=False))
        rows = exp.select(*map(named, columns)).from_(self.table)
        held = table_named("rows", "main", "held")
        self.sandbox.run(f"CREATE TABLE {DUCKDB.sql(held)} AS {DUCKDB.sql(rows)}")
        self.table, self.is_steady, self._is_held, self._numbered = held, True, True, None

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private Parquet file."""
        return spool_rows(self.sandbox, self.table, plan, self.sandbox.folder)

    def numbered(self, plan: RowPlan) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Draw the rows of a plan: the output of each, in order, and its row in the table.

        Nothing is kept but the row.
        """
        place = f"row_{secrets.token_hex(8)}"
        row = DUCKDB.row_number().as_(place)
        table = exp.select(exp.Star(), row).from_(self.table).subquery("numbered")
        plan = replace(plan, keep=(place,))
        with drawing(self.sandbox, table, plan) as (query, values):
            found = self.sandbox.answer(
                in_order(query, kept=1), lambda answer: answer.fetchnumpy(), values
            )
        return found["y"], found["k0"] - 1

    def donors(
        self, cells: Column, counts: Mapping[int, int], seed: int | None, columns: int | None
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of rows drawn inside cells, each cell as often as counted.

        The rows are held (see `hold`), so that a number always means the same row.
        """
        rows, found = self.cells_of_rows(cells)
        of = np.empty(len(rows), np.int64)
        of[rows] = found
        return donors(of, counts, seed, columns)

    def rows_at(self, cells: Column, keys: npt.NDArray[np.int64]) -> Spool:
        """Write the columns of cells of the rows with these numbers to a private file, in order."""
        return spool_keys(self.sandbox, self.table, "rowid", cells.names, keys, self.sandbox.folder)

    def sha256(self) -> str | None:
        """Return the digest of the files; a database file may change in other tables."""
        return self.stamps.sha256()

    def close(self) -> None:
        """Close the connection and remove what was temporary."""
        self.sandbox.close()


def numbers_of_cells(
    sandbox: Sandbox, table: Expression, bins: CellBins
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers of the rows of a stored table, and the cell of each.

    DuckDB sets memory aside for each condition of a query, and runs it for each 2,048 rows however
    few come to it. So a large tree is cut: rows are sorted by the subtree that they come to, and
    each subtree is a query of its own.
    """
    roots, (row, end) = _roots(bins), (f"{name}_{secrets.token_hex(8)}" for name in ("row", "end"))
    first = queries.below(bins, 0 if bins.tree.splits else -1, DUCKDB, roots)
    columns = [named("rowid").as_(row), first.as_(end)]
    query = exp.select(*columns).from_(table)
    if roots:
        every = exp.select(*map(named, bins.tree.columns), *columns).from_(table)
        stored = DUCKDB.sql(every.order_by(named(end)))
        sandbox.run(f"CREATE OR REPLACE TEMP TABLE sorted AS {stored}")
        query = exp.select(named(row), named(end)).from_("sorted")
    queue = [query]
    for root in sorted(roots):
        inside = exp.select(named(row), queries.below(bins, root, DUCKDB, roots).as_("c"))
        queue.append(inside.from_("sorted").where(named(end).eq(number(-1 - root))))
    found = [sandbox.answer(each, lambda answer: answer.fetchnumpy()) for each in queue]
    if roots:
        sandbox.run("DROP TABLE sorted")
    rows, cells = (np.concatenate(part) for part in zip(*(f.values() for f in found), strict=True))
    done = cells >= 0
    return rows[done], cells[done].astype(np.int64)


def _roots(bins: CellBins) -> set[int]:
    """Return nodes that cut a tree into parts of at most `_CONDITIONS` conditions below the top."""
    splits = bins.tree.splits
    sizes = [1] * len(splits)
    for node in range(len(splits) - 1, -1, -1):  # children come after their parents
        for child in (splits[node].left, splits[node].right):
            sizes[node] += sizes[child] if child >= 0 else 0
    cut, waiting = set[int](), [0] if splits else []
    while waiting:
        node = waiting.pop()
        for child in (splits[node].left, splits[node].right):
            if child >= 0 and sizes[child] > _CONDITIONS:
                waiting.append(child)
            elif child >= 0 and sizes[child] > _FEW < _CONDITIONS < sizes[node]:
                cut.add(child)
    return cut


@contextmanager
def drawing(
    sandbox: Sandbox, table: Expression, plan: RowPlan
) -> Iterator[tuple[exp.Select, Values]]:
    """Lend the query that draws the rows of a plan in this process, and what to bind to it."""
    name = f"lookup_{secrets.token_hex(8)}"
    sandbox.register(name, dict(plan.alias))
    try:
        query = plan.query(table, table_named(name), DUCKDB, bound("key"))
        yield query, {"key": plan.key, "null": plan.null}
    finally:
        sandbox.connection.unregister(name)


def spool_rows(sandbox: Sandbox, table: Expression, plan: RowPlan, folder: Path) -> Spool:
    """Draw the rows of a plan and write them to a Parquet file in a private folder."""
    kept = exp.select(*map(named, plan.keep)).from_(table)
    found = types_of(sandbox, kept).values() if plan.keep else ()
    types = huge({f"k{k}": kind for k, kind in enumerate(found)})
    if types:
        texts = {name: f"text_{secrets.token_hex(8)}" for name in plan.keep}
        casts = (exp.cast(named(name), "text").as_(text) for name, text in texts.items())
        table = exp.select(exp.Star(), *casts).from_(table).subquery("exact")
        keep = (texts[n] if f"k{k}" in types else n for k, n in enumerate(plan.keep))
        plan = replace(plan, keep=tuple(keep))
    place = folder / f"spool-{secrets.token_hex(8)}.parquet"
    target = DUCKDB.sql(exp.Literal.string(str(place)))
    with drawing(sandbox, table, plan) as (query, values):
        rows = DUCKDB.sql(in_order(query, len(plan.keep)))
        sandbox.run(f"COPY ({rows}) TO {target} (FORMAT parquet)", values)
    return Spool(place, types)


def spool_keys(
    sandbox: Sandbox,
    table: Expression,
    key: str,
    names: Sequence[str],
    keys: npt.NDArray[np.int64],
    folder: Path,
) -> Spool:
    """Write columns of the rows with these keys to a Parquet file in a private folder, in order.

    The keys are those of rows, (n,), or of a row for each column, (n, columns).
    """
    columns = exp.select(*map(named, names)).from_(table)
    types = types_of(sandbox, columns)
    exact = huge({f"k{k}": types[name] for k, name in enumerate(names)})
    shown = []
    for k, name in enumerate(names):
        value: Expression = named(name, f"t{k if keys.ndim > 1 else 0}")
        shown.append((exp.cast(value, "text") if f"k{k}" in exact else value).as_(f"k{k}"))
    drawn = f"donors_{secrets.token_hex(8)}"
    sandbox.register(drawn, keys_by_name(keys))
    place = folder / f"spool-{secrets.token_hex(8)}.parquet"
    target = DUCKDB.sql(exp.Literal.string(str(place)))
    by_column = keys.ndim > 1
    try:
        rows = queries.at_keys(shown, table, key, table_named(drawn), by_column=by_column)
        sandbox.run(f"COPY ({DUCKDB.sql(rows)}) TO {target} (FORMAT parquet)")
    finally:
        sandbox.connection.unregister(drawn)
    return Spool(place, exact)


def keys_by_name(keys: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
    """Return drawn keys as the table that `at_keys` reads: r0, r1, ..., and their order, o."""
    parts = keys.reshape(len(keys), -1).T
    named_keys = {f"r{k}": np.ascontiguousarray(part) for k, part in enumerate(parts)}
    return {**named_keys, "o": np.arange(len(keys))}
