"""A frame of the library of the source, in memory; nothing stays on disk."""

import contextlib
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput, MissingExtra
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DUCKDB, Expression
from lowlift.tables.draws import Progress, shuffled_codes
from lowlift.tables.engines import Engine
from lowlift.tables.engines.duckdb import DuckDB
from lowlift.tables.engines.sandbox import Sandbox, said
from lowlift.tables.engines.scans import read_parquet
from lowlift.tables.frames import dtypes_of, framed, index_of, published_type, taken
from lowlift.tables.outputs import Output, OutputColumn
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import Frame
from lowlift.tables.targets import KeyedRows, Target
from lowlift.tables.targets.loading import Writer, enum, published

#: Frames whose rows stay where they are: what is kept is taken from them.
_IN_MEMORY = {("pandas", "DataFrame"), ("polars", "DataFrame")} | {
    ("pyarrow", kind) for kind in ("Table", "RecordBatch")
}


def frame_target(output: Output, engine: Engine) -> Target:
    """Return the target that gives back a frame of the library of the engine's source."""
    source = engine.source
    output = replace(output, columns=tuple(_of_width(one, engine) for one in output.columns))
    if isinstance(engine, DuckDB) and isinstance(source, Frame):
        if (source.library, type(source.value).__name__) in _IN_MEMORY:
            return _FromFrame(output, engine, source)
        if source.library == "duckdb":
            return _FromRelation(output, engine, source)
    return _FromTable(output, engine, source)


def _of_width(column: OutputColumn, engine: Engine) -> OutputColumn:
    """Return a column of whole numbers in the width in which it came, if that holds them."""
    if column.kind != "integer" or engine.kinds.get(column.name) != "integer":
        return column
    width = engine.widths.get(column.name, "")
    return replace(column, width=width if column.fits(width) else "")


