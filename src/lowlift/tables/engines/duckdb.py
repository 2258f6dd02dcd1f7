"""Files, DuckDB databases and frames in memory, read by DuckDB in this process."""

import contextlib
import math
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DUCKDB, Expression, call, number, table_named
from lowlift.tables.donor_plans import DonorPlan
from lowlift.tables.draws import donors
from lowlift.tables.engines import Engine, Rows, Spool, Stamps, Values
from lowlift.tables.engines.keyed_draws import tallied
from lowlift.tables.engines.keyed_rows import donors_by_key
from lowlift.tables.engines.numbered_cells import NumbersCells, is_free, numbered_rows
from lowlift.tables.engines.sandbox import Sandbox, said
from lowlift.tables.engines.scans import (
    huge,
    kind_of,
    read_parquet,
    scan_csv,
    scan_parquet,
    types_of,
    with_types,
)
from lowlift.tables.engines.spooling import drawing, spool_keys, spool_rows
from lowlift.tables.outputs import INTEGER_TYPES
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan, in_order
from lowlift.tables.sources import DatabaseFile, Files, Frame, refuse_repeated


def _frame_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns, as it has them."""
    names = frame.columns if hasattr(frame, "to_numpy") else frame.schema.names
    return [str(name) for name in names]


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
            self.is_steady = self._is_stored(schema[0] if schema else "main", name)
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

    def _is_stored(self, schema: str, name: str) -> bool:
        """Tell a table from a view, which has no numbers of rows; refuse what is not there."""
        with contextlib.suppress(InvalidInput):
            if is_free("rowid", types_of(self.sandbox, exp.select("*").from_(self.table))):
                types_of(self.sandbox, exp.select(named("rowid")).from_(self.table))
                return True
        # Asked last: DuckDB takes longer to list what it holds than to begin to read it.
        known = self.sandbox.run(
            "SELECT table_type FROM information_schema.tables WHERE table_catalog = 'input' "
            "AND table_schema = $schema AND table_name = $name",
            {"schema": schema, "name": name},
        )
        if not known:
            raise InvalidInput(
                f"the table must exist in its database; {self.description} does not."
            )
        return bool(known[0][0] == "BASE TABLE")

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

    def head(self, rows: int) -> Expression:
        """Return the table's first rows, at most so many, as a table."""
        # By their numbers: for a LIMIT, each thread reads rows that are not counted.
        if self._is_held or (isinstance(self.source, DatabaseFile) and self.is_steady):
            table, place = self.table.copy(), "rowid"
        elif len(self._links) == 1 and self._links[0].endswith(".parquet"):
            table, place = read_parquet(self._links), "file_row_number"
        else:
            return super().head(rows)
        if not is_free(place, self.kinds):
            return super().head(rows)
        first = exp.select(exp.Star()).from_(table).where(named(place) < number(rows))
        return first.subquery("head")

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

    def tally(self, plan: RowPlan) -> Rows:
        """Draw the rows of a plan and count each output; None for rows that must leave."""
        return tallied(self.sandbox, self.table, plan)

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids."""
        near = self.near_ids(column)
        if near is None:
            return super().ids(column)
        rows, present, low, high = near
        # One bit per possible id: six times as fast as a set of the ids.
        bits = call("bitstring_agg", named(column), number(low), number(high))
        query = exp.select(call("bit_count", bits)).from_(self.table.copy())
        return rows, present, self.fetch(query)[0][0]

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns, their types and the order of the rows to a table of our own.

        It is kept in memory up to the limit, and beyond it in the private folder: a database file
        takes three times as long to write.
        """
        rows = exp.select(*map(named, columns)).from_(self.table)
        held = table_named("held", "main", "temp")
        self.sandbox.run(f"CREATE TEMP TABLE {DUCKDB.sql(held)} AS {DUCKDB.sql(rows)}")
        self.table, self.is_steady, self._is_held, self._numbered = held, True, True, None

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private Parquet file."""
        return spool_rows(self.sandbox, self.table, plan, self.sandbox.folder)

    def numbered(self, plan: RowPlan) -> tuple[Ints, Ints]:
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
    ) -> Ints:
        """Return the numbers of rows drawn inside cells, each cell as often as counted.

        The rows are held (see `hold`), so that a number always means the same row.
        """
        rows, found = self.cells_of_rows(cells)
        of = np.empty(len(rows), np.int64)
        of[rows] = found
        return donors(of, counts, seed, columns)

    def keyed_donors(self, plan: DonorPlan) -> tuple[dict[int, int], Ints]:
        """Return how many rows each cell gets by a key, and the numbers of the rows drawn."""
        rows, cells = self.cells_of_rows(plan.cells)
        numbers, (stored, row) = "numbers_of_rows", numbered_rows(self.table, self.kinds)
        self.sandbox.register(numbers, {"r": rows, "c": cells})
        given = (
            exp.select(named("c", "n"), named("r", "n"))
            .select(exp.cast(named(plan.id, "h"), "text").as_("t", quoted=True))
            .from_(exp.alias_(stored, "h", table=True))
            .join(
                exp.alias_(table_named(numbers), "n", table=True),
                on=named(row, "h").eq(named("r", "n")),
            )
        )
        return donors_by_key(self.sandbox, given.subquery("g"), plan)

    def rows_at(self, cells: Column, keys: Ints, ids: str | None = None) -> Spool:  # noqa: ARG002 (others read ids)
        """Write the columns of cells of the rows with these numbers to a private file, in order."""
        table, row = numbered_rows(self.table, self.kinds)
        return spool_keys(self.sandbox, table, row, cells.names, keys, self.sandbox.folder)

    def sha256(self) -> str | None:
        """Return the digest of the files; a database file may change in other tables."""
        return self.stamps.sha256()

    def close(self) -> None:
        """Close the connection and remove what was temporary."""
        self.sandbox.close()