class _FrameTarget:
    """A frame that is made, read back, and handed out by `commit` (see `Target`)."""

    library: str

    def __init__(self, output: Output, engine: Engine) -> None:
        self.output, self.engine = output, engine
        self._made: Any = None
        #: What was made; None before it is committed.
        self.frame: Any = None

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend the frame, read as any other."""
        engine = DuckDB(Frame(self._made, self.library, "the frame"))
        try:
            yield engine
        finally:
            engine.close()

    def commit(self) -> None:
        """Hand out the frame."""
        self.frame = self._made

    def undo(self) -> bool:
        """Take the frame back."""
        self.frame = None
        return True

    def discard(self) -> None:
        """Let go of what was not handed out."""
        self._made = None


class _FromFrame(KeyedRows, _FrameTarget):
    """pandas, polars or Arrow: the engine says which output each row has, and of which row."""

    def __init__(self, output: Output, engine: DuckDB, source: Frame) -> None:
        super().__init__(output, engine)
        self.numbered, self.source, self.library = engine.numbered, source.value, source.library

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Make each output as often as counted, in random order."""
        self._made = self._framed(shuffled_codes(counts, seed))
        progress(sum(counts), sum(counts))

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Make the rows of a plan and return how many each output has."""
        codes, rows = self.numbered(plan)
        kept = taken(self.source, self.library, self.output.keep, rows)
        keeps_index = self.output.keep_order and self.library == "pandas"
        index = index_of(self.source, rows) if keeps_index else None
        self._made = self._framed(codes, kept=kept, index=index)
        outputs = len(self.output.columns[0].texts)
        counts: list[int] = np.bincount(codes, minlength=outputs).tolist()
        return counts

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:  # noqa: ARG002 (others read ids)
        """Take the columns of these rows of the frame, in this order."""
        found: dict[str, Any] = {}
        for k, name in enumerate(cells.names):
            rows = keys if keys.ndim == 1 else keys[:, k]
            found |= taken(self.source, self.library, [name], rows)
        self._made = framed((), np.zeros(len(keys), np.int64), self.library, dtypes={}, kept=found)

    def _framed(self, codes: Any, **parts: Any) -> Any:
        dtypes = dtypes_of(self.source, self.library)
        came = {
            column.name: published_type(dtypes[column.name], column)
            for column in self.output.columns
            if self.engine.kinds.get(column.name) == column.kind
        }
        return framed(self.output.columns, codes, self.library, dtypes=came, **parts)


class _FromTable(Writer, _FrameTarget):
    """A file, a database table or an Arrow dataset: DuckDB makes a pandas or Arrow frame."""

    def __init__(self, output: Output, engine: Engine, source: Any) -> None:
        super().__init__(output, engine)
        self.source = source
        self.library = self._library()
        for name, kind in engine.widths.items():
            is_kept = name in (output.keep if output.cells is None else output.names)
            if is_kept and "HUGE" in kind:
                raise _inexact(name, kind)

    def _library(self) -> str:
        if isinstance(self.source, Frame):
            return self.source.library
        for library in ("pandas", "pyarrow"):
            if find_spec(library):
                return library
        raise MissingExtra(
            "a frame of a table that is none needs pandas or pyarrow; neither is installed. "
            "Give a target, such as safe.parquet, or: pip install pandas"
        )

    def _open(self, paths: Sequence[Path]) -> Sandbox:
        self.sandbox = Sandbox(paths, "the frame")
        return self.sandbox

    def _store(self, sandbox: Sandbox) -> None:
        self._made = self._fetched(sandbox)
        self._close()

    def discard(self) -> None:
        """Let go of what was not handed out."""
        self._close()
        super().discard()

    def _fetched(self, sandbox: Sandbox) -> Any:
        query = published(sandbox, self.output)
        if self.library == "pandas":
            return sandbox.answer(query, _pandas_frame)
        table = sandbox.answer(query, lambda found: found.to_arrow_table())
        if isinstance(self.source, Frame):
            return _of_types(table, self._came(dtypes_of(self.source.value, "pyarrow")))
        return table

    def _came(self, types: dict[str, Any]) -> dict[str, Any]:
        """Return the types of the columns that come back as they came, by name."""
        names = [*self.output.keep]
        names += [
            column.name
            for column in self.output.columns
            if self.engine.kinds.get(column.name) == column.kind
        ]
        return {name: types[name] for name in names}


def _pandas_frame(found: duckdb.DuckDBPyRelation) -> Any:
    """Return rows as pandas; days and exact numbers are objects, for which pandas has no type."""
    import pandas as pd

    frame = found.df()
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    exact = [name for name, kind in types.items() if re.match(r"DATE$|DECIMAL|U?HUGEINT$", kind)]
    if exact:
        rows = found.select(*(DUCKDB.sql(named(name)) for name in exact)).fetchall()
        for k, name in enumerate(exact):
            frame[name] = pd.Series([row[k] for row in rows], frame.index, dtype=object)
    return frame


def _of_types(table: Any, types: dict[str, Any]) -> Any:
    """Return an Arrow table with columns in these types; one that does not fit stays as it is."""
    import pyarrow as pa

    columns = {}
    for name in table.column_names:
        column = table.column(name)
        wanted = types.get(name, column.type)
        if wanted == pa.uuid():  # DuckDB gives texts
            ids = [None if text is None else uuid.UUID(text) for text in column.to_pylist()]
            column = pa.chunked_array([pa.array(ids, wanted)])
        with contextlib.suppress(pa.ArrowException):
            column = column.cast(wanted)
        columns[name] = column
    return pa.table(columns)


class _FromRelation(_FromTable):
    """A relation of DuckDB: a table in a database of its own, in memory."""

    def _fetched(self, sandbox: Sandbox) -> Any:
        place = sandbox.folder / "safe.parquet"
        target = DUCKDB.sql(exp.Literal.string(str(place)))
        query = DUCKDB.sql(published(sandbox, self.output))
        sandbox.run(f"COPY ({query}) TO {target} (FORMAT parquet)")
        connection = duckdb.connect(":memory:")
        try:
            scan = read_parquet([str(place)])
            found = connection.execute(f"DESCRIBE {DUCKDB.sql(exp.select('*').from_(scan))}")
            typed = self._typed({row[0]: row[1] for row in found.fetchall()})
            query = DUCKDB.sql(exp.select(*typed).from_(scan))
            connection.execute(f"CREATE TABLE safe AS {query}")
            return connection.table("safe")
        except duckdb.Error as error:
            fault = said(error, "the frame")
        raise InvalidInput(fault)

    def _typed(self, found: dict[str, str]) -> Iterator[Expression]:
        """Yield each column in the type in which it came, which Parquet may not have."""
        relation = self.source.value
        came = self._came(dict(zip(relation.columns, relation.types, strict=True)))
        texts = {column.name: set(column.texts) for column in self.output.columns}
        for name, kind in found.items():
            wanted = str(came.get(name, kind))
            if wanted.startswith("ENUM("):
                wanted = _enum(came[name].children[0][1], texts.get(name)) or kind
            elif name in texts:
                wanted = kind
            elif wanted != kind and kind not in {"VARCHAR", "TIMESTAMP"}:
                raise _inexact(name, wanted)
            column: Expression = named(name)
            if wanted != kind:
                type_ = exp.DataType.build(wanted, dialect="duckdb")
                column = exp.Cast(this=column, to=type_).as_(name, quoted=True)
            yield column


def _inexact(name: str, kind: str) -> InvalidInput:
    return InvalidInput(
        f"column {name!r} must have a type that Parquet holds exactly; it is {kind}. "
        "Cast it in a view, or leave it out."
    )


def _enum(names: Sequence[str], published: set[str | None] | None) -> str | None:
    """Return the type with these names, of a released column with the published ones only.

    None where there are texts that are no names.
    """
    if published is not None:
        names = [name for name in names if name in published]
        if not names or not published <= {*names, None}:
            return None
    return enum(names)
